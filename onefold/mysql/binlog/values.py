"""Values as they land: from the bytes of a row image to JSON values for BigQuery, with one form for each column.

Integers and floating-point numbers become numbers; decimals and numbers beyond INT64 become text; bytes become base64. A
value that BigQuery cannot hold becomes `Unrepresentable`.

Sources: `Table_map_event` in libs/mysql/binlog/event/rows_event.h (which type has which bytes) and `log_event_print_value`
in sql/log_event.cc (how they are read) of https://github.com/mysql/mysql-server.
"""

from __future__ import annotations

import binascii
import datetime
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from onefold.mysql.binlog.binary_json import json_text
from onefold.mysql.charsets import decoder, is_utf8
from onefold.mysql.encodings import (
    Unrepresentable,
    clock_text,
    date_text,
    decimal_bytes,
    decimal_reader,
    fraction_text,
    interval_text,
    wkt,
)
from onefold.mysql.table import BLOBS, GEOMETRIES, INTEGERS, TEXTS, SourceColumn

Convert = Callable[[Any], Any]
"""From what a struct reads, or from the bytes of a value, to what lands."""

_INTEGER_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}
_LONG = 4
"""The bytes of the length of JSON and of geometries."""
_TWO_DIGITS = tuple(f"{number:02}" for number in range(100))
_MINUTES = tuple(f"{minute // 60:02}:{minute % 60:02}:" for minute in range(24 * 60))
"""Hours and minutes of each minute of a day."""
_CACHED_DATES = 4096
"""Most rows have dates of the same few years."""
_CACHED_SETS = 256
_ZERO = bytes(4)


@dataclass(frozen=True)
class ValueForm:
    """The form of a column's values in a row image, and what becomes of them.

    Attributes:
        code: for values of a fixed size, the code of `struct` for one of them: "i", "5s". None for values that have a
            length before them.
        width: the bytes of that length.
        convert: what becomes of a value; None where it lands as it is read. It raises `ValueError` where BigQuery cannot
            hold the value.
        replace: returns the `Unrepresentable` of such a value; None where there is none.
    """

    code: str | None = None
    width: int = 0
    convert: Convert | None = None
    replace: Convert | None = None


def form_of(column: SourceColumn) -> ValueForm:
    """Return the form of a column's values.

    Raises:
        InvalidInput: the column's text is in a character set that cannot be read.
    """
    name, size = column.type.name, column.type.size or 0
    if name in INTEGERS:
        return _integer(INTEGERS[name], not column.type.unsigned)
    # The length takes two bytes where the column may have more than 255 bytes.
    if name in ("char", "varchar"):
        return _text(2 if size > 255 else 1, column.charset or "")
    if name in TEXTS:
        return _text(TEXTS[name], column.charset or "")
    if name in ("binary", "varbinary"):
        return ValueForm(None, 2 if size > 255 else 1, _padded(size) if name == "binary" else base64_text)
    if name in BLOBS:
        return ValueForm(None, BLOBS[name], base64_text)
    if name in GEOMETRIES:
        return ValueForm(None, _LONG, _strict(wkt), wkt)
    if name == "enum":
        # By its number. Zero is the empty text, which the server stores for an invalid value.
        return ValueForm(_INTEGER_CODES[size].upper(), convert=("", *column.values).__getitem__)
    return _OTHERS[name](column)


def base64_text(data: bytes) -> str:
    """Return bytes as BigQuery's JSON form of BYTES."""
    return binascii.b2a_base64(data, newline=False).decode()


def _strict(convert: Convert) -> Convert:
    """Return a conversion that raises `ValueError` in the place of an `Unrepresentable`."""

    def strict(value: Any) -> Any:
        landed = convert(value)
        if isinstance(landed, Unrepresentable):
            raise ValueError(landed.kind)
        return landed

    return strict


def _text(width: int, charset: str) -> ValueForm:
    decode = decoder(charset)
    return ValueForm(None, width, bytes.decode if is_utf8(charset) else _strict(decode), decode)


def _padded(size: int) -> Convert:
    """Return a conversion for BINARY: the log leaves out the zeros at its end, and a query shows them."""
    return lambda data: base64_text(data.ljust(size, b"\0"))


def _integer(size: int, signed: bool) -> ValueForm:
    if size == 3:
        return ValueForm("3s", convert=lambda data: int.from_bytes(data, "little", signed=signed))
    code = _INTEGER_CODES[size]
    # BIGINT UNSIGNED exceeds INT64, so it lands as text.
    return ValueForm(code if signed else code.upper(), convert=None if signed or size < 8 else str)


def _decimal(column: SourceColumn) -> ValueForm:
    precision, scale = column.type.size or 0, column.type.scale or 0
    return ValueForm(f"{sum(decimal_bytes(precision, scale))}s", convert=decimal_reader(precision, scale))


def _bit(column: SourceColumn) -> ValueForm:
    bits = column.type.size or 1
    size = (bits + 7) // 8
    convert = str if bits == 64 else int  # 64 bits exceed INT64
    return ValueForm(f"{size}s", convert=lambda data: convert(int.from_bytes(data, "big")))


def _date(data: bytes) -> str | Unrepresentable:
    # 15 bits of year, 4 of month, 5 of day, from the highest
    packed = int.from_bytes(data, "little")
    return date_text(packed >> 9, packed >> 5 & 15, packed & 31)


# DATETIME, TIMESTAMP and TIME with fractions of a second. Source: `my_datetime_packed_to_binary`, `my_timestamp_to_binary`
# and `my_time_packed_to_binary` in sql-common/my_time.cc of https://github.com/mysql/mysql-server. All are big-endian; a
# fraction has one byte for two digits.
def _datetime(column: SourceColumn) -> ValueForm:
    """Return the form of DATETIME: a number of 22 bits for the date and 17 for the time of day, then the fraction.

    An offset makes the bytes sort like times, also negative ones, which no DATETIME is.
    """
    size, fraction = _fraction(column)
    bits = 8 * size

    def convert(data: bytes) -> str:
        packed = int.from_bytes(data, "big")
        clock = packed >> bits & 0x1FFFF
        minute = _MINUTES[(clock >> 12) * 60 + (clock >> 6 & 63)]
        return f"{_packed_date(packed >> bits + 17)} {minute}{_TWO_DIGITS[clock & 63]}{fraction(data)}"

    return ValueForm(f"{5 + size}s", convert=convert, replace=lambda _: Unrepresentable(None, "date"))


@lru_cache(_CACHED_DATES)
def _packed_date(packed: int) -> str:
    """Return the date of 22 bits behind the bit of the offset: year * 13 + month, and 5 bits of day.

    Raises:
        ValueError: BigQuery does not have the date.
    """
    year, month = divmod((packed >> 5) - (1 << 17), 13)
    return datetime.date(year, month, packed & 31).isoformat()


def _timestamp(column: SourceColumn) -> ValueForm:
    size, fraction = _fraction(column)

    def convert(data: bytes) -> str:
        if data.startswith(_ZERO):  # TIMESTAMP begins one second after the epoch: zero means 0000-00-00
            raise ValueError("date")
        day, second = divmod(int.from_bytes(data[:4], "big"), 24 * 3600)
        return f"{_unix_date(day)} {_MINUTES[second // 60]}{_TWO_DIGITS[second % 60]}{fraction(data)}+00:00"

    return ValueForm(f"{4 + size}s", convert=convert, replace=lambda _: Unrepresentable(None, "date"))


@lru_cache(_CACHED_DATES)
def _unix_date(day: int) -> str:
    """Return the date of a number of days since 1970."""
    return (datetime.date(1970, 1, 1) + datetime.timedelta(day)).isoformat()


def _time(column: SourceColumn) -> ValueForm:
    """Return the form of TIME: the seconds and the fraction are one number, which is negative as a whole."""
    size, _ = _fraction(column)
    digits, zero, bits = column.type.size or 0, 0x800000 << 8 * size, 8 * size

    def convert(data: bytes) -> str:
        packed = int.from_bytes(data, "big") - zero
        sign, packed = ("-", -packed) if packed < 0 else ("", packed)
        fraction = fraction_text(packed & (1 << bits) - 1, size, digits)
        return interval_text(f"{sign}{clock_text(packed >> bits)}{fraction}")

    return ValueForm(f"{3 + size}s", convert=convert)


def _fraction(column: SourceColumn) -> tuple[int, Callable[[bytes], str]]:
    """Return the bytes of the fraction of a second, and the text of the fraction at the end of a value's bytes."""
    digits = column.type.size or 0
    size = (digits + 1) // 2
    if not size:
        return 0, lambda _: ""
    return size, lambda data: fraction_text(int.from_bytes(data[-size:], "big"), size, digits)


def _set(column: SourceColumn) -> ValueForm:
    """Return the form of SET: the values whose bits are set, in the order of the type, as the server shows them."""
    values = column.values

    @lru_cache(_CACHED_SETS)
    def convert(data: bytes) -> str:
        bits = int.from_bytes(data, "little")
        return ",".join(value for number, value in enumerate(values) if bits >> number & 1)

    return ValueForm(f"{column.type.size or 0}s", convert=convert)


_YEARS = (0, *range(1901, 2156))
"""The year of one byte. The first year is 1901, and zero means the year 0000."""
_OTHERS: dict[str, Callable[[SourceColumn], ValueForm]] = {
    "float": lambda _: ValueForm("f"),
    "double": lambda _: ValueForm("d"),
    "decimal": _decimal,
    "bit": _bit,
    "year": lambda _: ValueForm("B", convert=_YEARS.__getitem__),
    "date": lambda _: ValueForm("3s", convert=lru_cache(_CACHED_DATES)(_strict(_date)), replace=_date),
    "datetime": _datetime,
    "timestamp": _timestamp,
    "time": _time,
    "json": lambda _: ValueForm(None, _LONG, json_text),
    "set": _set,
}
