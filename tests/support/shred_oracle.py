"""An oracle for the rows of shredded data, written from docs/reference/shredder.md and from nothing of the shredder's code.

It flattens data by its schema, tells which values a column holds exactly, and reads the cells of both formats back.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))?", re.ASCII)
_INTEGERS = {"SMALLINT": 2**15, "INT": 2**31, "BIGINT": 2**63, "INT64": 2**63}
_DECIMALS = {"DECIMAL(36,2)": (34, 2), "NUMERIC": (29, 9)}
EPOCH = datetime(1970, 1, 1)


def snake(name: str) -> str:
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z\d])([A-Z])", r"\1_\2", name).replace("-", "_").replace(".", "_").lower()


def is_object(schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("properties")) and "object" in types_of(schema)


def types_of(schema: Mapping[str, Any]) -> set[str]:
    named = schema.get("type", ["object", "array", "string", "number"])
    return set([named] if isinstance(named, str) else named) - {"null"}


def flat(schema: Mapping[str, Any], data: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the name of each column of Redshift that a version has, and its value; None where data has none."""
    for name, inner in schema.get("properties", {}).items():
        value = data.get(name) if isinstance(data, dict) else None
        column = above + snake(name)
        if is_object(inner):
            yield from flat(inner, value, f"{column}.")
            if types_of(inner) != {"object"}:
                yield column, None if isinstance(value, dict) else value
        else:
            yield column, value


def time_of(text: str) -> Fraction | None:
    """Return the microseconds since 1970, None for what is not a time that both warehouses hold."""
    found = _TIME.fullmatch(text)
    if not found:
        return None
    fraction = Fraction(int(found[7] or 0), 10 ** len(found[7] or ""))
    minutes = 0 if found[9] is None else int(f"{found[9]}1") * (int(found[10]) * 60 + int(found[11]))
    try:
        time = datetime(*(int(part) for part in found.groups()[:6])) - timedelta(minutes=minutes)  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        return None
    micros = (time - EPOCH) // timedelta(microseconds=1) + fraction * 1_000_000
    return micros if micros.denominator == 1 else None


def fits(type_: str, value: Any) -> bool:
    """Tell whether a column holds a valid value exactly; one of Redshift by CSV."""
    if value is None:
        return True
    if type_ in _INTEGERS:
        return bool(value == int(value) and -_INTEGERS[type_] <= value < _INTEGERS[type_])
    if type_ in ("DOUBLE PRECISION", "FLOAT64"):
        return not isinstance(value, int) or (abs(value) < 2**1023 and int(float(value)) == value)
    if type_ in _DECIMALS:
        before, after = _DECIMALS[type_]
        exact = abs(Fraction(str(value)))
        return bool(exact < 10**before) and (exact * 10**after).denominator == 1
    if type_ == "TIMESTAMP":
        return time_of(value) is not None
    if type_ == "DATE":
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII)) and time_of(f"{value}T00:00:00Z") is not None
    if length := re.fullmatch(r"(VAR)?CHAR\((\d+)\)", type_):
        # In CSV, such a text is written with one more backslash.
        size = len(_text(value).encode()) + (re.fullmatch(r"\\+N", _text(value)) is not None)
        return size <= int(length[2]) and (bool(length[1]) or (_text(value).isascii() and not _text(value).endswith(" ")))
    return True


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def csv_cells(line: str) -> list[str | None]:
    """Return the cells of a line as a reader of RFC 4180 has them, with the stated escape undone."""
    (cells,) = csv.reader(io.StringIO(line, newline=""), delimiter="\t", strict=True)
    return [None if cell == r"\N" else cell[1:] if re.fullmatch(r"\\{2,}N", cell) else cell for cell in cells]


def same_csv(type_: str, value: Any, cell: str | None) -> bool:
    """Tell whether a cell of a line is a value."""
    if value is None or cell is None:
        return value is cell
    if type_ in _INTEGERS or type_ in _DECIMALS:
        return re.fullmatch(r"-?\d+(\.\d\d)?", cell) is not None and Fraction(cell) == Fraction(str(value))
    if type_ == "DOUBLE PRECISION":
        return bool(float(cell) == value)
    if type_ == "BOOLEAN":
        return cell == ("1" if value else "0")
    if type_ == "TIMESTAMP":
        return re.fullmatch(r"[\d-]{10} [\d:]{8}(\.\d{1,6})?", cell) is not None and time_of(cell) == time_of(value)
    if type_ == "DATE":
        return bool(cell == value)
    return cell == value if isinstance(value, str) else same_json(json.loads(cell), value)


def same_json(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def same_parquet(type_: str, value: Any, cell: Any) -> bool:
    """Tell whether a value of Python is a value of JSON; STRUCT and ARRAY are not among the types."""
    if value is None or cell is None:
        return value is cell
    if type_ == "INT64":
        return type(cell) is int and cell == value
    if type_ == "NUMERIC":
        return type(cell) is Decimal and Fraction(cell) == Fraction(str(value))
    if type_ == "FLOAT64":
        return type(cell) is float and cell == value
    if type_ == "BOOL":
        return cell is value
    if type_ == "TIMESTAMP":
        return type(cell) is int and cell == time_of(value)
    if type_ == "DATE":
        return type(cell) is int and EPOCH + timedelta(days=cell) == datetime.fromisoformat(value)
    return type(cell) is str and (cell == value if isinstance(value, str) else same_json(json.loads(cell), value))
