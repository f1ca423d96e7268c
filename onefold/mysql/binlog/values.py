"""Values as they land: from the bytes of a row image to JSON values for BigQuery, with one reader for each column.

Integers and floating-point numbers become numbers; decimals and numbers beyond INT64 become text; bytes become base64. A
value that BigQuery cannot hold becomes `Unrepresentable`.

Sources: `Table_map_event` in libs/mysql/binlog/event/rows_event.h (which type has which bytes) and `log_event_print_value`
in sql/log_event.cc (how they are read) of https://github.com/mysql/mysql-server.
"""

from __future__ import annotations

import base64
import datetime
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from onefold.mysql.binlog.binary_json import json_text
from onefold.mysql.charsets import decoder
from onefold.mysql.encodings import (
    Unrepresentable,
    clock_text,
    date_text,
    datetime_text,
    decimal_bytes,
    decimal_text,
    fraction_text,
    interval_text,
    wkt,
)
from onefold.mysql.table import BLOBS, GEOMETRIES, INTEGERS, TEXTS, SourceColumn

Reader = Callable[[bytes, int], tuple[Any, int]]
"""From an event's body and the offset of a value in it to the value and the offset behind it."""

_STRUCT_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}
_LONG = 4
"""The bytes of the length of JSON and of geometries."""


def reader_of(column: SourceColumn) -> Reader:
    """Return the function that reads a column from a row image.

    Raises:
        InvalidInput: the column's text is in a character set that cannot be read.
    """
    name, size = column.type.name, column.type.size or 0
    if name in INTEGERS:
        return _integer(column)
    # The length takes two bytes where the column may have more than 255 bytes.
    if name in ("char", "varchar"):
        return partial(_sized, 2 if size > 255 else 1, decoder(column.charset or ""))
    if name in TEXTS:
        return partial(_sized, TEXTS[name], decoder(column.charset or ""))
    if name in ("binary", "varbinary"):
        return partial(_sized, 2 if size > 255 else 1, _padded(size) if name == "binary" else base64_text)
    if name in BLOBS:
        return partial(_sized, BLOBS[name], base64_text)
    if name in GEOMETRIES:
        return partial(_sized, _LONG, wkt)
    if name == "enum":
        return partial(_enum, size, ("", *column.values))
    if name == "set":
        return partial(_set, size, column.values)
    return _OTHERS[name](column)


def base64_text(data: bytes) -> str:
    """Return bytes as BigQuery's JSON form of BYTES."""
    return base64.b64encode(data).decode()


def _padded(size: int) -> Callable[[bytes], str]:
    """Return a conversion for BINARY: the log leaves out the zeros at its end, and a query shows them."""
    return lambda data: base64_text(data.ljust(size, b"\0"))


def _sized(width: int, convert: Callable[[bytes], Any], data: bytes, at: int) -> tuple[Any, int]:
    start = at + width
    end = start + int.from_bytes(data[at:start], "little")
    return convert(data[start:end]), end


def _integer(column: SourceColumn) -> Reader:
    size, signed = INTEGERS[column.type.name], not column.type.unsigned
    if size == 3:
        return partial(_mediumint, signed)
    code = _STRUCT_CODES[size]
    unpack = struct.Struct("<" + (code if signed else code.upper())).unpack_from
    # BIGINT UNSIGNED exceeds INT64, so it lands as text.
    return partial(_wide if size == 8 and not signed else _number, unpack, size)


def _mediumint(signed: bool, data: bytes, at: int) -> tuple[int, int]:
    return int.from_bytes(data[at : at + 3], "little", signed=signed), at + 3


def _number(unpack: Callable[[bytes, int], tuple[Any, ...]], size: int, data: bytes, at: int) -> tuple[Any, int]:
    return unpack(data, at)[0], at + size


def _wide(unpack: Callable[[bytes, int], tuple[Any, ...]], size: int, data: bytes, at: int) -> tuple[str, int]:
    return str(unpack(data, at)[0]), at + size


def _floating(format_: str) -> Callable[[SourceColumn], Reader]:
    unpacker = struct.Struct(format_)
    return lambda _: partial(_number, unpacker.unpack_from, unpacker.size)


def _decimal(column: SourceColumn) -> Reader:
    precision, scale = column.type.size or 0, column.type.scale or 0
    size = sum(decimal_bytes(precision, scale))
    return lambda data, at: (decimal_text(data[at : at + size], precision, scale), at + size)


def _bit(column: SourceColumn) -> Reader:
    bits = column.type.size or 1
    size = (bits + 7) // 8
    convert = str if bits == 64 else int  # 64 bits exceed INT64
    return lambda data, at: (convert(int.from_bytes(data[at : at + size], "big")), at + size)


def _year(data: bytes, at: int) -> tuple[int, int]:
    """Read one byte: years since 1900. The first year is 1901, and zero means the year 0000."""
    return (data[at] + 1900 if data[at] else 0), at + 1


def _date(data: bytes, at: int) -> tuple[str | Unrepresentable, int]:
    # 15 bits of year, 4 of month, 5 of day, from the highest
    packed = int.from_bytes(data[at : at + 3], "little")
    return date_text(packed >> 9, packed >> 5 & 15, packed & 31), at + 3


# DATETIME, TIMESTAMP and TIME with fractions of a second. Source: `my_datetime_packed_to_binary`, `my_timestamp_to_binary`
# and `my_time_packed_to_binary` in sql-common/my_time.cc of https://github.com/mysql/mysql-server. All are big-endian; a
# fraction has one byte for two digits.
def _datetime(column: SourceColumn) -> Reader:
    digits = column.type.size or 0
    size = (digits + 1) // 2

    def read(data: bytes, at: int) -> tuple[str | Unrepresentable, int]:
        # The offset makes bytes sort like times, also negative ones, which no DATETIME is.
        packed = int.from_bytes(data[at : at + 5], "big") - (1 << 39)
        return datetime_text(packed, _fraction(data, at + 5, size, digits)), at + 5 + size

    return read


def _timestamp(column: SourceColumn) -> Reader:
    digits = column.type.size or 0
    size = (digits + 1) // 2

    def read(data: bytes, at: int) -> tuple[str | Unrepresentable, int]:
        seconds = int.from_bytes(data[at : at + 4], "big")
        end = at + 4 + size
        if not seconds:  # TIMESTAMP begins one second after the epoch: zero means 0000-00-00
            return Unrepresentable(None, "date"), end
        text = datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(" ")
        return f"{text[:19]}{_fraction(data, at + 4, size, digits)}+00:00", end

    return read


def _time(column: SourceColumn) -> Reader:
    """Return a reader of TIME: the seconds and the fraction are one number, which is negative as a whole."""
    digits = column.type.size or 0
    size = (digits + 1) // 2
    zero, bits = 0x800000 << 8 * size, 8 * size

    def read(data: bytes, at: int) -> tuple[str, int]:
        end = at + 3 + size
        packed = int.from_bytes(data[at:end], "big") - zero
        sign, packed = ("-", -packed) if packed < 0 else ("", packed)
        fraction = fraction_text(packed & (1 << bits) - 1, size, digits)
        return interval_text(f"{sign}{clock_text(packed >> bits)}{fraction}"), end

    return read


def _fraction(data: bytes, at: int, size: int, digits: int) -> str:
    return fraction_text(int.from_bytes(data[at : at + size], "big"), size, digits)


def _enum(size: int, values: tuple[str, ...], data: bytes, at: int) -> tuple[str, int]:
    """Read a value by its number. Zero is the empty text, which the server stores for an invalid value."""
    return values[int.from_bytes(data[at : at + size], "little")], at + size


def _set(size: int, values: tuple[str, ...], data: bytes, at: int) -> tuple[str, int]:
    """Read the values whose bits are set, in the order of the type, as the server shows them."""
    bits = int.from_bytes(data[at : at + size], "little")
    return ",".join(value for number, value in enumerate(values) if bits >> number & 1), at + size


_OTHERS: dict[str, Callable[[SourceColumn], Reader]] = {
    "float": _floating("<f"),
    "double": _floating("<d"),
    "decimal": _decimal,
    "bit": _bit,
    "year": lambda _: _year,
    "date": lambda _: _date,
    "datetime": _datetime,
    "timestamp": _timestamp,
    "time": _time,
    "json": lambda _: partial(_sized, _LONG, json_text),
}
