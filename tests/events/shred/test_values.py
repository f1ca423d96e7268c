"""The values of columns, rule by rule: what is written, and what a column cannot hold."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from onefold.events.shred.csv_values import csv_converter, csv_field
from onefold.events.shred.json_reader import Unreadable, read_json
from onefold.events.shred.parquet_values import parquet_converter
from onefold.events.shred.redshift_values import redshift_converter
from onefold.events.shred.values import DoesNotFit, decimal_number, shown
from onefold.schema.types import parse_type
from onefold.spark.shred.arrow_types import arrow_type, redshift_arrow_type

CSV: list[tuple[str, str, str | None]] = [
    ("SMALLINT", "32767", "32767"),
    ("SMALLINT", "32768", None),
    ("SMALLINT", "-32768", "-32768"),
    ("SMALLINT", "-32769", None),
    ("INT", "2147483648", None),
    ("INT", "1.0", "1"),
    ("INT", "1.5", None),
    ("BIGINT", "9223372036854775807", "9223372036854775807"),
    ("BIGINT", "9223372036854775808", None),
    ("BIGINT", "-9223372036854775808", "-9223372036854775808"),
    ("BIGINT", "-9223372036854775809", None),
    ("BIGINT", "9007199254740993.0", "9007199254740993"),
    ("BIGINT", "1e3", "1000"),
    ("BIGINT", "true", None),
    ("BIGINT", '"1"', None),
    ("DOUBLE PRECISION", "0.1", "0.1"),
    ("DOUBLE PRECISION", "9007199254740992", "9007199254740992.0"),
    ("DOUBLE PRECISION", "9007199254740993", None),
    ("DOUBLE PRECISION", "9007199254740994", "9007199254740994.0"),
    ("DOUBLE PRECISION", "18446744073709551617", None),
    ("DOUBLE PRECISION", "1e308", "1e+308"),
    ("DOUBLE PRECISION", "1e400", None),
    ("DOUBLE PRECISION", "-1e400", None),
    ("DOUBLE PRECISION", "0.1234567890123456789012", "0.12345678901234568"),
    ("DOUBLE PRECISION", '"NaN"', None),
    ("DECIMAL(36,2)", "0.1", "0.10"),
    ("DECIMAL(36,2)", "-5", "-5.00"),
    ("DECIMAL(36,2)", "0.125", None),
    ("DECIMAL(36,2)", "12345678901234567.89", "12345678901234567.89"),
    ("DECIMAL(36,2)", "9999999999999999999999999999999999.99", "9999999999999999999999999999999999.99"),
    ("DECIMAL(36,2)", "10000000000000000000000000000000000", None),
    ("DECIMAL(36,2)", "85532277509714.10", "85532277509714.10"),  # the double is nearer to .09
    ("DECIMAL(36,2)", "1.1000", "1.10"),
    ("DECIMAL(36,2)", "1.10000000000000000001", None),
    ("DECIMAL(36,2)", "0.0", "0.00"),
    ("DECIMAL(36,2)", "true", None),
    ("DECIMAL(36,2)", "1e-399", None),
    ("DECIMAL(5,2)", "999.99", "999.99"),
    ("DECIMAL(5,2)", "1000.0", None),
    ("DECIMAL(5,2)", "-1000.0", None),
    ("BOOLEAN", "true", "1"),
    ("BOOLEAN", "false", "0"),
    ("BOOLEAN", "1", None),
    ("DATE", '"2026-02-28"', "2026-02-28"),
    ("DATE", '"2026-02-29"', None),
    ("DATE", '"0000-01-01"', None),
    ("DATE", '"20260228"', None),
    ("DATE", '"2026-W08-6"', None),
    ("TIMESTAMP", '"2026-11-23T08:00:00Z"', "2026-11-23 08:00:00"),
    ("TIMESTAMP", '"2026-11-23T08:00:00.120Z"', "2026-11-23 08:00:00.120000"),
    ("TIMESTAMP", '"2026-11-23T00:30:00.5+01:00"', "2026-11-22 23:30:00.500000"),
    ("TIMESTAMP", '"2026-11-23T08:00:00.1234560000Z"', "2026-11-23 08:00:00.123456"),
    ("TIMESTAMP", '"2026-11-23T08:00:00.1234561Z"', None),
    ("TIMESTAMP", '"2026-11-23T08:00:60Z"', None),
    ("TIMESTAMP", '"2026-11-23T24:00:00Z"', None),
    ("TIMESTAMP", '"9999-12-31T23:59:59-00:01"', None),
    ("TIMESTAMP", '"0001-01-01T00:00:00+00:01"', None),
    ("TIMESTAMP", '"2026-W48-1T08:00:00Z"', None),
    ("TIMESTAMP", '"2026-11-23 08:00:00.123+01"', None),
    ("TIMESTAMP", "5", None),
    ("DECIMAL(8,2)", "999999.5", "999999.50"),
    ("DECIMAL(8,2)", "1234567.5", None),
    ("DECIMAL(2,2)", "0.5", "0.50"),
    ("DECIMAL(2,2)", "1.5", None),
    ("DECIMAL(36,2)", "1234567.5", "1234567.50"),
    ("VARCHAR(4)", '"äö"', "äö"),
    ("VARCHAR(4)", '"äöü"', None),
    ("VARCHAR(4)", '"abcde"', None),
    ("VARCHAR(4)", '"😀"', "😀"),
    ("VARCHAR(5)", "false", "false"),
    ("VARCHAR(4)", "false", None),
    ("VARCHAR(30)", "12345678901234567890", "12345678901234567890"),
    ("VARCHAR(30)", '{"a": [1, null, "é"]}', '"{""a"":[1,null,""é""]}"'),
    ("VARCHAR(32)", "[12345678901234567890123, 1e400]", "[12345678901234567890123,1E+400]"),
    ("VARCHAR(9)", '"a\\tb"', '"a\tb"'),
    ("VARCHAR(9)", '"a\\nb"', '"a\nb"'),
    ("VARCHAR(9)", '"a\\rb"', '"a\rb"'),
    ("VARCHAR(9)", '"a\\"b"', '"a""b"'),
    ("VARCHAR(9)", '"\\\\N"', r"\\N"),
    ("VARCHAR(9)", '"\\\\\\\\N"', r"\\\N"),
    ("VARCHAR(3)", '"\\\\N"', r"\\N"),
    ("VARCHAR(9)", '"\\\\Na"', r"\Na"),
    ("VARCHAR(9)", '""', ""),
    ("CHAR(3)", '"abc"', "abc"),
    ("CHAR(3)", '"ab"', "ab"),
    ("CHAR(3)", '"ab "', None),
    ("CHAR(3)", '"é"', None),
    ("CHAR(3)", '"abcd"', None),
    ("CHAR(3)", '"a\\"b"', '"a""b"'),
]
PARQUET: list[tuple[str, str, Any]] = [
    ("INT64", "9223372036854775807", 2**63 - 1),
    ("INT64", "9223372036854775808", None),
    ("INT64", "-9223372036854775809", None),
    ("INT64", "2.0", 2),
    ("FLOAT64", "2", 2.0),
    ("FLOAT64", "9007199254740993", None),
    ("FLOAT64", "1e400", None),
    ("NUMERIC", "0.1", Decimal("0.1")),
    ("NUMERIC", "0.123456789", Decimal("0.123456789")),
    ("NUMERIC", "0.1234567891", None),
    ("NUMERIC", "99999999999999999999999999999.999999999", Decimal("99999999999999999999999999999.999999999")),
    ("NUMERIC", "100000000000000000000000000000", None),
    ("BOOL", "true", True),
    ("BOOL", "0", None),
    ("DATE", '"1969-12-31"', -1),
    ("DATE", '"0000-12-31"', None),
    ("TIMESTAMP", '"1969-12-31T23:59:59.999999Z"', -1),
    ("TIMESTAMP", '"1970-01-01T02:00:00+01:00"', 3_600_000_000),
    ("TIMESTAMP", '"0000-12-31T00:00:00Z"', None),
    ("STRING", '"\\\\N\\t"', "\\N\t"),
    ("STRING", "[1.0, true]", "[1.0,true]"),
    ("STRING", "1", "1"),
]


@pytest.mark.parametrize(("type_", "source", "expected"), CSV)
def test_a_value_as_a_field_of_csv(type_: str, source: str, expected: str | None) -> None:
    _check(csv_converter(type_), source, expected)


@pytest.mark.parametrize(("type_", "source", "expected"), PARQUET)
def test_a_value_for_parquet(type_: str, source: str, expected: Any) -> None:
    _check(parquet_converter(type_), source, expected)


@pytest.mark.parametrize("type_", ["VARCHAR(2)", "CHAR(2)"])
def test_a_text_like_null_fits_into_csv_with_its_backslash_or_not_at_all(type_: str) -> None:
    with pytest.raises(DoesNotFit):
        csv_converter(type_)(r"\N")
    assert csv_converter(type_.replace("2", "3"))(r"\N") == r"\\N"


@pytest.mark.parametrize(("type_", "source", "expected"), CSV)
def test_a_value_of_redshift_in_parquet_is_that_of_csv(type_: str, source: str, expected: str | None) -> None:
    value, convert = read_json(source), redshift_converter(type_)
    if expected is None:
        with pytest.raises(DoesNotFit):
            convert(value)
        return
    (written,) = pa.array([convert(value)], redshift_arrow_type(type_)).to_pylist()
    if isinstance(written, datetime):
        assert written == datetime.fromisoformat(expected).replace(tzinfo=UTC)
    elif isinstance(written, str):
        assert csv_field(written) == expected
    else:
        read = {bool: lambda text: text == "1", date: date.fromisoformat}.get(type(written), type(written))
        assert written == read(expected)


def _check(convert: Any, source: str, expected: Any) -> None:
    value = read_json(source)
    if expected is None:
        with pytest.raises(DoesNotFit) as refused:
            convert(value)
        assert shown(value) in str(refused.value)
        return
    found = convert(value)
    assert (found, type(found)) == (expected, type(expected))


def test_the_deepest_value_is_written() -> None:
    text = "[" * 254 + "]" * 254
    assert csv_converter("VARCHAR(65535)")(read_json(text)) == text
    assert csv_converter("VARCHAR(65535)")(read_json(text.replace("[]", "[10000000000000000000000]"))).count("[") == 254


def test_the_zone_of_the_machine_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert csv_converter("TIMESTAMP")("2026-11-23T08:00:00+01:00") == "2026-11-23 07:00:00"
    time.tzset()


@pytest.mark.parametrize("type_", ["NUMERIC", "ARRAY<NUMERIC>"])
def test_zeros_at_the_end_of_a_number_are_no_digits_of_a_column(type_: str) -> None:
    value: Any = parquet_converter("NUMERIC")(read_json("12345678901234567.8900000000000000000000000000"))
    value = [value] if type_ != "NUMERIC" else value
    (written,) = pa.array([value], arrow_type(parse_type(type_))).to_pylist()
    assert written == ([Decimal("12345678901234567.89")] if type_ != "NUMERIC" else Decimal("12345678901234567.89"))


def test_a_field_without_special_characters_is_as_it_is() -> None:
    assert csv_field(" a, b; \\ \u2028 ") == " a, b; \\ \u2028 "


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' stands twice in one object"),
        ('{"a":1,"a":1}', "the key 'a' stands twice"),
        ('{"b":{"a":1,"\\u0061":2}}', "the key 'a' stands twice"),
        ('{"a" :1, "a" :2, "b" : "\\u0022:"}', "the key 'a' stands twice"),
        ('{"x":"\\u0022\\u003a","a":1,"a":2}', "the key 'a' stands twice"),
        ('{"x":"\\u0022:","a":1,"a":2}', "the key 'a' stands twice"),
        ('{"a":1,"a":2,"b" :3}', "the key 'a' stands twice"),
        ('{"a":1,"a":2,"b"\t:3}', "the key 'a' stands twice"),
        ("[NaN]", "NaN is not a number of JSON"),
        ("[-Infinity]", "-Infinity is not a number of JSON"),
        ("1e999", "is too large or too small"),
        ("1e9999999999999999999999", "is too large or too small"),
        ("1" * 101, "has more than 100 characters"),
        ('"\\ud800"', "half a surrogate pair"),
        ('"\ud800"', "half a surrogate pair"),
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[1] 2", "not JSON"),
        ("[" * 255 + "]" * 255, "nested deeper than 254 levels"),
        ("[" * 900 + "]" * 900, "nested deeper than 254 levels"),
        ("[" * 100_000, "nested deeper than 254 levels"),
    ],
)
def test_a_text_that_two_readers_could_read_differently_is_refused(text: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18446744073709551616", 2**64),
        ("-9223372036854775809", -(2**63) - 1),
        ("[0.1, 1.0, -0.0]", [0.1, 1.0, -0.0]),
        ("12345678901234567.89", Decimal("12345678901234567.89")),
        ('["0.12345678901234567890",0.12345678901234567890]', ["0.12345678901234567890", Decimal("0.12345678901234567890")]),
        ('{"a":0.8444218515250481,"b":"0.8444218515250481"}', {"a": 0.8444218515250481, "b": "0.8444218515250481"}),
        ('{"a" : "b\\":", "c":{"a":1}}', {"a": 'b":', "c": {"a": 1}}),
        ('"\\ud83d\\ude00"', "😀"),
        ("1.23456789e-320", Decimal("1.23456789E-320")),
        ("[1e-400,0.01e2]", [Decimal("1E-400"), 1.0]),
    ],
)
def test_json_is_read_exactly(text: str, value: Any) -> None:
    found = read_json(text)
    assert found == value
    assert repr(found) == repr(value)


@pytest.mark.parametrize(
    ("value", "digits", "scale", "problem"),
    [
        (1234.5, 3, 2, "1234.5 has more than 3 digits before or 2 after the point"),
        (1.125, 3, 2, "1.125 has more than 3 digits before or 2 after the point"),
        ("7", 3, 2, '"7" is not a number'),
        (True, 3, 2, "true is not a number"),
        (float("inf"), 3, 2, "inf is not a finite number"),
        (float("nan"), 3, 2, "nan is not a finite number"),
    ],
)
def test_a_number_that_does_not_fit_is_named(value: object, digits: int, scale: int, problem: str) -> None:
    with pytest.raises(DoesNotFit) as refused:
        decimal_number(value, digits, scale)
    assert str(refused.value) == problem
