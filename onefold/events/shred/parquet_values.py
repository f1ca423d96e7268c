"""Values as Python values for the columns of Parquet files that BigQuery loads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from onefold.events.shred.values import (
    DoesNotFit,
    day_of,
    decimal_number,
    float_number,
    shown,
    text_of,
    utc_time,
    whole_number,
)

Convert = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1)
_FIRST_DAY = date(1970, 1, 1).toordinal()
_NUMERIC_DIGITS, _NUMERIC_SCALE = 29, 9


def parquet_converter(type_: str) -> Convert:
    """Return the function that makes the value of a column, from a value that is not NULL.

    The function raises DoesNotFit for a value that the column cannot hold exactly.

    Args:
        type_: a type of BigQuery without parts, as in `INT64`.

    Examples:
        >>> parquet_converter("DATE")("1970-01-02"), parquet_converter("TIMESTAMP")("1970-01-01T00:00:01Z")
        (1, 1000000)
    """
    return _CONVERTERS[type_]


def micros(time: datetime) -> int:
    """Return the microseconds from 1970 to a time in UTC."""
    past = time - _EPOCH
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds


def _integer(value: Any) -> int:
    number = value if type(value) is int else whole_number(value)
    if -(2**63) <= number < 2**63:
        return number
    raise DoesNotFit(f"{shown(value)} is beyond INT64")


def _boolean(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise DoesNotFit(f"{shown(value)} is not a boolean")


def _numeric(value: Any) -> Decimal:
    return decimal_number(value, _NUMERIC_DIGITS, _NUMERIC_SCALE)


_CONVERTERS: dict[str, Convert] = {
    "STRING": text_of,
    "INT64": _integer,
    "FLOAT64": float_number,
    "NUMERIC": _numeric,
    "BOOL": _boolean,
    "TIMESTAMP": lambda value: micros(utc_time(value)),
    "DATE": lambda value: day_of(value).toordinal() - _FIRST_DAY,
}
