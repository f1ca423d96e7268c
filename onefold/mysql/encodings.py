"""Numbers, times and geometries as MySQL packs them into bytes, in rows of the log and within its binary JSON."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Unrepresentable:
    """A source value that BigQuery cannot hold: its replacement and the kind of loss.

    The kind is `date` for an invalid date, `text` for bytes that are not text, `geometry` for a geometry without bytes.
    """

    value: str | None
    kind: str


# Decimals. Source: `decimal2bin` in strings/decimal.cc of https://github.com/mysql/mysql-server.

_GROUP = 9
"""Decimal digits that are packed into four bytes."""
_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""The bytes of 0 to 9 digits, for the group that has fewer than nine."""


@cache
def decimal_bytes(precision: int, scale: int) -> tuple[int, int]:
    """Return the bytes of the whole part and of the fraction.

    Examples:
        >>> decimal_bytes(14, 4)
        (5, 2)
    """
    return tuple(digits // _GROUP * 4 + _BYTES[digits % _GROUP] for digits in (precision - scale, scale))  # type: ignore[return-value]


def decimal_text(data: bytes, precision: int, scale: int) -> str:
    """Return a DECIMAL as text; see `decimal_reader`.

    Examples:
        >>> decimal_text(bytes.fromhex("800000000c22"), 12, 2)
        '12.34'
    """
    return decimal_reader(precision, scale)(data)


@cache
def decimal_reader(precision: int, scale: int) -> Callable[[bytes], str]:
    """Return the function from the bytes of a DECIMAL to its text.

    The digits are in big-endian groups of nine; the first group of the whole part and the last group of the fraction may be
    shorter. The highest bit is set if the number is not negative; the bytes of a negative number are inverted.

    Args:
        precision: all digits of the type.
        scale: digits behind the point.
    """
    whole_size, fraction_size = decimal_bytes(precision, scale)
    shift, bits = 8 * fraction_size, 8 * (whole_size + fraction_size)
    top, ones, mask = 1 << bits - 1, (1 << bits) - 1, (1 << shift) - 1
    has_groups, last = max(precision - scale, scale) > _GROUP, scale % _GROUP or _GROUP
    pattern, parts = (f"%d.%0{scale}d", 2) if scale else ("%d", 1)

    def read(data: bytes) -> str:
        number, sign = int.from_bytes(data, "big") ^ top, ""
        if number >= top:
            number, sign = number ^ ones, "-"
        whole, fraction = number >> shift, number & mask
        if has_groups:
            whole, fraction = _joined(whole, _GROUP), _joined(fraction, last)
        return sign + pattern % (whole, fraction)[:parts]

    return read


def _joined(packed: int, digits: int) -> int:
    """Return the number of packed groups, of which the lowest has so many digits, and the others nine or fewer."""
    bits = 8 * _BYTES[digits]
    number, factor = packed & (1 << bits) - 1, 10**digits
    packed >>= bits
    while packed:
        number += (packed & 0xFFFFFFFF) * factor
        packed, factor = packed >> 32, factor * 10**_GROUP
    return number


# Dates and times. Source: `TIME_to_longlong_datetime_packed` and `TIME_to_longlong_time_packed` in sql-common/my_time.cc of
# https://github.com/mysql/mysql-server.


def date_text(year: int, month: int, day: int) -> str | Unrepresentable:
    """Return a date as BigQuery writes it.

    A source may have dates that BigQuery refuses: zero dates, dates without a day, and 30 February.

    Args:
        year: the year.
        month: the month, 1 to 12.
        day: the day, 1 to 31.

    Examples:
        >>> date_text(2024, 2, 29), date_text(2024, 2, 30)
        ('2024-02-29', Unrepresentable(value=None, kind='date'))
    """
    try:
        return datetime.date(year, month, day).isoformat()
    except ValueError:
        return Unrepresentable(None, "date")


def datetime_text(packed: int, fraction: str) -> str | Unrepresentable:
    """Return a DATETIME as BigQuery writes it.

    Args:
        packed: the whole seconds: 17 bits of year * 13 + month, then 5 of day, 5 of hour, 6 of minute, 6 of second.
        fraction: the fraction of the second, with its point.
    """
    year, month = divmod(packed >> 22, 13)
    date = date_text(year, month, packed >> 17 & 31)
    return date if isinstance(date, Unrepresentable) else f"{date} {clock_text(packed & 0x1FFFF)}{fraction}"


def clock_text(packed: int) -> str:
    """Return hours of any number, 6 bits of minutes and 6 bits of seconds as text.

    Examples:
        >>> clock_text(838 << 12 | 59 << 6 | 58)
        '838:59:58'
    """
    return f"{packed >> 12:02}:{packed >> 6 & 63:02}:{packed & 63:02}"


def fraction_text(value: int, size: int, digits: int) -> str:
    """Return the fraction of a second, with its point.

    Args:
        value: the bytes of the fraction as a number.
        size: the number of these bytes, each of which has two digits.
        digits: the digits of the type; an odd number leaves the last stored digit unused.

    Examples:
        >>> fraction_text(1230, 2, 3), fraction_text(0, 0, 0)
        ('.123', '')
    """
    return f".{value:0{2 * size}}"[: digits + 1] if digits else ""


def interval_text(clock: str) -> str:
    """Return MySQL's TIME, which may be negative or longer than a day, as BigQuery writes an INTERVAL.

    Examples:
        >>> interval_text("-30:00:00")
        '0-0 0 -30:00:00'
    """
    return f"0-0 0 {clock}"


# Geometries: a number for the spatial reference system (4 bytes), then WKB. Source: "Internal Geometry Storage Format",
# https://dev.mysql.com/doc/refman/8.4/en/gis-data-formats.html

_NAMES = ("", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION")
_POINT, _LINESTRING, _POLYGON, _COLLECTION = 1, 2, 3, 7
_SRID_BYTES = 4


def wkt(data: bytes) -> str | Unrepresentable:
    """Return a geometry as text (WKT), with the axes in the order in which the source stores them, and without the SRID.

    MariaDB stores no bytes at all where an ALTER made a column NOT NULL that contained NULL. Such a value has no shape, and
    MariaDB's own ST_AsText returns NULL for it.

    Examples:
        >>> wkt(bytes(4) + bytes([1, 1, 0, 0, 0]) + struct.pack("<dd", 1.5, 2))
        'POINT(1.5 2)'
    """
    if not data:
        return Unrepresentable(None, "geometry")
    text, _ = _geometry(data, _SRID_BYTES, named=True)
    return text


def _geometry(data: bytes, at: int, named: bool) -> tuple[str, int]:
    """Return one WKB value as text, and the offset behind it. WKB states its byte order in each value."""
    order = "<" if data[at] else ">"
    (kind,) = struct.unpack_from(f"{order}I", data, at + 1)
    at += 5
    name = _NAMES[kind] if named else ""
    if kind == _POINT:
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
    # Lines and polygons consist of points and rings without headers, all other geometries of whole WKB values.
    if kind == _LINESTRING:
        return _point(data, at, order)
    if kind == _POLYGON:
        return _ring(data, at, order)
    return _geometry(data, at, named=kind == _COLLECTION)


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
