"""MySQL's binary JSON as text. MariaDB stores JSON as text.

A value is a byte for its type and the value. An object is: count, size in bytes, one entry per key (offset, length), one
entry per value (type, offset or the value itself), the keys, the values. An array is the same without keys. Offsets count
from the container's first byte, and have 2 bytes in small containers and 4 in large ones. All numbers are little-endian.

Source: sql-common/json_binary.h of https://github.com/mysql/mysql-server.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable

from onefold.mysql.encodings import Unrepresentable, clock_text, date_text, datetime_text, decimal_text

_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY, _LITERAL = range(5)
_STRING, _OPAQUE = 12, 15
# Source: the constants JSONB_TYPE_* of json_binary.cc.
_LITERALS = {0: "null", 1: "true", 2: "false"}
_NUMBERS = {5: "<h", 6: "<H", 7: "<i", 8: "<I", 9: "<q", 10: "<Q", 11: "<d"}
_INLINE = {False: (_LITERAL, 5, 6), True: (_LITERAL, 5, 6, 7, 8)}
"""Types whose values are in the entry itself, in small and in large containers: those that fit into an offset."""
# Types of SQL within an opaque value: `enum_field_types` in include/field_types.h.
_DATE, _TIME, _DECIMAL = 10, 11, 246
_DATETIMES = (7, 12)


def json_text(data: bytes) -> str:
    """Return a document as text. Numbers keep all of their digits.

    Examples:
        >>> json_text(bytes([5, 7, 0]))
        '7'
    """
    return _value(data[0], data, 1) if data else "null"


def _value(kind: int, data: bytes, at: int) -> str:
    if kind in (_SMALL_OBJECT, _LARGE_OBJECT):
        return _object(data, at, kind == _LARGE_OBJECT)
    if kind in (_SMALL_ARRAY, _LARGE_ARRAY):
        return _array(data, at, kind == _LARGE_ARRAY)
    if kind == _LITERAL:
        return _LITERALS[data[at]]
    if kind == _STRING:
        return _quoted(_sized(data, at))
    if kind == _OPAQUE:
        return _opaque(data[at], _sized(data, at + 1))
    (number,) = struct.unpack_from(_NUMBERS[kind], data, at)
    return repr(number)


def _object(data: bytes, at: int, large: bool) -> str:
    count, width, entries = _header(data, at, large)
    key_width = width + 2
    names = []
    for entry in range(entries, entries + count * key_width, key_width):
        start = at + _number(data, entry, width)
        names.append(_quoted(data[start : start + _number(data, entry + width, 2)]))
    values = _values(data, at, entries + count * key_width, count, large)
    return "{" + ", ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True)) + "}"


def _array(data: bytes, at: int, large: bool) -> str:
    count, _, entries = _header(data, at, large)
    return "[" + ", ".join(_values(data, at, entries, count, large)) + "]"


def _header(data: bytes, at: int, large: bool) -> tuple[int, int, int]:
    """Return the number of elements, the bytes of an offset, and where the entries begin."""
    width = 4 if large else 2
    return _number(data, at, width), width, at + 2 * width


def _values(data: bytes, at: int, entries: int, count: int, large: bool) -> list[str]:
    width = 4 if large else 2
    texts = []
    for entry in range(entries, entries + count * (width + 1), width + 1):
        kind = data[entry]
        start = entry + 1 if kind in _INLINE[large] else at + _number(data, entry + 1, width)
        texts.append(_value(kind, data, start))
    return texts


def _number(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "little")


def _sized(data: bytes, at: int) -> bytes:
    """Return the bytes behind a length.

    A length has seven bits in each byte, the lowest first; the eighth bit says that another byte follows.
    """
    length = shift = 0
    while True:
        byte = data[at]
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return data[at : at + length]


def _quoted(data: bytes) -> str:
    return json.dumps(data.decode(), ensure_ascii=False)


def _opaque(kind: int, data: bytes) -> str:
    """Return a value of another SQL type as MySQL itself shows it in a JSON text."""
    if kind == _DECIMAL:  # precision and scale come first
        return decimal_text(data[2:], data[0], data[1])
    if kind in _OPAQUE_TIMES:
        return f'"{_OPAQUE_TIMES[kind](int.from_bytes(data, "little", signed=True))}"'
    return f'"base64:type{kind}:{base64.b64encode(data).decode()}"'


# Times are 64 bits: the fraction of a second in the lowest 24 bits as microseconds, above it the packed form of
# `onefold.mysql.encodings`. Source: `longlong_to_datetime_packed`, sql-common/my_time.cc of
# https://github.com/mysql/mysql-server.
def _time(packed: int) -> str:
    sign, packed = ("-", -packed) if packed < 0 else ("", packed)
    return f"{sign}{clock_text(packed >> 24)}.{packed & 0xFFFFFF:06}"


def _datetime(packed: int) -> str:
    return _text(datetime_text(packed >> 24, f".{packed & 0xFFFFFF:06}"), "0000-00-00 00:00:00.000000")


def _date(packed: int) -> str:
    year, month = divmod(packed >> 46, 13)
    return _text(date_text(year, month, packed >> 41 & 31), "0000-00-00")


def _text(text: str | Unrepresentable, zero: str) -> str:
    return zero if isinstance(text, Unrepresentable) else text


_OPAQUE_TIMES: dict[int, Callable[[int], str]] = {_DATE: _date, _TIME: _time, **dict.fromkeys(_DATETIMES, _datetime)}
