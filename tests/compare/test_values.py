"""Single values: which are the same, which kind they have, and which text BigQuery makes of them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from dateutil.relativedelta import relativedelta
from hypothesis import given
from hypothesis import strategies as st
from support.zetasql_judge import Judge

from onefold.compare.values import equal, kind_of, plain, read_as, text_of

NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
NIGHT = datetime.datetime(2024, 1, 1)


def interval(**parts: int) -> relativedelta:
    """Return an interval as the client of BigQuery returns it."""
    return relativedelta(**parts)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (None, None),
        (1, Decimal("1.0")),
        (Decimal("1.10"), Decimal("1.1")),
        (0.1, Decimal("0.1")),
        (1e20, 10**20),
        (float("nan"), float("nan")),
        (-0.0, 0.0),
        (NOON, NOON.astimezone(datetime.timezone(datetime.timedelta(hours=2)))),
        ({"a": 1, "B": None}, {"A": 1, "b": None}),
        ({"a": 1}, {"a": 1, "b": None}),
        ([{"a": [1, 2]}], [{"a": [Decimal(1), 2]}]),
        ([], None),
        (b"\xff", b"\xff"),
    ],
)
def test_equal_values_are_equal_in_both_directions(left: Any, right: Any) -> None:
    assert equal(left, right)
    assert equal(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        (datetime.date(2024, 1, 1), NIGHT),
        (NIGHT, NIGHT.replace(tzinfo=datetime.UTC)),
        ("1", 1),
        ("1.5", Decimal("1.50")),
        ("1e+20", 1e20),
        ("true", True),
        ("2024-01-01", datetime.date(2024, 1, 1)),
        ("2024-01-01 12:00:00+00", NOON),
        ("2024-01-01 00:00:00", NIGHT),
        ("12:30:00.500", datetime.time(12, 30, 0, 500_000)),
        ("abc", b"abc"),
        ("/w==", b"\xff"),
        ('{"a":1.5,"b":[]}', {"b": [], "a": Decimal("1.5")}),
        ([1], 1),
    ],
)
def test_values_of_two_types_are_compared_in_their_least_common_type(left: Any, right: Any) -> None:
    assert equal(left, right)
    assert equal(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (None, ""),
        (None, 0),
        (None, {}),
        ("01", 1),
        ("1.0", 1),
        ("True", True),
        ("2024-01-01T12:00:00Z", NOON),
        (Decimal("9007199254740993"), Decimal("9007199254740992")),
        (9007199254740993, 9007199254740992.0),
        (0.1, Decimal("0.1000000000000000055")),
        (datetime.date(2024, 1, 1), NOON),
        (datetime.date(2024, 1, 1), 1),
        ({"a": 1}, {"a": 1, "b": 2}),
        ([1, 2], [2, 1]),
        ([1], [1, None]),
        ("é", "e\u0301"),
    ],
)
def test_different_values_are_different_in_both_directions(left: Any, right: Any) -> None:
    assert not equal(left, right)
    assert not equal(right, left)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("01", 1),
        ("1.50", Decimal("1.5")),
        ("1e2", 100.0),
        ("TRUE", True),
        ("0", False),
        ("2024-01-01T00:00:00", datetime.date(2024, 1, 1)),
        ("2024-01-01 12:00:00 UTC", NOON),
        ("2024-01-01T12:00:00Z", NOON),
        ("2024-01-01 13:00:00+01:00", NOON),
        ("2024-01-01 12:00:00", NOON),
        ("2024-01-01 12:00:00.0", NOON.replace(tzinfo=None)),
        ("12:30", datetime.time(12, 30)),
        ("YWJj", b"abc"),
        ("0-0 0 838:59:59", interval(days=34, hours=22, minutes=59, seconds=59)),
        (
            "-1-2 3 -4:05:06.5",
            interval(years=-1, months=-2, days=3, hours=-4, minutes=-5, seconds=-6, microseconds=-500_000),
        ),
        ('[{"a": "1.0"}]', [{"A": 1}]),
        ('{"a": 1}', {"a": 1, "b": None}),
    ],
)
def test_where_a_side_comes_as_text_it_is_read_as_the_type_of_the_other_value(text: str, value: Any) -> None:
    assert equal(text, value, as_text=True)
    assert equal(value, text, as_text=True)
    assert not equal(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x", 1),
        ("1_0", 10),
        ("2024", NOON),
        ("maybe", True),
        ("%", b""),
        ("a", ["b"]),
        ("[", {"a": 1}),
        ("x", None),
        ("1 day", interval(days=1)),
    ],
)
def test_text_that_is_not_a_value_of_the_other_type_differs(text: str, value: Any) -> None:
    assert not equal(text, value, as_text=True)


VALUES = [
    ("0.1", 0.1),
    ("0.1 + 0.2", 0.1 + 0.2),
    ("0.7 + 0.1", 0.7 + 0.1),
    ("1e15", 1e15),
    ("1.5e-7", 1.5e-7),
    ("-0.0", -0.0),
    ("CAST('-inf' AS FLOAT64)", float("-inf")),
    ("CAST('nan' AS FLOAT64)", float("nan")),
    ("NUMERIC '1.10'", Decimal("1.10")),
    ("BIGNUMERIC '1e30'", Decimal("1e30")),
    ("-5", -5),
    ("TRUE", True),
    ("b'caf\\xc3\\xa9'", b"caf\xc3\xa9"),
    ("DATE '0001-01-01'", datetime.date(1, 1, 1)),
    ("DATETIME '2024-01-01 12:00:00.5'", datetime.datetime(2024, 1, 1, 12, 0, 0, 500_000)),
    ("TIME '12:00:00.123456'", datetime.time(12, 0, 0, 123_456)),
]


@pytest.mark.parametrize(("sql", "value"), VALUES)
def test_the_text_of_a_value_is_what_bigquery_casts_it_to(judge: Judge, sql: str, value: Any) -> None:
    assert judge.rows(f"SELECT CAST({sql} AS STRING)") == [(text_of(value),)]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        *VALUES,
        ("TIMESTAMP '2024-01-01 12:00:00+00'", NOON),
        ("9007199254740993", 9007199254740993),
        ("1000000000000000", 10**15),
        ("NUMERIC '1000000000000000'", Decimal("1e15")),
        ("NUMERIC '1000000000000000000'", Decimal("1e18")),
        ("NUMERIC '100000000000000000000'", Decimal("1e20")),
        ("NUMERIC '1000000000000000.5'", Decimal("1000000000000000.5")),
        ("NUMERIC '0.00001'", Decimal("0.00001")),
        ("NUMERIC '123456789012345678.123456789'", Decimal("123456789012345678.123456789")),
        ("CAST(NULL AS STRING)", None),
        ("'é\"<\\n'", 'é"<\n'),
        ("[1, 2]", [1, 2]),
    ],
)
def test_the_text_of_a_struct_is_the_json_that_bigquery_writes(judge: Judge, sql: str, value: Any) -> None:
    query = f"SELECT TO_JSON_STRING(TO_JSON(STRUCT({sql} AS b, 1.0 AS A), stringify_wide_numbers => TRUE))"
    assert judge.rows(query) == [(text_of({"b": value, "A": 1.0}),)]


def test_a_number_with_a_huge_exponent_keeps_its_exponent() -> None:
    assert text_of(Decimal("1e999999")) == "1E+999999"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, ""),
        (True, "number"),
        (1, "number"),
        (1.5, "number"),
        (Decimal(1), "number"),
        (datetime.date(2024, 1, 1), "time"),
        (NOON, "time"),
        (datetime.time(12), "time of day"),
        ("a", "text"),
        (interval(hours=1), "interval"),
        (b"a", "bytes"),
        ({"a": 1}, "struct"),
        ([1], "array"),
        ((1,), "array"),
    ],
)
def test_each_value_has_a_kind(value: Any, kind: str) -> None:
    assert kind_of(value) == kind


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (True, 1, True),
        (1.0, Decimal(1), True),
        (0.1, Decimal("0.1"), True),
        (float("nan"), float("nan"), True),
        (Decimal("NaN"), float("nan"), True),
        (1, 2, False),
        (datetime.date(2024, 1, 1), NIGHT, True),
        (NIGHT, NIGHT.replace(tzinfo=datetime.UTC), True),
        (NIGHT, NOON, False),
        ([1, 2], (1, 2), True),
        ([1, 2], [2, 1], False),
        ({"a": 1, "B": None}, {"A": 1}, True),
        ({"a": {"b": [1]}}, {"a": {"b": [2]}}, False),
    ],
)
def test_keys_of_one_kind_are_hashable_and_equal_where_the_values_are(left: Any, right: Any, same: bool) -> None:
    assert (plain(left) == plain(right)) is same
    assert (len({plain(left), plain(right)}) == 1) is same


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1_0", "number"),
        ("", "number"),
        ("one", "number"),
        ("2024-13-01", "time"),
        ("25:00", "time of day"),
        ("YQ", "bytes"),
        ("é", "bytes"),
        ("{", "struct"),
        ("[1", "array"),
        ("a", "unknown"),
    ],
)
def test_text_that_is_not_of_a_kind_is_refused(text: str, kind: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 each reader has a message of its own
        read_as(text, kind)


def test_a_decimal_of_an_export_is_the_float_that_it_was_written_for() -> None:
    """Python and JavaScript write the fewest digits that read back, BigQuery 17 of them where 15 are not enough."""
    number, shortest = -584975689879932.25, Decimal("-584975689879932.2")
    assert [equal(number, shortest, as_text=as_text) for as_text in (True, False)] == [True, False]
    assert not equal(number, Decimal("-584975689879932.4"), as_text=True)


def test_numbers_in_json_text_are_read_exactly() -> None:
    assert read_as('{"a": 0.1000000000000000055}', "struct") == {"a": Decimal("0.1000000000000000055")}


@given(st.decimals(allow_nan=False, allow_infinity=False) | st.integers() | st.booleans())
def test_the_text_of_a_number_reads_back_as_the_same_number(number: Any) -> None:
    text = text_of(number)
    assert text is not None
    assert read_as(text, "number") == number


@given(st.floats())
def test_the_text_of_a_float_reads_back_as_the_same_float(number: float) -> None:
    text = text_of(number)
    assert text is not None
    assert float(text) == number or number != number


@given(st.datetimes(timezones=st.none() | st.just(datetime.UTC)))
def test_the_text_of_a_time_is_the_same_time(at: datetime.datetime) -> None:
    text = text_of(at)
    assert text is not None
    assert read_as(text, "time") == at
    assert equal(text, at, as_text=True)
