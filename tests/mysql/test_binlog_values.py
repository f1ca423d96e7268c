"""Values as documented bytes: those that only MySQL writes, and those that no server of the tests can be made to write."""

from __future__ import annotations

import json
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.row_images import packed
from support.source_database import SourceDatabase

from onefold.mysql.binlog.binary_json import json_text
from onefold.mysql.encodings import decimal_bytes, decimal_text, wkt


@given(st.data())
def test_decimals_are_exact(data: st.DataObject) -> None:
    precision = data.draw(st.integers(1, 65))
    scale = data.draw(st.integers(0, min(precision, 30)))
    digits = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    number = Decimal((int(digits < 0), tuple(int(digit) for digit in str(abs(digits))), -scale))
    text = decimal_text(packed(number, precision, scale), precision, scale)
    assert text == f"{number:f}"
    assert sum(decimal_bytes(precision, scale)) == len(packed(number, precision, scale))


def small(kind: int, names: list[bytes], values: list[tuple[int, bytes]]) -> bytes:
    """A small object (0) or array (2): entries of two bytes, what does not fit them behind."""
    width = 3 * len(values) + 4 * len(names)
    at = 4 + width
    entries, tail = b"", b"".join(names)
    for number, name in enumerate(names):
        entries += struct.pack("<HH", at + sum(map(len, names[:number])), len(name))
    at += len(tail)
    for type_, value in values:
        if type_ in (4, 5, 6):
            entries += bytes([type_]) + value.ljust(2, b"\0")
        else:
            entries += struct.pack("<BH", type_, at)
            tail += value
            at += len(value)
    body = entries + tail
    return bytes([kind]) + struct.pack("<HH", len(values), 4 + len(body)) + body


def opaque(kind: int, data: bytes) -> bytes:
    return bytes([kind, len(data)]) + data


TIME = struct.pack("<q", -(((25 << 12 | 1 << 6 | 2) << 24) + 500000))
DATETIME = struct.pack("<q", ((((2024 * 13 + 2) << 5 | 29) << 17 | 3 << 12 | 4 << 6 | 5) << 24) + 678)
DATE = struct.pack("<q", ((2024 * 13 + 2) << 5 | 29) << 41)
DOCUMENTS = [
    (b"", "null"),
    (b"\x04\x00", "null"),
    (b"\x04\x01", "true"),
    (b"\x05\xff\xff", "-1"),
    (b"\x06\xff\xff", "65535"),
    (b"\x07\x00\x00\x00\x80", "-2147483648"),
    (b"\x08\xff\xff\xff\xff", "4294967295"),
    (b"\x09" + struct.pack("<q", -(2**63)), "-9223372036854775808"),
    (b"\x0a" + struct.pack("<Q", 2**64 - 1), "18446744073709551615"),
    (b"\x0b" + struct.pack("<d", 0.1), "0.1"),
    (b"\x0c\x05Zo\xc3\xab\n", '"Zoë\\n"'),
    (b"\x0c\xc8\x01" + b"x" * 200, f'"{"x" * 200}"'),
    (small(0, [b"a", b"bc"], [(5, b"\x01"), (12, b"\x01x")]), '{"a": 1, "bc": "x"}'),
    (small(2, [], [(4, b"\x02"), (9, struct.pack("<q", 7)), (4, b"\0")]), "[false, 7, null]"),
    (small(2, [], [(0, small(0, [b"k"], [(5, b"\x02")])[1:])]), '[{"k": 2}]'),
    (b"\x03" + struct.pack("<II", 1, 13) + b"\x07" + struct.pack("<i", -5), "[-5]"),
    (
        b"\x01" + struct.pack("<II", 1, 20) + struct.pack("<IH", 19, 1) + b"\x08" + struct.pack("<I", 9) + b"q",
        '{"q": 9}',
    ),
    (b"\x0f" + opaque(246, b"\x04\x02" + packed(Decimal("-12.50"), 4, 2)), "-12.50"),
    (b"\x0f" + opaque(11, TIME), '"-25:01:02.500000"'),
    (b"\x0f" + opaque(12, DATETIME), '"2024-02-29 03:04:05.000678"'),
    (b"\x0f" + opaque(10, DATE), '"2024-02-29"'),
    (b"\x0f" + opaque(16, b"\x01\x02"), '"base64:type16:AQI="'),
]


@pytest.mark.parametrize(("data", "text"), DOCUMENTS)
def test_mysql_s_binary_json_is_read_as_text(data: bytes, text: str) -> None:
    assert json_text(data) == text
    json.loads(text)


def test_geometries_of_either_order_of_bytes_are_read() -> None:
    assert wkt(b"\0\0\0\0\0" + struct.pack(">Idd", 1, 1.0, -2.5)) == "POINT(1 -2.5)"
    assert wkt(b"\0\0\0\0\1" + struct.pack("<II", 7, 0)) == "GEOMETRYCOLLECTION EMPTY"


def test_a_geometry_that_was_null_before_its_column_was_not_null_is_null(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, p POINT)", "INSERT INTO t VALUES (1, NULL)", "SET SESSION sql_mode = ''")
    source.run("ALTER TABLE t MODIFY p POINT NOT NULL", "UPDATE t SET id = 2")
    assert source.rows("SELECT ST_AsText(p) FROM t") == [(None,)]
    change = source.changes()[-1]
    assert (change.before, change.after) == (((1, None),), ((2, None),))
    assert dict(change.losses) == {("p", "geometry"): 1}
