"""Values as they land in JSON, for BigQuery's Storage Write API: each exactly, or refused with a reason.

What a value is turned into is what "Supported protocol buffer data types" of BigQuery's documentation names for its type:
texts of literals where the text is exact by itself, numbers for dates and points in time. No reason tells the value: it is a
person's, and reasons are logged.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any

from onefold.core.errors import InvalidRecord
from onefold.core.text import shortened
from onefold.schema.types import Array, Range, Scalar, Struct, Type

Convert = Callable[[Any], Any]
"""From what JSON holds to what a message holds; None stays None. Raises InvalidValue."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)
# GoogleSQL, "Data types": what TIMESTAMP, BIGNUMERIC and INTERVAL hold.
_TIMESTAMPS = range(-62_135_596_800_000_000, 253_402_300_800_000_000)
_INT64 = range(-(2**63), 2**63)
_MONTHS, _DAYS, _HOURS = 120_000, 3_660_000, 87_840_000
_BIGNUMERIC = 2**255
_BIGNUMERIC_SCALE = 38
_EXACT = Context(prec=300)

_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
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
    """A value that its type cannot hold, and what the type wants."""


class RowValues:
    """The values of a table's rows, by column."""

    def __init__(self, types: Mapping[str, Type]) -> None:
        self._converts = {name: (field_name(name), converter(type_)) for name, type_ in types.items()}

    def convert(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row by the fields of a message, without what is NULL.

        Raises:
            InvalidRecord: every column that the table does not have, or whose type cannot hold the value.
        """
        values, problems = {}, []
        for name, value in row.items():
            if name not in self._converts:
                problems.append(f"column {shortened(name)}: the table has none of that name")
            elif value is not None:
                field, convert = self._converts[name]
                try:
                    values[field] = convert(value)
                except InvalidValue as misfit:
                    problems.append(f"column {name}: {misfit}")
        if problems:
            raise InvalidRecord(problems)
        return values


def field_name(column: str) -> str:
    """A column's name where it may be that of a field in a message, and otherwise one that is made of it."""
    return column if _FIELD.fullmatch(column) else f"hex_{column.encode().hex()}"


def converter(type_: Type) -> Convert:
    """What turns a value of this type, other than NULL, into the one to write."""
    match type_:
        case Scalar(name):
            return _SCALARS[name]
        case Array(element):
            return _array(converter(element))
        case Struct(fields):
            return _struct(RowValues({field.name: field.type for field in fields}))
        case Range():
            return _range


def _array(convert: Convert) -> Convert:
    def convert_all(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise InvalidValue("wanted is a list")
        if None in value:
            raise InvalidValue("BigQuery's arrays hold no NULL")
        return [convert(element) for element in value]

    return convert_all


def _struct(values: RowValues) -> Convert:
    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InvalidValue("wanted is an object")
        try:
            return values.convert(value)
        except InvalidRecord as error:
            raise InvalidValue("; ".join(error.problems)) from error

    return convert


def _range(_: Any) -> Any:
    raise InvalidValue("capture writes no ranges")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidValue("wanted is a text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidValue("the text holds half of a surrogate pair, which no UTF-8 has") from error
    return value


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except ValueError as error:
        raise InvalidValue("wanted are bytes in base64") from error


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue("wanted is true or false")
    return value


def _int64(value: Any) -> int:
    if type(value) is not int or value not in _INT64:
        raise InvalidValue("wanted is a whole number of 64 bits")
    return value


def _float64(value: Any) -> float:
    if type(value) not in (int, float):
        raise InvalidValue("wanted is a number")
    if not _is_double(value):
        raise InvalidValue("wanted is a number that 64 bits of floating point hold")
    return float(value)


def _is_double(value: int | float) -> bool:
    try:
        return math.isfinite(value) and float(value) == value
    except OverflowError:
        return False


def _numeric(value: Any) -> str:
    whole, fraction = _digits(value)
    if len(whole) > 29 or len(fraction) > 9:
        raise InvalidValue("wanted is a number with up to 29 digits before the point and 9 behind it")
    return str(value)


def _bignumeric(value: Any) -> str:
    _, fraction = _digits(value)
    text = str(value)
    if len(fraction) <= _BIGNUMERIC_SCALE:
        scaled = int(Decimal(text).scaleb(_BIGNUMERIC_SCALE, _EXACT))
        if -_BIGNUMERIC <= scaled < _BIGNUMERIC:
            return text
    raise InvalidValue("wanted is a number with up to 38 digits before the point and 38 behind it")


def _digits(value: Any) -> tuple[str, str]:
    """The digits that count, before and behind the point."""
    text = str(value) if type(value) is int else value
    match = _DECIMAL.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise InvalidValue("wanted is a decimal number as text")
    return match["whole"].lstrip("0"), (match["fraction"] or "").rstrip("0")


def _date(value: Any) -> int:
    """Days since 1970."""
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        raise InvalidValue("wanted is a date as 2024-02-29")
    try:
        return date.fromisoformat(value).toordinal() - _FIRST_DAY
    except ValueError as error:
        raise InvalidValue("there is no such date") from error


def _datetime(value: Any) -> str:
    if not isinstance(value, str) or not _DATETIME.fullmatch(value):
        raise InvalidValue("wanted is a time as 2024-02-29 03:04:05.678901")
    _moment(value)
    return value


def _timestamp(value: Any) -> int:
    """Microseconds since 1970."""
    if not isinstance(value, str) or not _TIMESTAMP.fullmatch(value):
        raise InvalidValue("wanted is a time as 2024-02-29 03:04:05.678901+00:00")
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
        raise InvalidValue("wanted is a time of day as 03:04:05.678901")
    try:
        time.fromisoformat(value)
    except ValueError as error:
        raise InvalidValue("there is no such time") from error
    return value


def _interval(value: Any) -> str:
    match = _INTERVAL.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise InvalidValue("wanted is an interval as 0-0 0 -838:59:59.999999")
    months = int(match["years"]) * 12 + int(match["months"])
    minutes, seconds = int(match["minutes"]), int(match["seconds"])
    hours = int(match["hours"])
    beyond = hours == _HOURS and (minutes or seconds or float(match["fraction"] or 0))
    if int(match["months"]) > 11 or minutes > 59 or seconds > 59:
        raise InvalidValue("there is no such interval")
    if months > _MONTHS or int(match["days"]) > _DAYS or hours > _HOURS or beyond:
        raise InvalidValue("the interval is longer than 10000 years")
    return str(value)


def _json(value: Any) -> str:
    text = _text(value)
    try:
        json.loads(text, parse_constant=_no_constant, parse_int=len, parse_float=len)
    except (ValueError, RecursionError) as error:
        raise InvalidValue("wanted is a JSON document as text") from error
    return text


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_SCALARS: dict[str, Convert] = {
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
