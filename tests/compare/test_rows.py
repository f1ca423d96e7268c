"""Two sides, row by row: what counts as the same value, and what is told of rows that differ."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from support.zetasql_judge import Judge

from onefold.compare.findings import Difference, Finding, Row, findings
from onefold.compare.rows import compare_rows
from onefold.compare.values import equal, text_of
from onefold.core.errors import InvalidInput

NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
NIGHT = datetime.datetime(2024, 1, 1)


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
def test_the_same_values(left: Any, right: Any) -> None:
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
def test_values_of_two_types_are_compared_in_the_least_common_one(left: Any, right: Any) -> None:
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
def test_different_values(left: Any, right: Any) -> None:
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
        ('[{"a": "1.0"}]', [{"A": 1}]),
        ('{"a": 1}', {"a": 1, "b": None}),
    ],
)
def test_where_a_side_is_text_it_is_read_as_the_other_type(text: str, value: Any) -> None:
    assert equal(text, value, as_text=True)
    assert equal(value, text, as_text=True)
    assert not equal(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("x", 1), ("1_0", 10), ("2024", NOON), ("maybe", True), ("%", b""), ("a", ["b"]), ("[", {"a": 1}), ("x", None)],
)
def test_text_that_is_no_such_value_differs(text: str, value: Any) -> None:
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
def test_a_value_is_written_as_bigquery_writes_it(judge: Judge, sql: str, value: Any) -> None:
    assert judge.rows(f"SELECT CAST({sql} AS STRING)") == [(text_of(value),)]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        *VALUES,
        ("TIMESTAMP '2024-01-01 12:00:00+00'", NOON),
        ("9007199254740993", 9007199254740993),
        ("NUMERIC '123456789012345678.123456789'", Decimal("123456789012345678.123456789")),
        ("CAST(NULL AS STRING)", None),
        ("'é\"<\\n'", 'é"<\n'),
        ("[1, 2]", [1, 2]),
    ],
)
def test_a_struct_is_written_as_json(judge: Judge, sql: str, value: Any) -> None:
    query = f"SELECT TO_JSON_STRING(TO_JSON(STRUCT({sql} AS b, 1.0 AS A), stringify_wide_numbers => TRUE))"
    assert judge.rows(query) == [(text_of({"b": value, "A": 1.0}),)]


def test_a_number_of_any_size_is_written_at_once() -> None:
    assert text_of(Decimal("1e999999")) == "1E+999999"


def test_equal_rows_in_another_order_are_equal() -> None:
    left: list[Row] = [{"id": 1, "Name": "a"}, {"id": None, "Name": None}]
    assert compare_rows(left, [{"name": None, "ID": None}, {"name": "a", "ID": Decimal(1)}], ["id"]).same


def test_what_differs_is_told_with_column_and_both_values() -> None:
    left: list[Row] = [{"id": 1, "a": 1, "b": None}, {"id": 2, "a": 2, "b": 2}]
    found = compare_rows(left, [{"id": 1, "a": 1, "b": 0}, {"id": 3, "a": 2, "b": 2}], ["id"])
    assert not found.same
    assert found.differences == [Difference((1,), "b", None, 0)]
    assert (found.only_left, found.only_right) == ([(2,)], [(3,)])
    assert (found.left_rows, found.right_rows) == (2, 2)


def test_keys_of_several_columns_and_null_are_keys() -> None:
    rows: list[Row] = [{"tenant": "a", "id": 1}, {"tenant": "a", "id": None}, {"tenant": None, "id": 1}]
    assert compare_rows(rows, rows, ["tenant", "id"]).same


def test_a_key_that_comes_again_is_told_once_and_its_values_are_not_compared() -> None:
    left: list[Row] = [{"id": 1, "a": 1}, {"id": 1, "a": 2}, {"id": 1, "a": 3}, {"id": 2, "a": 1}]
    found = compare_rows(left, [{"id": 1, "a": 4}], ["id"])
    assert (found.repeated_left, found.repeated_right, found.differences) == ([(1,)], [], [])
    assert found.only_left == [(2,)]
    assert compare_rows(left[:3], left[:1], ["id"]).summary.counts["repeated left"] == 1


BASE: list[Row] = [
    {"id": 1, "name": "a", "_position": "2 1", "_deleted": False},
    {"id": 2, "name": None, "_position": "2 2", "_deleted": True},
    {"id": 3, "name": "c", "_position": None, "_deleted": None},
]


def test_a_base_meets_a_table_as_people_read_it() -> None:
    table: list[Row] = [{"ID": 1, "Name": "a"}, {"ID": 3, "Name": "c"}]
    assert compare_rows(BASE, table, ["id"]).same
    found = compare_rows(table, BASE, ["id"])
    assert found.same
    assert (found.left_rows, found.right_rows) == (2, 2)


def test_two_bases_are_compared_whole() -> None:
    other = [dict(row) for row in BASE]
    other[1]["_position"] = "2 3"
    assert compare_rows(BASE, other, ["id"]).differences == [Difference((2,), "_position", "2 2", "2 3")]


def test_two_bases_without_their_own_columns_keep_the_rows_of_deleted_keys() -> None:
    found = compare_rows(BASE, BASE[:1], ["id"], without=["_position", "_deleted"])
    assert found.only_left == [(2,), (3,)]


def test_a_base_of_text_tells_its_tombstones_too() -> None:
    exported = [{name: str(value).lower() for name, value in row.items()} for row in BASE[:2]]
    assert compare_rows(exported, [{"id": "1", "name": "a"}], ["id"], as_text=True).same


def test_columns_that_are_left_out_are_not_compared() -> None:
    left: list[Row] = [{"id": 1, "seen": 1, "old": 1}]
    assert compare_rows(left, [{"id": 1, "Seen": 2}], ["id"], without=["SEEN", "old"]).same


def test_findings_are_text() -> None:
    left: list[Row] = [{"id": 1, "at": NOON}, {"id": None, "at": None}]
    found = compare_rows(left, [{"id": 1, "at": None}], ["id"])
    only, different = findings(found, ["id"])
    assert only == Finding("only left", {"id": None})
    assert different == Finding("different", {"id": "1"}, "at", "2024-01-01 12:00:00+00", None)
    assert different.as_row()["key"] == '{"id":"1"}'


def test_columns_of_one_side_are_told() -> None:
    found = compare_rows([{"id": 1, "old": 1}], [{"id": 1, "new": 1}], ["id"])
    assert (found.columns_only_left, found.columns_only_right) == (("old",), ("new",))
    assert not found.same


def test_keys_of_a_text_side_meet_those_of_the_other() -> None:
    found = compare_rows([{"id": "01", "a": "1.0"}], [{"id": 1, "a": 1}], ["id"], as_text=True)
    assert found.same


def test_keys_of_two_types_meet_in_the_least_common_one() -> None:
    found = compare_rows([{"id": "1"}, {"id": "01"}, {"id": "x"}], [{"id": 1}], ["id"])
    assert (found.only_left, found.only_right) == ([("01",), ("x",)], [])
    assert compare_rows([{"day": datetime.date(2024, 1, 1)}], [{"day": NIGHT}], ["day"]).same


def test_times_of_a_text_side_are_keys_whatever_their_spelling() -> None:
    assert compare_rows([{"at": "2024-01-01T12:00:00Z"}], [{"at": NOON}], ["at"], as_text=True).same


def test_keys_that_are_text_on_both_sides_stay_apart() -> None:
    rows: list[Row] = [{"id": "01"}, {"id": "1"}]
    assert compare_rows(rows, rows, ["id"], as_text=True).same


def test_a_key_that_is_no_number_is_a_key_of_its_own() -> None:
    found = compare_rows([{"id": "x"}, {"id": "nan"}], [{"id": 1}, {"id": float("nan")}], ["id"], as_text=True)
    assert (found.only_left, found.only_right) == ([("x",)], [(1,)])


def test_an_empty_side_lacks_rows_not_columns() -> None:
    found = compare_rows([], [{"id": 1}], ["id"])
    assert found.only_right == [(1,)]
    assert found.columns_only_right == ()


def test_a_key_that_is_no_column_is_told_for_both_sides() -> None:
    with pytest.raises(InvalidInput) as raised:
        compare_rows([{"id": 1}], [{"key": 1}], ["number"])
    assert len(raised.value.problems) == 2
    with pytest.raises(InvalidInput, match="name the columns"):
        compare_rows([{"id": 1}], [{"id": 1}], [])


def test_what_is_named_and_makes_no_sense_is_told_all_at_once() -> None:
    with pytest.raises(InvalidInput) as raised:
        compare_rows([{"id": 1}], [{"id": 1}], ["id", "ID"], without=["id", "nothing"])
    assert raised.value.problems == (
        "neither side has a column nothing to leave out",
        "id is a column of the key, and cannot be left out",
        "the key names id twice",
    )
