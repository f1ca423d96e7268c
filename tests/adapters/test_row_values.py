"""Values for the Storage Write API: exact, or refused with a reason that does not contain the value."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_write_api import Decoder, interval
from support.source_types import SAMPLES, Sample

from onefold.adapters.bigquery.proto_rows import ProtoRows
from onefold.adapters.bigquery.row_values import RowValues
from onefold.core.errors import InvalidRecord
from onefold.schema.columns import Column
from onefold.schema.types import parse_type


def written(type_: str, value: Any, name: str = "value") -> Any:
    """Return the value that BigQuery would read after a value was written."""
    columns = {name: parse_type(type_)}
    rows = ProtoRows([Column(column, parsed) for column, parsed in columns.items()])
    return Decoder(rows.descriptor, columns).row(rows.serialize({name: value}))[name]


def reason_of(type_: str, value: Any) -> str:
    with pytest.raises(InvalidRecord) as caught:
        RowValues({"value": parse_type(type_)}).convert({"value": value})
    (reason,) = caught.value.problems
    return reason


def expected_value(type_: str, landed: Any) -> Any:
    """Return the Python value of a published one, converted in another way than the library does."""
    if landed is None:
        return None
    match type_:
        case "NUMERIC" | "BIGNUMERIC":
            return Decimal(landed)
        case "BYTES":
            return base64.b64decode(landed)
        case "DATE":
            return date(*map(int, landed.split("-")))
        case "DATETIME" | "TIMESTAMP":
            return datetime.fromisoformat(landed)
        case "INTERVAL":
            return interval(landed)
        case _:
            return landed


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_every_value_that_capture_publishes_is_written_exactly(sample: Sample) -> None:
    for _, landed in sample.values:
        found = written(sample.bigquery, landed)
        assert (type(found), found) == (
            type(expected_value(sample.bigquery, landed)),
            expected_value(sample.bigquery, landed),
        )


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("BOOL", True, True),
        ("INT64", 2**63 - 1, 2**63 - 1),
        ("FLOAT64", 5, 5.0),
        ("FLOAT64", -0.0, -0.0),
        ("NUMERIC", 7, Decimal(7)),
        ("NUMERIC", "0.500000000000", Decimal("0.5")),
        ("NUMERIC", "-" + "9" * 29 + "." + "9" * 9, Decimal("-" + "9" * 29 + "." + "9" * 9)),
        (
            "BIGNUMERIC",
            str(2**255 - 1)[:39] + "." + str(2**255 - 1)[39:],
            Decimal(f"{str(2**255 - 1)[:39]}.{str(2**255 - 1)[39:]}"),
        ),
        ("DATE", "0001-01-01", date(1, 1, 1)),
        ("TIMESTAMP", "0001-01-01 00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("TIMESTAMP", "2024-02-29T03:04:05.1+02:00", datetime(2024, 2, 29, 1, 4, 5, 100_000, tzinfo=UTC)),
        ("TIMESTAMP", "9999-12-31 23:59:59.999999+00:00", datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        ("TIME", "23:59:59.999999", "23:59:59.999999"),
        ("INTERVAL", "-10000-0 -3660000 87840000:00:00", (-120_000, -3_660_000, timedelta(hours=87_840_000))),
        ("JSON", '{"a": [1, 18446744073709551615, "é"]}', '{"a": [1, 18446744073709551615, "é"]}'),
        ("GEOGRAPHY", "POINT(1 2)", "POINT(1 2)"),
        ("ARRAY<STRING>", ["a", ""], ["a", ""]),
        ("ARRAY<STRING>", [], None),
        ("STRUCT<a INT64, b ARRAY<DATE>>", {"b": ["2024-01-01"]}, {"a": None, "b": [date(2024, 1, 1)]}),
        ("STRING", "", ""),
        ("BYTES", "", b""),
    ],
)
def test_the_limits_of_each_type_can_be_written(type_: str, value: Any, expected: Any) -> None:
    assert written(type_, value) == expected


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("STRING", [1, True, ["a"], {"a": 1}, "\ud800", "a\udfffb"]),
        ("BYTES", ["a", "=", "YQ", "é", "YQ==\n", 1, ["YQ=="]]),
        ("BOOL", [0, 1, "yes", [], 0.0]),
        ("INT64", [2**63, -(2**63) - 1, 1.0, "1", True, [1], 10**300]),
        ("FLOAT64", ["1", True, 2**53 + 1, 10**400, float("inf"), float("-inf"), float("nan"), [1.0]]),
        ("NUMERIC", ["1" + "0" * 29, "0.0000000001", "", "1e3", "0x1", "NaN", "Infinity", " 1", "+1", "١", 1.5, True, "1."]),
        ("BIGNUMERIC", [str(2**255)[:39] + "." + str(2**255)[39:], "0." + "0" * 38 + "1", "1" * 200, "-1" + "0" * 39, None]),
        ("DATE", ["2023-02-29", "0000-01-01", "20240229", "2024-2-9", "2024-W01-1", "2024-02-29 ", 1, "٢٠٢٤-٠١-٠١"]),
        ("DATETIME", ["2024-02-30 00:00:00", "2024-02-28", "2024-02-28 24:00:00", "2024-02-28 03:04:05.1234567", 5,
                      "2024-02-28 03:04:05+00:00"]),
        ("TIMESTAMP", ["2024-02-28 03:04:05", "0001-01-01 00:00:00+01:00", "9999-12-31 23:59:59-01:00",
                       "2024-02-29 03:04:60Z", "2024-02-29 03:04:05+25:00", 1_700_000_000]),
        ("TIME", ["24:00:00", "838:59:59", "1:2:3", 5]),
        ("INTERVAL", ["838:59:58", "0-0 0 0:60:0", "0-0 0 0:0:60", "0-12 0 0:0:0", "10001-0 0 0:0:0", "0-0 3660001 0:0:0",
                      "0-0 0 87840000:00:01", "0-0 0 1:2:3.1234567", 5]),
        ("JSON", ["", "{", "NaN", "{'a': 1}", "[1,]", 1, {"a": 1}, "[" * 100_000, '"\ud800"', "Infinity"]),
        ("ARRAY<STRING>", ["a", [None], [1], {"a": 1}]),
        ("STRUCT<a INT64>", [[], "a", {"b": 1}, {"a": "x"}]),
        ("RANGE<DATE>", ["[2024-01-01, 2024-01-02)"]),
    ],
)  # fmt: skip
def test_a_value_that_a_type_cannot_hold_is_refused_without_the_value_in_the_reason(type_: str, values: list[Any]) -> None:
    for value in values:
        if value is None:
            continue
        reason = reason_of(type_, value)
        assert reason.startswith("column value: ")
        assert len(reason) < 200
        assert len(str(value)) < 3 or str(value) not in reason


def test_all_problems_of_a_row_are_reported_at_once() -> None:
    values = RowValues({"id": parse_type("INT64"), "born": parse_type("DATE")})
    with pytest.raises(InvalidRecord) as caught:
        values.convert({"id": "x", "born": "1970", "extra": 1, "more": None, "a" * 500: 1})
    problems = caught.value.problems
    assert [problem.partition(":")[0] for problem in problems][:4] == [
        "column id",
        "column born",
        "column 'extra'",
        "column 'more'",
    ]
    assert len(problems[4]) < 150


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**29) + 1, max_value=10**29 - 1, places=9))
def test_decimals_keep_all_their_digits(number: Decimal) -> None:
    assert written("NUMERIC", f"{number:f}") == number
    assert written("BIGNUMERIC", f"{number:f}") == number


@given(st.integers(-(2**255), 2**255 - 1))
def test_wide_decimals_keep_all_their_digits(scaled: int) -> None:
    digits = f"{abs(scaled):039}"
    text = f"{'-' if scaled < 0 else ''}{digits[:-38]}.{digits[-38:]}"
    assert written("BIGNUMERIC", text) == Decimal(text)


@given(st.datetimes(timezones=st.just(UTC)))
def test_points_in_time_are_exact_to_the_microsecond(moment: datetime) -> None:
    assert written("TIMESTAMP", moment.isoformat(" ")) == moment
    assert written("DATETIME", moment.replace(tzinfo=None).isoformat(" ")) == moment.replace(tzinfo=None)
    assert written("DATE", moment.date().isoformat()) == moment.date()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_keep_every_bit(number: float) -> None:
    assert repr(written("FLOAT64", json.loads(json.dumps(number)))) == repr(number)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.binary())
def test_texts_and_bytes_are_not_changed(text: str, data: bytes) -> None:
    assert written("STRING", text) == text
    assert written("BYTES", base64.b64encode(data).decode()) == data


@pytest.mark.parametrize(
    "name",
    [
        "größe",
        "日本",
        "a_b",
        "self",
        "class",
        "Row",
        "DESCRIPTOR",
        "ListFields",
        "SerializeToString",
        "_x",
        "a" * 300,
        "é" * 300,
    ],
)
def test_a_column_of_any_name_is_written(name: str) -> None:
    assert written("INT64", 7, name) == 7


def test_columns_with_similar_names_are_different_fields() -> None:
    names = ["a_b", "aB", "a__b", "größe", "grösse", "hex_6772"]
    columns = dict.fromkeys(names, parse_type("STRING"))
    rows = ProtoRows([Column(name, type_) for name, type_ in columns.items()])
    row = {name: f"in {name}" for name in names}
    assert Decoder(rows.descriptor, columns).row(rows.serialize(row)) == row
