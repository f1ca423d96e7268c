"""Numbers and times as MySQL packs them into bytes: in rows of the log, and within its binary JSON."""

from __future__ import annotations

import datetime
from functools import cache

from onefold.mysql.unrepresentable import Unrepresentable

_GROUP = 9
_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Of so many decimal digits that are no whole group."""


@cache
def decimal_bytes(precision: int, scale: int) -> tuple[int, int]:
    """The bytes of the whole and of the fraction."""
    return tuple(digits // _GROUP * 4 + _BYTES[digits % _GROUP] for digits in (precision - scale, scale))  # type: ignore[return-value]


def decimal_text(data: bytes, precision: int, scale: int) -> str:
    """Big-endian groups of nine digits; the first bit is set where the number is not negative, else all are inverted."""
    whole_size, _ = decimal_bytes(precision, scale)
    negative = not data[0] & 0x80
    if negative:
        data = bytes(byte ^ 0xFF for byte in data)
    data = bytes([data[0] ^ 0x80]) + data[1:]
    digits = precision - scale
    whole = _digits(data[:whole_size], [digits % _GROUP, *[_GROUP] * (digits // _GROUP)])
    fraction = _digits(data[whole_size:], [*[_GROUP] * (scale // _GROUP), scale % _GROUP])
    return f"{'-' if negative else ''}{whole.lstrip('0') or '0'}{'.' if scale else ''}{fraction}"


def _digits(data: bytes, groups: list[int]) -> str:
    text, at = "", 0
    for digits in groups:
        if digits:
            end = at + _BYTES[digits]
            text += f"{int.from_bytes(data[at:end], 'big'):0{digits}}"
            at = end
    return text


def date_text(year: int, month: int, day: int) -> str | Unrepresentable:
    """A zero or partial date, and 30 February where the source allows it, is none to BigQuery."""
    try:
        return datetime.date(year, month, day).isoformat()
    except ValueError:
        return Unrepresentable(None, "date")


def datetime_text(packed: int, fraction: str) -> str | Unrepresentable:
    """From the whole seconds of DATETIME: 17 bits of year and month (in thirteens), 5 of day, 5, 6 and 6 of time."""
    year, month = divmod(packed >> 22, 13)
    date = date_text(year, month, packed >> 17 & 31)
    return date if isinstance(date, Unrepresentable) else f"{date} {clock_text(packed & 0x1FFFF)}{fraction}"


def clock_text(packed: int) -> str:
    """Hours of any size, 6 bits of minutes and 6 of seconds."""
    return f"{packed >> 12:02}:{packed >> 6 & 63:02}:{packed & 63:02}"


def fraction_text(value: int, size: int, digits: int) -> str:
    """From bytes that hold two digits each."""
    return f".{value:0{2 * size}}"[: digits + 1] if digits else ""


def interval_text(clock: str) -> str:
    """MySQL's TIME, which may be longer than a day or negative, as BigQuery writes an INTERVAL."""
    return f"0-0 0 {clock}"
