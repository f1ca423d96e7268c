"""Values as they land: from the bytes of the log to what JSON holds for BigQuery, one reader for each column.

Integers and floating-point numbers are numbers, decimals and numbers beyond INT64 are text, bytes are base64. What
BigQuery cannot hold comes as Unrepresentable.
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
"""From the row's bytes and a place in them to the value there, and the place behind it."""

_LETTERS = {1: "b", 2: "h", 4: "i", 8: "q"}
_LONG = 4
"""The bytes of the length of JSON and of geometries."""


def reader_of(column: SourceColumn) -> Reader:
    """How a column is read from a row of the log.

    Raises:
        InvalidInput: its text is in a character set that cannot be read.
    """
    name, size = column.type.name, column.type.size or 0
    if name in INTEGERS:
        return _integer(column)
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
    return base64.b64encode(data).decode()


def _padded(size: int) -> Callable[[bytes], str]:
    """The log leaves out the zeros at the end of BINARY, which a query shows."""
    return lambda data: base64_text(data.ljust(size, b"\0"))


def _sized(width: int, convert: Callable[[bytes], Any], data: bytes, at: int) -> tuple[Any, int]:
    start = at + width
    end = start + int.from_bytes(data[at:start], "little")
    return convert(data[start:end]), end


def _integer(column: SourceColumn) -> Reader:
    size, signed = INTEGERS[column.type.name], not column.type.unsigned
    if size == 3:
        return partial(_mediumint, signed)
    letter = _LETTERS[size]
    unpack = struct.Struct("<" + (letter if signed else letter.upper())).unpack_from
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
    shown = str if bits == 64 else int
    return lambda data, at: (shown(int.from_bytes(data[at : at + size], "big")), at + size)


def _year(data: bytes, at: int) -> tuple[int, int]:
    """Years since 1900, of which there is none below 1901: zero is the year 0000."""
    return (data[at] + 1900 if data[at] else 0), at + 1


def _date(data: bytes, at: int) -> tuple[str | Unrepresentable, int]:
    packed = int.from_bytes(data[at : at + 3], "little")
    return date_text(packed >> 9, packed >> 5 & 15, packed & 31), at + 3


def _datetime(column: SourceColumn) -> Reader:
    digits = column.type.size or 0
    size = (digits + 1) // 2

    def read(data: bytes, at: int) -> tuple[str | Unrepresentable, int]:
        packed = int.from_bytes(data[at : at + 5], "big") - (1 << 39)
        return datetime_text(packed, _fraction(data, at + 5, size, digits)), at + 5 + size

    return read


def _timestamp(column: SourceColumn) -> Reader:
    digits = column.type.size or 0
    size = (digits + 1) // 2

    def read(data: bytes, at: int) -> tuple[str | Unrepresentable, int]:
        seconds = int.from_bytes(data[at : at + 4], "big")
        end = at + 4 + size
        if not seconds:  # no time of TIMESTAMP: it stands for 0000-00-00
            return Unrepresentable(None, "date"), end
        text = datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(" ")
        return f"{text[:19]}{_fraction(data, at + 4, size, digits)}+00:00", end

    return read


def _time(column: SourceColumn) -> Reader:
    """Whole seconds and fraction are one number, which is negative as a whole."""
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
    """By number; zero is the empty text that stands for a value that was none."""
    return values[int.from_bytes(data[at : at + size], "little")], at + size


def _set(size: int, values: tuple[str, ...], data: bytes, at: int) -> tuple[str, int]:
    """The values whose bits are set, in the order of the type, as the server shows them."""
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
