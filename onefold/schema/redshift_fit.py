"""Which values of one type of Redshift a column of another type holds, where the column cannot be changed.

The column may be narrower: then each value decides, and one that does not fit is refused when its row is written.

Source of the ranges: Amazon Redshift, "Numeric types", https://docs.aws.amazon.com/redshift/latest/dg/r_Numeric_types201.html,
2026-11.
"""

from __future__ import annotations

import re
from typing import Literal

from onefold.core.errors import InvalidType
from onefold.schema.redshift import RedshiftType, holds
from onefold.schema.redshift_catalog import parse_type

Held = Literal["all", "some", "none"]
"""Whether a column holds all values of a type, some of them, or values of another kind."""

_DECIMAL = re.compile(r"DECIMAL\(([0-9]+), ?([0-9]+)\)")
_TIMES = ("TIMESTAMP", "TIMESTAMPTZ")
_NEEDED = {"SMALLINT": 5, "INT": 10, "BIGINT": 19}
"""The digits of the greatest whole number of a type."""
_GIVEN = {"SMALLINT": 4, "INT": 9, "BIGINT": 18}
"""The digits of which a column holds every whole number."""
_FLOATS = {"DOUBLE PRECISION": 15, "REAL": 6}
"""The decimal digits that a number always keeps."""
_TEXT_LENGTHS = {
    "SMALLINT": 6, "INT": 11, "BIGINT": 20, "REAL": 25, "DOUBLE PRECISION": 25, "BOOLEAN": 5, "DATE": 10, "TIMESTAMP": 25,
    "TIMESTAMPTZ": 32,
}  # fmt: skip
"""The bytes of the longest usual text of a value."""


def held(existing: RedshiftType, values: RedshiftType) -> Held:
    """Return whether a column of one type, as it is, holds the values of another type.

    Args:
        existing: the type of the column.
        values: the type of the values.

    Examples:
        >>> held(RedshiftType("VARCHAR", 255), RedshiftType("VARCHAR", 4096))
        'some'
        >>> held(RedshiftType("DECIMAL(18,2)"), RedshiftType("INT")), held(RedshiftType("DATE"), RedshiftType("INT"))
        ('all', 'none')
    """
    if existing == values or holds(existing, values):
        return "all"
    if existing.name in ("VARCHAR", "CHAR"):
        return _held_as_text(existing, values)
    if (has := _digits(existing, _GIVEN)) and (needs := _digits(values, _NEEDED)):
        # A double is not wide enough for all numbers of any other type, nor any other type for all doubles.
        is_exact = values.name not in _FLOATS and (existing.name not in _FLOATS or needs[1] == 0)
        return "all" if is_exact and has[0] >= needs[0] and has[1] >= needs[1] else "some"
    return "all" if existing.name in _TIMES and values.name in ("DATE", *_TIMES) else "none"


def held_type(existing: str, values: str) -> Held:
    """Return `held` of types as texts; a type that this release does not know holds its own values only.

    Examples:
        >>> held_type("VARCHAR(4096)", "INT"), held_type("GEOMETRY", "INT")
        ('all', 'none')
    """
    try:
        return held(parse_type(existing), parse_type(values))
    except InvalidType:
        return "all" if existing == values else "none"


def _held_as_text(existing: RedshiftType, values: RedshiftType) -> Held:
    if values.name in ("VARCHAR", "CHAR"):
        return "some"  # shorter, or CHAR, which keeps neither other characters than ASCII nor blanks at the end
    decimal = _DECIMAL.fullmatch(values.name)
    needed = int(decimal[1]) + 2 if decimal else _TEXT_LENGTHS.get(values.name)
    return "none" if needed is None else "all" if existing.length >= needed else "some"


def _digits(type_: RedshiftType, of_integers: dict[str, int]) -> tuple[int, int] | None:
    """Return the digits before and after the point of a number's type; None for other types."""
    if decimal := _DECIMAL.fullmatch(type_.name):
        return int(decimal[1]) - int(decimal[2]), int(decimal[2])
    known = {**of_integers, **_FLOATS}
    return (known[type_.name], 0) if type_.name in known else None
