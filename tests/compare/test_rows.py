"""Two sets of rows: which rows and values differ, and what is reported of them."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from onefold.compare.findings import Difference, Finding, Row, findings
from onefold.compare.rows import compare_rows
from onefold.core.errors import InvalidInput

NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
NIGHT = datetime.datetime(2024, 1, 1)


def test_the_same_rows_in_another_order_are_the_same() -> None:
    left: list[Row] = [{"id": 1, "Name": "a"}, {"id": None, "Name": None}]
    assert compare_rows(left, [{"name": None, "ID": None}, {"name": "a", "ID": Decimal(1)}], ["id"]).same


def test_a_difference_has_its_column_and_both_values() -> None:
    left: list[Row] = [{"id": 1, "a": 1, "b": None}, {"id": 2, "a": 2, "b": 2}]
    found = compare_rows(left, [{"id": 1, "a": 1, "b": 0}, {"id": 3, "a": 2, "b": 2}], ["id"])
    assert not found.same
    assert found.differences == [Difference((1,), "b", None, 0)]
    assert (found.only_left, found.only_right) == ([(2,)], [(3,)])
    assert (found.left_rows, found.right_rows) == (2, 2)


def test_a_key_may_have_several_columns_and_null() -> None:
    rows: list[Row] = [{"tenant": "a", "id": 1}, {"tenant": "a", "id": None}, {"tenant": None, "id": 1}]
    assert compare_rows(rows, rows, ["tenant", "id"]).same


def test_a_repeated_key_is_reported_once_and_its_values_are_not_compared() -> None:
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


PACKED: list[Row] = [
    {**{name: value for name, value in row.items() if name != "_position"}, "_packed_position": bytes([number])}
    for number, row in enumerate(BASE)
]


@pytest.mark.parametrize("base", [BASE, PACKED], ids=["positions as text", "packed positions"])
def test_a_base_is_compared_with_a_table_without_its_own_columns_and_tombstones(base: list[Row]) -> None:
    table: list[Row] = [{"ID": 1, "Name": "a"}, {"ID": 3, "Name": "c"}]
    assert compare_rows(base, table, ["id"]).same
    found = compare_rows(table, base, ["id"])
    assert found.same
    assert (found.left_rows, found.right_rows) == (2, 2)


def test_two_bases_are_compared_without_positions_where_one_has_them_as_text_and_one_as_bytes() -> None:
    found = compare_rows(BASE, PACKED, ["id"])
    assert (found.same, found.left_rows, found.right_rows) == (True, 3, 3)
    other = [dict(row) for row in PACKED]
    other[1]["_packed_position"] = b"?"
    assert not compare_rows(PACKED, other, ["id"]).same


def test_two_bases_are_compared_with_all_their_columns() -> None:
    other = [dict(row) for row in BASE]
    other[1]["_position"] = "2 3"
    assert compare_rows(BASE, other, ["id"]).differences == [Difference((2,), "_position", "2 2", "2 3")]


def test_two_bases_without_their_own_columns_keep_the_rows_of_deleted_keys() -> None:
    found = compare_rows(BASE, BASE[:1], ["id"], without=["_position", "_deleted"])
    assert found.only_left == [(2,), (3,)]


def test_tombstones_of_a_base_that_comes_as_text_are_left_out_too() -> None:
    exported = [{name: str(value).lower() for name, value in row.items()} for row in BASE[:2]]
    assert compare_rows(exported, [{"id": "1", "name": "a"}], ["id"], as_text=True).same


def test_columns_that_are_left_out_are_not_compared() -> None:
    left: list[Row] = [{"id": 1, "seen": 1, "old": 1}]
    assert compare_rows(left, [{"id": 1, "Seen": 2}], ["id"], without=["SEEN", "old"]).same


def test_the_values_of_findings_are_text() -> None:
    left: list[Row] = [{"id": 1, "at": NOON}, {"id": None, "at": None}]
    found = compare_rows(left, [{"id": 1, "at": None}], ["id"])
    only, different = findings(found, ["id"])
    assert only == Finding("only left", {"id": None})
    assert different == Finding("different", {"id": "1"}, "at", "2024-01-01 12:00:00+00", None)
    assert different.as_row()["key"] == '{"id":"1"}'


def test_columns_of_only_one_side_are_reported() -> None:
    found = compare_rows([{"id": 1, "old": 1}], [{"id": 1, "new": 1}], ["id"])
    assert (found.columns_only_left, found.columns_only_right) == (("old",), ("new",))
    assert not found.same


def test_keys_that_come_as_text_equal_those_of_the_other_side() -> None:
    found = compare_rows([{"id": "01", "a": "1.0"}], [{"id": 1, "a": 1}], ["id"], as_text=True)
    assert found.same


def test_keys_of_two_types_are_compared_in_their_least_common_type() -> None:
    found = compare_rows([{"id": "1"}, {"id": "01"}, {"id": "x"}], [{"id": 1}], ["id"])
    assert (found.only_left, found.only_right) == ([("01",), ("x",)], [])
    assert compare_rows([{"day": datetime.date(2024, 1, 1)}], [{"day": NIGHT}], ["day"]).same


def test_times_that_come_as_text_are_the_same_key_in_any_spelling() -> None:
    assert compare_rows([{"at": "2024-01-01T12:00:00Z"}], [{"at": NOON}], ["at"], as_text=True).same


def test_different_texts_on_both_sides_are_different_keys() -> None:
    rows: list[Row] = [{"id": "01"}, {"id": "1"}]
    assert compare_rows(rows, rows, ["id"], as_text=True).same


def test_text_that_is_not_a_number_does_not_equal_a_number_as_a_key() -> None:
    found = compare_rows([{"id": "x"}, {"id": "nan"}], [{"id": 1}, {"id": float("nan")}], ["id"], as_text=True)
    assert (found.only_left, found.only_right) == ([("x",)], [(1,)])


def test_a_side_without_rows_lacks_rows_but_no_columns() -> None:
    found = compare_rows([], [{"id": 1}], ["id"])
    assert found.only_right == [(1,)]
    assert found.columns_only_right == ()


def test_a_key_that_is_not_a_column_is_an_error_for_each_side() -> None:
    with pytest.raises(InvalidInput) as raised:
        compare_rows([{"id": 1}], [{"key": 1}], ["number"])
    assert len(raised.value.problems) == 2
    with pytest.raises(InvalidInput, match="name the columns"):
        compare_rows([{"id": 1}], [{"id": 1}], [])


def test_all_problems_of_keys_and_columns_to_leave_out_are_reported_at_once() -> None:
    with pytest.raises(InvalidInput) as raised:
        compare_rows([{"id": 1}], [{"id": 1}], ["id", "ID"], without=["id", "nothing"])
    assert raised.value.problems == (
        "neither side has a column nothing to leave out",
        "id is a column of the key, and cannot be left out",
        "the key names id twice",
    )
