"""Every type of the source, with values from one end of it to the other, and what lands of each."""

from __future__ import annotations

import base64
import uuid
from dataclasses import dataclass
from typing import Any


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@dataclass(frozen=True)
class Sample:
    """A column's declaration, its type as the version hashes it, BigQuery's, and SQL literals with what lands."""

    declared: str
    type: str
    bigquery: str
    values: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return self.declared


def sample(declared: str, type_: str, bigquery: str, *values: tuple[str, Any]) -> Sample:
    return Sample(declared, type_, bigquery, (("NULL", None), *values))


def integers(name: str, bits: int) -> list[Sample]:
    low, high, top = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 2**bits - 1
    wide = bits == 64
    return [
        sample(name, name, "INT64", (str(low), low), ("-1", -1), ("0", 0), (str(high), high)),
        sample(
            f"{name} UNSIGNED", f"{name} unsigned", "NUMERIC" if wide else "INT64",
            ("0", "0" if wide else 0), (str(top), str(top) if wide else top),
        ),
    ]  # fmt: skip


NUMBERS = [
    *integers("tinyint", 8),
    *integers("smallint", 16),
    *integers("mediumint", 24),
    *integers("int", 32),
    *integers("bigint", 64),
    sample("int(3) ZEROFILL", "int unsigned", "INT64", ("7", 7)),
    sample("boolean", "tinyint", "INT64", ("TRUE", 1), ("FALSE", 0)),
    sample("year", "year", "INT64", ("1901", 1901), ("2155", 2155), ("0", 0)),
    sample("bit(1)", "bit(1)", "INT64", ("b'1'", 1), ("b'0'", 0)),
    sample("bit(9)", "bit(9)", "INT64", ("b'100000001'", 257)),
    sample("bit(63)", "bit(63)", "INT64", (str(2**63 - 1), 2**63 - 1)),
    sample("bit(64)", "bit(64)", "NUMERIC", (str(2**64 - 1), str(2**64 - 1)), ("0", "0")),
    sample(
        "float", "float", "FLOAT64", ("0.1", 0.10000000149011612), ("-3.402823466e38", -3.4028234663852886e38), ("0", 0.0)
    ),
    sample("float(7,3) UNSIGNED", "float unsigned", "FLOAT64", ("1234.5", 1234.5)),
    sample(
        "double", "double", "FLOAT64", ("0.1", 0.1), ("-1.7976931348623157e308", -1.7976931348623157e308), ("5e-324", 5e-324)
    ),
    sample("decimal(10,2)", "decimal(10,2)", "NUMERIC", ("-99999999.99", "-99999999.99"), ("0", "0.00"), ("0.5", "0.50")),
    sample("decimal(5,0) UNSIGNED", "decimal(5,0) unsigned", "NUMERIC", ("99999", "99999")),
    sample("decimal(9,9)", "decimal(9,9)", "NUMERIC", ("-0.000000001", "-0.000000001"), ("0.999999999", "0.999999999")),
    sample("decimal(38,9)", "decimal(38,9)", "NUMERIC", ("9" * 29 + "." + "9" * 9, "9" * 29 + "." + "9" * 9)),
    sample("decimal(38,10)", "decimal(38,10)", "BIGNUMERIC", ("-1.0000000001", "-1.0000000001")),
    sample(
        "decimal(65,27)", "decimal(65,27)", "BIGNUMERIC", ("-" + "9" * 38 + "." + "9" * 27, "-" + "9" * 38 + "." + "9" * 27)
    ),
    sample("decimal(65,0)", "decimal(65,0)", "STRING", ("-" + "9" * 65, "-" + "9" * 65), ("10", "10")),
]

TIMES = [
    sample(
        "date", "date", "DATE", ("'1000-01-01'", "1000-01-01"), ("'9999-12-31'", "9999-12-31"),
        ("'2024-02-29'", "2024-02-29"),
        ("'0000-00-00'", None), ("'2020-00-10'", None), ("'2020-01-00'", None), ("'0000-01-01'", None),
    ),
    sample(
        "datetime", "datetime(0)", "DATETIME", ("'1000-01-01 00:00:00'", "1000-01-01 00:00:00"),
        ("'9999-12-31 23:59:59'", "9999-12-31 23:59:59"), ("'0000-00-00 00:00:00'", None), ("'2020-00-10 01:02:03'", None),
    ),
    *(
        sample(
            f"datetime({digits})", f"datetime({digits})", "DATETIME",
            ("'2020-01-02 03:04:05.987654'", f"2020-01-02 03:04:05.{'987654'[:digits]}"),
            ("'2020-01-02 03:04:05.010203'", f"2020-01-02 03:04:05.{'010203'[:digits]}"),
        )
        for digits in range(1, 7)
    ),
    sample(
        "timestamp NULL", "timestamp(0)", "TIMESTAMP", ("'1970-01-01 00:00:01'", "1970-01-01 00:00:01+00:00"),
        ("'2038-01-19 03:14:07'", "2038-01-19 03:14:07+00:00"), ("'0000-00-00 00:00:00'", None),
    ),
    sample("timestamp(3) NULL", "timestamp(3)", "TIMESTAMP", ("'2020-01-02 03:04:05.120'", "2020-01-02 03:04:05.120+00:00")),
    sample("timestamp(6) NULL", "timestamp(6)", "TIMESTAMP", ("'2020-01-02 03:04:05'", "2020-01-02 03:04:05.000000+00:00")),
    sample(
        "time", "time(0)", "INTERVAL", ("'838:59:59'", "0-0 0 838:59:59"), ("'-838:59:59'", "0-0 0 -838:59:59"),
        ("'00:00:00'", "0-0 0 00:00:00"), ("'-00:00:01'", "0-0 0 -00:00:01"),
    ),
    *(
        sample(
            f"time({digits})", f"time({digits})", "INTERVAL",
            ("'-00:00:00.500000'", f"0-0 0 -00:00:00.{'500000'[:digits]}"),
            ("'-100:59:59.999999'", f"0-0 0 -100:59:59.{'999999'[:digits]}"),
            ("'25:00:00.090807'", f"0-0 0 25:00:00.{'090807'[:digits]}"),
        )
        for digits in range(1, 7)
    ),
]  # fmt: skip

_TEXTS = (
    ("''", ""),
    ("'plain'", "plain"),
    ("'Zoë 日本 😀'", "Zoë 日本 😀"),
    ("'it''s \"q\" \\\\ \\n \\0'", 'it\'s "q" \\ \n \0'),
)
UUID = uuid.UUID("123e4567-e89b-12d3-a456-426655440000")
_BYTES = (("''", ""), ("x'00FF00'", b64(b"\0\xff\0")), ("x'80'", b64(b"\x80")))
TEXTS = [
    sample("char(20)", "char(80)", "STRING", *_TEXTS, ("'blanks  '", "blanks")),
    sample("char(64)", "char(256)", "STRING", *_TEXTS),
    sample("char(255)", "char(1020)", "STRING", ("REPEAT('😀', 255)", "😀" * 255)),
    sample("char(0)", "char(0)", "STRING", ("''", "")),
    sample("varchar(30)", "varchar(120)", "STRING", *_TEXTS, ("'blanks  '", "blanks  ")),
    sample("varchar(30) CHARACTER SET latin1", "varchar(30)", "STRING", ("'Zoë €'", "Zoë €"), ("x'81'", "\x81")),
    sample("varchar(30) CHARACTER SET utf8mb3", "varchar(90)", "STRING", ("'Zoë 日本'", "Zoë 日本")),
    sample("varchar(30) CHARACTER SET utf16", "varchar(120)", "STRING", ("'Zoë 😀'", "Zoë 😀")),
    sample("varchar(30) CHARACTER SET ucs2", "varchar(60)", "STRING", ("'Zoë 日本'", "Zoë 日本")),
    sample("varchar(30) CHARACTER SET utf32", "varchar(120)", "STRING", ("'Zoë 😀'", "Zoë 😀")),
    sample("varchar(30) CHARACTER SET cp1251", "varchar(30)", "STRING", ("'Привет'", "Привет")),
    sample("varchar(30) CHARACTER SET gbk", "varchar(60)", "STRING", ("'中文'", "中文")),
    sample("varchar(300)", "varchar(1200)", "STRING", ("REPEAT('x', 300)", "x" * 300)),
    sample("varchar(64)", "varchar(256)", "STRING", *_TEXTS),
    sample("varchar(255) CHARACTER SET ascii", "varchar(255)", "STRING", ("REPEAT('x', 255)", "x" * 255)),
    sample("tinytext", "tinytext", "STRING", *_TEXTS),
    sample("text", "text", "STRING", *_TEXTS, ("REPEAT('😀', 5000)", "😀" * 5000)),
    sample("mediumtext", "mediumtext", "STRING", *_TEXTS, ("REPEAT('a', 70000)", "a" * 70000)),
    sample("longtext", "longtext", "STRING", *_TEXTS),
    sample("binary(4)", "binary(4)", "BYTES", ("x'AB00'", b64(b"\xab\0\0\0")), ("x'20'", b64(b" \0\0\0"))),
    sample("varbinary(30)", "varbinary(30)", "BYTES", *_BYTES),
    sample("varbinary(300)", "varbinary(300)", "BYTES", *_BYTES, ("REPEAT(x'00', 300)", b64(b"\0" * 300))),
    sample("tinyblob", "tinyblob", "BYTES", *_BYTES),
    sample("blob", "blob", "BYTES", *_BYTES),
    sample("mediumblob", "mediumblob", "BYTES", *_BYTES, ("REPEAT(x'FF', 70000)", b64(b"\xff" * 70000))),
    sample("longblob", "longblob", "BYTES", *_BYTES),
]  # fmt: skip

VALUES = ",".join(f"'v{number}'" for number in range(300))
CHOICES = [
    sample("enum('a','b''c','é,d','')", "enum(1)", "STRING", ("'a'", "a"), ("'b''c'", "b'c"), ("'é,d'", "é,d"), ("''", "")),
    sample("enum('x\\\\y','é') CHARACTER SET latin1", "enum(1)", "STRING", ("'é'", "é"), ("1", "x\\y"), ("'unknown'", "")),
    sample(f"enum({VALUES})", "enum(2)", "STRING", ("'v299'", "v299"), ("'v0'", "v0")),
    sample("set('x','é','z')", "set(1)", "STRING", ("'z,x'", "x,z"), ("''", ""), ("'é'", "é"), ("7", "x,é,z")),
    sample(
        f"set({','.join(f'{chr(39)}s{number}{chr(39)}' for number in range(64))})", "set(8)", "STRING",
        ("'s63,s0'", "s0,s63"), (str(2**64 - 1), ",".join(f"s{number}" for number in range(64))),
    ),
    sample(f"set({','.join(f'{chr(39)}s{number}{chr(39)}' for number in range(33))})", "set(8)", "STRING", ("'s32'", "s32")),
    sample(f"set({','.join(f'{chr(39)}s{number}{chr(39)}' for number in range(20))})", "set(3)", "STRING", ("'s19'", "s19")),
]  # fmt: skip


def shape(text: str) -> tuple[str, str]:
    return f"ST_GeomFromText('{text}')", text


GEOMETRIES = [
    sample("point", "point", "STRING", shape("POINT(1 -2.5)")),
    sample("linestring", "linestring", "STRING", shape("LINESTRING(0 0, 1 1)")),
    sample(
        "polygon", "polygon", "STRING",
        shape("POLYGON((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))"),
    ),
    sample("multipoint", "multipoint", "STRING", ("ST_GeomFromText('MULTIPOINT(0 0, 1 2)')", "MULTIPOINT((0 0), (1 2))")),
    sample("multilinestring", "multilinestring", "STRING", shape("MULTILINESTRING((0 0, 1 1), (2 2, 3 3))")),
    sample(
        "multipolygon", "multipolygon", "STRING",
        shape("MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))"),
    ),
    sample(
        "geometrycollection", "geometrycollection", "STRING",
        shape("GEOMETRYCOLLECTION(POINT(1 1), LINESTRING(0 0, 1 1))"),
    ),
]  # fmt: skip

_COMMON = [*NUMBERS, *TIMES, *TEXTS, *CHOICES, *GEOMETRIES]
SAMPLES = [
    *_COMMON,
    sample("varchar(30) COLLATE utf8mb4_uca1400_ai_ci", "varchar(120)", "STRING", *_TEXTS),
    sample("json", "longtext", "STRING", ("'{\"a\": [1, null, \"é\"]}'", '{"a": [1, null, "é"]}')),
    sample("uuid", "binary(16)", "BYTES", (f"'{UUID}'", b64(UUID.bytes))),
    sample("inet6", "binary(16)", "BYTES", ("'::1'", b64(b"\0" * 15 + b"\1"))),
    sample("inet4", "binary(4)", "BYTES", ("'10.0.0.0'", b64(b"\x0a\0\0\0"))),
    sample("geometry", "geometry", "STRING", ("ST_GeomFromText('POINT(1 2)', 4326)", "POINT(1 2)")),
]  # fmt: skip
"""MariaDB's."""

MYSQL_SAMPLES = [
    *_COMMON,
    sample("varchar(30) COLLATE utf8mb4_0900_ai_ci", "varchar(120)", "STRING", *_TEXTS),
    sample(
        "json", "json", "JSON",
        ("'{\"a\": [1, null, \"é\"], \"b\": true}'", '{"a": [1, null, "é"], "b": true}'),
        ("'[]'", "[]"), ("'7'", "7"), ("'null'", "null"), ("CONCAT('\"', REPEAT('x', 70000), '\"')", f'"{"x" * 70000}"'),
        ("JSON_ARRAY(0.1, -1e300, 18446744073709551615, -9223372036854775808)",
         "[0.1, -1e300, 18446744073709551615, -9223372036854775808]"),
        ("JSON_ARRAY(CAST(1.10 AS DECIMAL(30, 20)), x'00FF')", '[1.10000000000000000000, "base64:type15:AP8="]'),
        ("JSON_ARRAY(CAST('2020-01-02 03:04:05.6' AS DATETIME(6)), DATE '2020-01-02', TIME '-100:00:00.5')",
         '["2020-01-02 03:04:05.600000", "2020-01-02", "-100:00:00.500000"]'),
        ("JSON_OBJECT('a', REPEAT('y', 40000), 'b', REPEAT('z', 40000))", f'{{"a": "{"y" * 40000}", "b": "{"z" * 40000}"}}'),
    ),
    # MySQL reads the latitude first where the reference system is one of the earth.
    sample("geometry", "geometry", "STRING", ("ST_GeomFromText('POINT(2 1)', 4326)", "POINT(1 2)")),
    sample("point SRID 4326", "point", "STRING", ("ST_GeomFromText('POINT(2 1)', 4326)", "POINT(1 2)")),
]  # fmt: skip
