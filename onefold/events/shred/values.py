"""Values of JSON as values of columns, the same for every format: texts, numbers and times that lose nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson

from onefold.core.errors import InvalidInput
from onefold.core.text import cut
from onefold.schema.json_types import compact_json

_EXACT_FLOAT = 2**53
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9:]{8})(?:\.([0-9]{1,6})0*)?([Zz]|[+-][0-9]{2}:[0-9]{2})?")
_PLAIN_LENGTHS = (19, 23, 26)
_POINT = ("", ".")


class DoesNotFit(InvalidInput):
    """A value that its column cannot hold exactly."""


def shown(value: Any) -> str:
    """Return a value for an error, cut to a bounded length."""
    return cut(json_text(value))


def json_text(value: Any) -> str:
    """Return a value as compact JSON. A Decimal keeps its digits.

    Examples:
        >>> print(json_text({"a": [1, None, "é"], "b": Decimal("0.10")}))
        {"a":[1,null,"é"],"b":0.10}
    """
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # more than 64 bits, a Decimal, or deeper than orjson goes
        return _slow_json(value)


def _slow_json(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{compact_json(key)}:{_slow_json(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_slow_json, value)) + "]"
    return str(value) if isinstance(value, Decimal) else compact_json(value)


def text_of(value: Any) -> str:
    """Return a value as the text of a column: a text is itself, anything else is compact JSON.

    Examples:
        >>> text_of("a"), text_of(True), text_of([1, "a"])
        ('a', 'true', '[1,"a"]')
    """
    return value if type(value) is str else json_text(value)


def whole_number(value: Any) -> int:
    """Return a number without a fraction; 1.0 is 1.

    Raises:
        DoesNotFit: the value is another one.
    """
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    raise DoesNotFit(f"{shown(value)} is not a whole number")


def float_number(value: Any) -> float:
    """Return a number as a double. A fraction may be rounded, as every reader of JSON does; a whole number may not.

    Raises:
        DoesNotFit: the number is too large, is a whole number that a double does not hold, or is not a number.
    """
    if type(value) is float:
        return value
    if type(value) is int:
        if -_EXACT_FLOAT <= value <= _EXACT_FLOAT:
            return float(value)
        number = _nearest(value)
        if int(number) != value:
            raise DoesNotFit(f"{shown(value)} is not exact as a double")
        return number
    if isinstance(value, Decimal):
        return _nearest(value)
    raise DoesNotFit(f"{shown(value)} is not a number")


def _nearest(value: int | Decimal) -> float:
    number = float(value)  # a whole number is read with at most 100 digits, and overflows no double
    if math.isinf(number):
        raise DoesNotFit(f"{shown(value)} is too large for a double")
    return number


def decimal_number(value: Any, digits: int, scale: int) -> Decimal:
    """Return a number as a decimal with a fixed scale.

    Args:
        value: the number.
        digits: the most digits before the point.
        scale: the most digits after the point.

    Raises:
        DoesNotFit: the number has more digits, or the value is not a number.
    """
    if type(value) not in (int, float, Decimal):
        raise DoesNotFit(f"{shown(value)} is not a number")
    # The text of a float is the number that was read: a float that would not give it back was read as a Decimal.
    exact = Decimal(repr(value)) if type(value) is float else Decimal(value)
    if not exact.is_finite():
        raise DoesNotFit(f"{value} is not a finite number")
    if exact.is_zero():
        return Decimal(0)
    exact = _without_zeros(exact)
    if exact.adjusted() >= digits or -int(exact.as_tuple().exponent) > scale:
        raise DoesNotFit(f"{shown(value)} has more than {digits} digits before or {scale} after the point")
    return exact


def _without_zeros(number: Decimal) -> Decimal:
    """Return a number that is not 0 without zeros at its end, which Arrow would count as digits of the column."""
    sign, digits, exponent = number.as_tuple()
    zeros = next(place for place, digit in enumerate(reversed(digits)) if digit)
    return Decimal((sign, digits[: len(digits) - zeros], int(exponent) + zeros)) if zeros else number


def utc_time(text: Any) -> datetime:
    """Return the time of a text in UTC, without a zone. A text without a zone is in UTC.

    Examples:
        >>> utc_time("2026-11-23T08:00:00.5+02:00")
        datetime.datetime(2026, 11, 23, 6, 0, 0, 500000)

    Raises:
        DoesNotFit: the text is not a time from year 1 to 9999, or has more than six digits of a second.
    """
    if type(text) is str and (plain := _plain_time(text)):
        return plain
    if type(text) is not str or not (found := _TIME.fullmatch(text)):
        raise DoesNotFit(f"{shown(text)} is not a time with at most six digits of a second")
    day, clock, fraction, zone = found.groups()
    try:
        time = datetime.fromisoformat(f"{day}T{clock}.{(fraction or '0').ljust(6, '0')}")
        if zone in (None, "Z", "z"):
            return time
        aware = datetime.fromisoformat(f"{time.isoformat()}{zone}")
        return aware.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise DoesNotFit(f"{shown(text)} is not a time from 0001-01-01 to 9999-12-31 in UTC") from None


def _plain_time(text: str) -> datetime | None:
    """Return the time of a text in one of the most frequent forms, which are read fast; None for any other text."""
    clock = text[:-1] if text[-1:] == "Z" else text
    if len(clock) not in _PLAIN_LENGTHS or not (clock[4] == clock[7] == "-" and clock[13] == clock[16] == ":"):
        return None
    if clock[10] not in "T " or clock[19:20] not in _POINT:
        return None
    try:
        time = datetime.fromisoformat(clock)
    except ValueError:
        return None
    return time if time.tzinfo is None else None


def day_of(text: Any) -> date:
    """Return the day of a text.

    Raises:
        DoesNotFit: the text is not a day from year 1 to 9999 as YYYY-MM-DD.
    """
    try:
        if type(text) is str and len(text) == 10 and text[4] == text[7] == "-":
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise DoesNotFit(f"{shown(text)} is not a day from 0001-01-01 to 9999-12-31")
