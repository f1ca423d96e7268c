"""The values of a key in the rows of a merge: which columns hold no NULL, and between which bounds their values lie.

BigQuery leaves out blocks of a clustered base where a MERGE compares a clustered column itself, with a column of the rows or
with constants; `IFNULL(column, ...)` is an expression, for which it reads the whole base (docs/reference/limits.md, "Quotas
and prices that the design relies on"). So the merge asks for the values first, and its MERGE takes only rows that fit the
answer: a row that lands between the two statements, and does not fit, is read by the next merge like any row that lands
after the start of this one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import floor
from typing import Any

from onefold.core.names import fold_case, quote, quote_text
from onefold.schema.columns import Column

_GRID = 1024
"""Bounds of numbers are multiples of it, so that the text of a MERGE, which the log of jobs keeps, holds no key."""
_GREATEST = {"INT64": 2**63 - _GRID, "NUMERIC": 10**28}
"""Numbers up to these have bounds; greater ones would be near the end of the type. Values of other
types have none, BIGNUMERIC included, which the embedded BigQuery cannot compare with a constant."""
_LONGEST = 100
"""How many characters the name of a tenant may have as a bound: a statement has room for that (`in_statements`)."""


@dataclass(frozen=True)
class ValueRange:
    """What is known of a key's column in the rows of a merge: none is NULL, and all values lie within the bounds.

    bounds: the least and the greatest value, as literals; None where they are not known, or would tell a key.
    """

    bounds: tuple[str, str] | None = None

    def holds(self, value: str) -> str:
        """Return a condition: the value, an expression, is within the range.

        Examples:
            >>> ValueRange(("0", "1024")).holds("b.`id`"), ValueRange().holds("b.`id`")
            ('b.`id` BETWEEN 0 AND 1024', 'b.`id` IS NOT NULL')
        """
        return f"{value} BETWEEN {' AND '.join(self.bounds)}" if self.bounds else f"{value} IS NOT NULL"


KeyRanges = Mapping[str, ValueRange]
"""The ranges by column, spelled as in the base; a column that may be NULL has none."""


def ranges_query(keys: Sequence[Column], rows: str, tenant: Collection[str]) -> str:
    """Return a query with one row: for each column of a key the number of NULLs, and the least and the greatest value.

    Args:
        keys: the columns of the key.
        rows: a query of rows with these columns.
        tenant: the columns of the key that name a tenant. Other texts have no bounds: they are often random, so that bounds
            leave nothing out, or are data of persons.
    """
    items = (item for place, column in enumerate(keys) for item in _items(place, column, _is_tenant(column, tenant)))
    return f"SELECT {', '.join(items)}\nFROM (\n{rows}\n) AS r"


def read_ranges(keys: Sequence[Column], found: Mapping[str, Any]) -> KeyRanges:
    """Return the ranges that the row of `ranges_query` tells.

    Args:
        keys: the columns of the key.
        found: the row.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> keys = [Column("id", parse_type("INT64")), Column("email", parse_type("STRING"))]
        >>> read_ranges(keys, {"nulls_0": 0, "least_0": 7, "greatest_0": 2047, "nulls_1": 3})
        {'id': ValueRange(bounds=('0', '2048'))}
    """
    return {
        column.name: ValueRange(_bounds(str(column.type), found.get(f"least_{place}"), found.get(f"greatest_{place}")))
        for place, column in enumerate(keys)
        if not found[f"nulls_{place}"]
    }


def within(ranges: KeyRanges, row: str) -> str:
    """Return a condition, with a leading AND for each column: the key of a row is within the ranges; empty without ranges.

    Args:
        ranges: the ranges.
        row: the alias of the row.
    """
    return "".join(f"\nAND {one.holds(f'{row}.{quote(name)}')}" for name, one in ranges.items())


def _items(place: int, column: Column, is_tenant: bool) -> Iterator[str]:
    value = f"r.{quote(column.name)}"
    yield f"COUNTIF({value} IS NULL) AS nulls_{place}"
    if is_tenant or str(column.type) in _GREATEST:
        yield from (f"{function}({value}) AS {name}_{place}" for function, name in (("MIN", "least"), ("MAX", "greatest")))


def _is_tenant(column: Column, tenant: Collection[str]) -> bool:
    return str(column.type) == "STRING" and fold_case(column.name) in map(fold_case, tenant)


def _bounds(type_: str, least: Any, greatest: Any) -> tuple[str, str] | None:
    if least is None or greatest is None:
        return None
    if isinstance(least, str):
        return (quote_text(least), quote_text(greatest)) if max(len(least), len(greatest)) <= _LONGEST else None
    below, above = (_multiple(number) for number in (least, greatest))
    above += _GRID
    if max(abs(below), abs(above)) > _GREATEST[type_]:
        return None
    return _number(type_, below), _number(type_, above)


def _multiple(number: int | Decimal) -> int:
    """Return the greatest multiple of the grid that is at most a number."""
    return floor(number) // _GRID * _GRID


def _number(type_: str, number: int) -> str:
    return str(number) if type_ == "INT64" else f"{type_} '{number}'"
