"""Two sides, row by row: what counts as the same value, and what is told of rows that differ."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from onefold.compare import Difference, Row, compare_rows, equal
from onefold.errors import InvalidInput

NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (None, None),
        (1, Decimal("1.0")),
        (Decimal("1.10"), Decimal("1.1")),
        (0.1, Decimal("0.1")),
        (float("nan"), float("nan")),
        (NOON, NOON.astimezone(datetime.timezone(datetime.timedelta(hours=2)))),
        ({"a": 1, "B": None}, {"A": 1, "b": None}),
        ([{"a": [1, 2]}], [{"a": [Decimal(1), 2]}]),
        (b"\xff", b"\xff"),
    ],
)
def test_the_same_values(left: Any, right: Any) -> None:
    assert equal(left, right)
    assert equal(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (None, ""),
        (None, 0),
        (True, 1),
        ("1", 1),
        (Decimal("9007199254740993"), Decimal("9007199254740992")),
        (0.1, Decimal("0.1000000000000000055")),
        (datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1)),
        (NOON, NOON.replace(tzinfo=None)),
        ({"a": 1}, {"a": 1, "b": None}),
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
        ("1", 1),
        ("1.50", Decimal("1.5")),
        ("1e2", 100.0),
        ("true", True),
        ("0", False),
        ("2024-01-01", datetime.date(2024, 1, 1)),
        ("2024-01-01 12:00:00 UTC", NOON),
        ("2024-01-01T12:00:00Z", NOON),
        ("2024-01-01 12:00:00", NOON),
        ("2024-01-01 12:00:00", NOON.replace(tzinfo=None)),
        ("12:30:00", datetime.time(12, 30)),
        ("/w==", b"\xff"),
        ("", None),
    ],
)
def test_text_stands_for_a_value_where_a_side_is_text(text: str, value: Any) -> None:
    assert equal(text, value, as_text=True)
    assert not equal(text, value)


@pytest.mark.parametrize(
    ("text", "value"), [("x", 1), ("2024", NOON), ("maybe", True), ("%", b""), ("a", ["a"]), ("x", None)]
)
def test_text_that_is_no_such_value_differs(text: str, value: Any) -> None:
    assert not equal(text, value, as_text=True)


def test_the_same_rows_in_another_order_are_the_same() -> None:
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


def test_a_key_that_comes_twice_is_told() -> None:
    found = compare_rows([{"id": 1}, {"id": 1}], [{"id": 1}], ["id"])
    assert found.repeated_left == [(1,)]
    assert not found.same


def test_columns_of_one_side_are_told() -> None:
    found = compare_rows([{"id": 1, "old": 1}], [{"id": 1, "new": 1}], ["id"])
    assert (found.columns_only_left, found.columns_only_right) == (("old",), ("new",))
    assert not found.same


def test_keys_of_a_text_side_meet_those_of_the_other() -> None:
    found = compare_rows([{"id": "01", "a": "1.0"}], [{"id": 1, "a": 1}], ["id"], as_text=True)
    assert found.same


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
    assert len(raised.value.faults) == 2
    with pytest.raises(InvalidInput, match="name the columns"):
        compare_rows([{"id": 1}], [{"id": 1}], [])
