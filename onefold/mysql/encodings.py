"""Numbers and times as MySQL packs them into bytes: in rows of the log, and within its binary JSON."""

from __future__ import annotations

import datetime
import struct
from dataclasses import dataclass
from functools import cache

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


@dataclass(frozen=True)
class Unrepresentable:
    """What is left of a value, and its kind: a `date` or a `text` that is none, a `geometry` without bytes."""

    value: str | None
    kind: str


_NAMES = ("", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION")
_SRID = 4


def wkt(data: bytes) -> str | Unrepresentable:
    """The text, in the order of axes in which the source stores them. The SRID is no part of it.

    MariaDB stores no bytes at all where an ALTER made a column NOT NULL that held a NULL: there is no shape, as for its
    own ST_AsText.
    """
    if not data:
        return Unrepresentable(None, "geometry")
    text, _ = _geometry(data, _SRID, named=True)
    return text


def _geometry(data: bytes, at: int, named: bool) -> tuple[str, int]:
    order = "<" if data[at] else ">"
    (kind,) = struct.unpack_from(f"{order}I", data, at + 1)
    at += 5
    name = _NAMES[kind] if named else ""
    if kind == 1:
        text, at = _point(data, at, order)
        return f"{name}({text})", at
    (count,) = struct.unpack_from(f"{order}I", data, at)
    at += 4
    parts = []
    for _ in range(count):
        part, at = _part(kind, data, at, order)
        parts.append(part)
    return (f"{name}({', '.join(parts)})" if parts else f"{name} EMPTY"), at


def _part(kind: int, data: bytes, at: int, order: str) -> tuple[str, int]:
    if kind == 2:
        return _point(data, at, order)
    if kind == 3:
        return _ring(data, at, order)
    return _geometry(data, at, named=kind == 7)


def _ring(data: bytes, at: int, order: str) -> tuple[str, int]:
    (count,) = struct.unpack_from(f"{order}I", data, at)
    at += 4
    points = []
    for _ in range(count):
        point, at = _point(data, at, order)
        points.append(point)
    return f"({', '.join(points)})", at


def _point(data: bytes, at: int, order: str) -> tuple[str, int]:
    x, y = struct.unpack_from(f"{order}dd", data, at)
    return f"{_number(x)} {_number(y)}", at + 16


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")
