"""A function that is made for the columns of one version of a schema, so that no event pays for a loop over columns.

Where a value has the usual type of its column, it is taken without a call; any other one is converted, and checked, by a
call. The source has numbers and types only. Keys and conversions are names of the function, so that no text of a schema
becomes part of a program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from onefold.events.shred.redshift_values import BITS, MOST_BYTES, surely_fitting
from onefold.events.shred.row_format import RowFormat

ABSENT = object()
"""A key that no object of JSON has."""
_NOTHING: dict[Any, Any] = {}
_MOST = {name: 2 ** (bits - 1) for name, bits in {**BITS, "INT64": 64}.items()}
_TYPES = {"DOUBLE PRECISION": "float", "FLOAT64": "float", "BOOLEAN": "bool", "BOOL": "bool", "STRING": "str"}
_TEXTS = {"DOUBLE PRECISION": "repr(v)", "BOOLEAN": "'1' if v else '0'"}
"""How the usual value of a column becomes a text of CSV; a text is itself."""


class RowColumn(NamedTuple):
    """What a column gets.

    Attributes:
        place: the number of the object that has its value: 0 for the data, and further ones for objects in it.
        key: the key of the value there; ABSENT where there is none.
        convert: makes the value of the column of any value that is not NULL; raises DoesNotFit.
        usual: of usual values, the condition of `v` and the value of the column, as expressions; None where there are none.
    """

    place: int
    key: Any
    convert: Callable[[Any], Any]
    usual: tuple[str, str] | None = None


def usual_value(type_: str, form: RowFormat, *, plain: bool) -> tuple[str, str] | None:
    """Return which values of a column need no call, and what the column has then: as expressions of a value `v`.

    Args:
        type_: the type of the column.
        form: how the rows are written.
        plain: whether no text has a character that makes quotes or an escape of CSV necessary.

    Examples:
        >>> usual_value("SMALLINT", RowFormat("redshift", "csv"), plain=False)
        ('type(v) is int and -32768 <= v < 32768', 'str(v)')
        >>> usual_value("STRING", RowFormat("bigquery", "parquet"), plain=False)
        ('type(v) is str', 'v')
    """
    if type_ in _MOST:
        return f"type(v) is int and {-_MOST[type_]} <= v < {_MOST[type_]}", "str(v)" if form.is_csv else "v"
    if type_ in _TYPES:
        return f"type(v) is {_TYPES[type_]}", _TEXTS[type_] if form.is_csv else "v"
    length = surely_fitting(type_)
    if length < 0 or (form.is_csv and not plain):
        return None
    return f"type(v) is str and (len(v) <= {length} or len(v) <= {length * MOST_BYTES} and v.isascii())", "v"


def compile_row(
    parents: Sequence[tuple[int, str]], columns: Sequence[RowColumn], null: str | None
) -> Callable[[Any], list[Any]]:
    """Return the function that makes the values of columns of valid data; it raises DoesNotFit.

    Args:
        parents: of each object in the data that has values, in their order from 1: the number of the object that it is in,
            and its key there.
        columns: the columns.
        null: what a column without a value has.
    """
    names: dict[str, Any] = {"nothing": _NOTHING, "null": null}
    lines = ["def row(data):", " get0 = (data if type(data) is dict else nothing).get"]
    for number, (place, key) in enumerate(parents, 1):
        names[f"parent{number}"] = key
        lines += [f" v = get{place}(parent{number})", f" get{number} = (v if type(v) is dict else nothing).get"]
    for number, column in enumerate(columns):
        names |= {f"key{number}": column.key, f"convert{number}": column.convert}
    lines.append(f" return [{', '.join(_value(number, column) for number, column in enumerate(columns))}]")
    exec("\n".join(lines), names)  # noqa: S102 as the source has numbers and types only
    made: Callable[[Any], list[Any]] = names["row"]
    return made


def _value(number: int, column: RowColumn) -> str:
    if column.key is ABSENT:
        return "null"
    condition, value = column.usual or ("False", "v")
    return f"null if (v := get{column.place}(key{number})) is None else ({value}) if {condition} else convert{number}(v)"
