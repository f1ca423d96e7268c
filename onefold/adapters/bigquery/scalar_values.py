"""Scalar values of JSON, converted for BigQuery's Storage Write API: exactly, or refused with a reason.

Each type is converted to the form that BigQuery's documentation names for it ("Supported protocol buffer data types",
https://cloud.google.com/bigquery/docs/supported-data-types, 2025-11): literals as text where the text is exact, numbers for
dates and points in time. No reason contains the value: it may be personal data, and reasons are logged.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any

Convert = Callable[[Any], Any]
"""Converts a value of JSON, other than None, to that of a protocol buffer. Raises InvalidValue."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)
# The ranges of TIMESTAMP, BIGNUMERIC and INTERVAL: GoogleSQL, "Data types",
# https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types, 2025-11. TIMESTAMP in microseconds of the epoch.
_TIMESTAMPS = range(-62_135_596_800_000_000, 253_402_300_800_000_000)
_INT64 = range(-(2**63), 2**63)
_MONTHS, _DAYS, _HOURS = 120_000, 3_660_000, 87_840_000
_BIGNUMERIC = 2**255
_BIGNUMERIC_SCALE = 38
_EXACT = Context(prec=300)

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_CLOCK = r"\d\d:\d\d:\d\d(\.\d{1,6})?"
_TIME = re.compile(_CLOCK, re.ASCII)
_DATETIME = re.compile(rf"\d{{4}}-\d\d-\d\d[ T]{_CLOCK}", re.ASCII)
_TIMESTAMP = re.compile(rf"{_DATETIME.pattern}(Z|[+-]\d\d:\d\d)", re.ASCII)
_INTERVAL = re.compile(
    r"-?(?P<years>\d{1,5})-(?P<months>\d\d?) -?(?P<days>\d{1,7}) "
    r"-?(?P<hours>\d{1,8}):(?P<minutes>\d\d?):(?P<seconds>\d\d?)(?P<fraction>\.\d{1,6})?",
    re.ASCII,
)
_DECIMAL = re.compile(r"-?(?P<whole>\d{1,100})(\.(?P<fraction>\d{1,100}))?", re.ASCII)


class InvalidValue(ValueError):
    """A value that its type cannot hold; the text says which values it can hold."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidValue("expected text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidValue("the text contains half of a surrogate pair, which UTF-8 cannot encode") from error
    return value


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except ValueError as error:
        raise InvalidValue("expected bytes as base64") from error


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue("expected true or false")
    return value


def _int64(value: Any) -> int:
    if type(value) is not int or value not in _INT64:
        raise InvalidValue("expected a whole number of 64 bits")
    return value


def _float64(value: Any) -> float:
    if type(value) not in (int, float):
        raise InvalidValue("expected a number")
    if not _is_double(value):
        raise InvalidValue("expected a number that 64 bits of floating point hold")
    return float(value)


def _is_double(value: int | float) -> bool:
    try:
        return math.isfinite(value) and float(value) == value
    except OverflowError:
        return False


def _numeric(value: Any) -> str:
    whole, fraction = _digits(value)
    if len(whole) > 29 or len(fraction) > 9:
        raise InvalidValue("expected a number with up to 29 digits before the point and 9 after it")
    return str(value)


def _bignumeric(value: Any) -> str:
    _, fraction = _digits(value)
    text = str(value)
    if len(fraction) <= _BIGNUMERIC_SCALE:
        scaled = int(Decimal(text).scaleb(_BIGNUMERIC_SCALE, _EXACT))  # BIGNUMERIC is a 256-bit integer of 10^-38
        if -_BIGNUMERIC <= scaled < _BIGNUMERIC:
            return text
    raise InvalidValue("expected a number with up to 38 digits before the point and 38 after it")


def _digits(value: Any) -> tuple[str, str]:
    """Return the significant digits of a decimal number, before and after the point.

    Raises:
        InvalidValue: the value is neither a whole number nor the text of a decimal number.
    """
    text = str(value) if type(value) is int else value
    match = _DECIMAL.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise InvalidValue("expected a decimal number as text")
    return match["whole"].lstrip("0"), (match["fraction"] or "").rstrip("0")


def _date(value: Any) -> int:
    """Return the days since 1970-01-01.

    Raises:
        InvalidValue: the value is not a date.
    """
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        raise InvalidValue("expected a date like 2024-02-29")
    try:
        return date.fromisoformat(value).toordinal() - _FIRST_DAY
    except ValueError as error:
        raise InvalidValue("there is no such date") from error


def _datetime(value: Any) -> str:
    if not isinstance(value, str) or not _DATETIME.fullmatch(value):
        raise InvalidValue("expected a time like 2024-02-29 03:04:05.678901")
    _moment(value)
    return value


def _timestamp(value: Any) -> int:
    """Return the microseconds since 1970-01-01 00:00 UTC.

    Raises:
        InvalidValue: the value is not a point in time with a zone, or not of the years 1 to 9999.
    """
    if not isinstance(value, str) or not _TIMESTAMP.fullmatch(value):
        raise InvalidValue("expected a time like 2024-02-29 03:04:05.678901+00:00")
    microseconds = (_moment(value) - _EPOCH) // _MICROSECOND
    if microseconds not in _TIMESTAMPS:
        raise InvalidValue("the time is not of the years 1 to 9999")
    return microseconds


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidValue("there is no such time") from error


def _time(value: Any) -> str:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise InvalidValue("expected a time of day like 03:04:05.678901")
    try:
        time.fromisoformat(value)
    except ValueError as error:
        raise InvalidValue("there is no such time") from error
    return value


def _interval(value: Any) -> str:
    match = _INTERVAL.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise InvalidValue("expected an interval like 0-0 0 -838:59:59.999999")
    months = int(match["years"]) * 12 + int(match["months"])
    minutes, seconds = int(match["minutes"]), int(match["seconds"])
    hours = int(match["hours"])
    is_over = hours == _HOURS and (minutes or seconds or float(match["fraction"] or 0))
    if int(match["months"]) > 11 or minutes > 59 or seconds > 59:
        raise InvalidValue("there is no such interval")
    if months > _MONTHS or int(match["days"]) > _DAYS or hours > _HOURS or is_over:
        raise InvalidValue("the interval is longer than 10000 years")
    return str(value)


def _json(value: Any) -> str:
    text = _text(value)
    try:
        # Only whether it parses counts: `len` takes the place of numbers of any size.
        json.loads(text, parse_constant=_no_constant, parse_int=len, parse_float=len)
    except (ValueError, RecursionError) as error:
        raise InvalidValue("expected a JSON document as text") from error
    return text


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")  # Python would read NaN and Infinity


SCALARS: dict[str, Convert] = {
    "STRING": _text,
    "BYTES": _bytes,
    "BOOL": _bool,
    "INT64": _int64,
    "NUMERIC": _numeric,
    "BIGNUMERIC": _bignumeric,
    "FLOAT64": _float64,
    "DATE": _date,
    "DATETIME": _datetime,
    "TIMESTAMP": _timestamp,
    "TIME": _time,
    "INTERVAL": _interval,
    "GEOGRAPHY": _text,
    "JSON": _json,
}
