"""Values that the columns of Redshift hold: the checks, and Python values for Parquet files that Redshift loads."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

from onefold.events.shred.parquet_values import micros, parquet_converter
from onefold.events.shred.values import DoesNotFit, decimal_number, float_number, shown, text_of, utc_time, whole_number

BITS = {"SMALLINT": 16, "INT": 32, "BIGINT": 64}
WITH_SIZE = re.compile(r"(VARCHAR|CHAR|DECIMAL)\(([0-9]+)(?:, ?([0-9]+))?\)")

MOST_BYTES = 4
"""The bytes of UTF-8 that a character has at most."""
_DAY = len("2026-11-23")
_SINGLE_DIGITS, _LEAST_SINGLE, _MOST_SINGLE = 6, 1e-37, 1e38
"""The digits that REAL always gives back, and its range (Amazon Redshift, "Numeric types", 2026-11)."""

Convert = Callable[[Any], Any]


def redshift_converter(type_: str) -> Convert:
    """Return the function that makes the value of a column of Redshift in Parquet, from a value that is not NULL.

    The function raises DoesNotFit for a value that the column cannot hold exactly.

    Args:
        type_: the type in Redshift, as in `VARCHAR(10)`.

    Examples:
        >>> redshift_converter("DATE")("1970-01-02"), redshift_converter("VARCHAR(9)")([1, "a"])
        (1, '[1,"a"]')
    """
    if type_ in BITS:
        return integer(type_)
    if found := WITH_SIZE.fullmatch(type_):
        name, length, scale = found.groups()
        if name == "DECIMAL":
            return lambda value: decimal_number(value, int(length) - int(scale or 0), int(scale or 0))
        return text(name, int(length))
    return _OTHERS[type_]


def surely_fitting(type_: str) -> int:
    """Return the length up to which any text fits into a column; -1 for columns that are not VARCHAR.

    Examples:
        >>> surely_fitting("VARCHAR(10)"), surely_fitting("CHAR(10)")
        (2, -1)
    """
    found = WITH_SIZE.fullmatch(type_)
    return int(found[2]) // MOST_BYTES if found and found[1] == "VARCHAR" else -1


def integer(type_: str) -> Callable[[Any], int]:
    """Return the function that makes a whole number of SMALLINT, INT or BIGINT."""
    most = 2 ** (BITS[type_] - 1)

    def convert(value: Any) -> int:
        number = value if type(value) is int else whole_number(value)
        if -most <= number < most:
            return number
        raise DoesNotFit(f"{shown(value)} is beyond {type_}")

    return convert


def text(name: str, length: int) -> Callable[[Any], str]:
    """Return the function that makes the text of VARCHAR or CHAR."""
    check = _check_varchar if name == "VARCHAR" else _check_char

    def convert(value: Any) -> str:
        made = value if type(value) is str else text_of(value)
        check(made, length)
        return made

    return convert


def boolean(value: Any) -> bool:
    """Return a boolean.

    Raises:
        DoesNotFit: the value is none.
    """
    if value is True or value is False:
        return bool(value)
    raise DoesNotFit(f"{shown(value)} is not a boolean")


def single(value: Any) -> float:
    """Return a number of REAL.

    Raises:
        DoesNotFit: REAL does not give the number back.
    """
    number = float_number(value)
    digits = Decimal(repr(number)).normalize().as_tuple().digits
    if number and (len(digits) > _SINGLE_DIGITS or not _LEAST_SINGLE <= abs(number) < _MOST_SINGLE):
        raise DoesNotFit(f"{shown(value)} has more than {_SINGLE_DIGITS} digits, which is what REAL keeps, or is beyond it")
    return number


def time(value: Any) -> datetime:
    """Return the time of a text in UTC, without a zone. A table that another loader made may have times for days.

    Raises:
        DoesNotFit: the text is neither a time nor a day.
    """
    is_day = type(value) is str and len(value) == _DAY  # a text of a time is longer
    return utc_time(f"{value} 00:00:00" if is_day else value)


def _check_varchar(value: str, length: int) -> None:
    if len(value) * MOST_BYTES > length and len(value.encode()) > length:
        raise DoesNotFit(f"{shown(value)} has {len(value.encode()):,} bytes, and the column holds {length:,}")


def _check_char(value: str, length: int) -> None:
    # CHAR holds single bytes only, and does not keep blanks at the end (Amazon Redshift, "Character types").
    if not value.isascii() or len(value) > length or value.endswith(" "):
        rule = f"at most {length:,} ASCII characters without a blank at the end"
        raise DoesNotFit(f"{shown(value)} does not fit into CHAR({length}): expected {rule}")


_OTHERS: dict[str, Convert] = {
    "BOOLEAN": boolean,
    "DOUBLE PRECISION": float_number,
    "REAL": single,
    "TIMESTAMP": lambda value: micros(time(value)),
    "TIMESTAMPTZ": lambda value: micros(time(value)),
    "DATE": parquet_converter("DATE"),
}
