"""The columns of a table and those of rows. A type is a digit here, which holds every lower one, or X, which holds X."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest

from onefold.schema.table_columns import Columns, Gap, GapKind, after, contains, differences, gaps, union


def columns(text: str) -> Columns:
    """`a1 b2`: a column `a` of type 1, and `b` of type 2."""
    return tuple((word[0], word[1]) for word in text.split())


def grown(found: str, wanted: str) -> str | None:
    return max(found, wanted) if (found + wanted).isdigit() else None


@pytest.mark.parametrize(
    ("found", "wanted", "expected"),
    [
        ("a1 b1", "a1 b1", []),
        ("a2", "a1", []),
        ("aX", "aX", []),
        ("", "a1", [Gap("added", "a", "", "1")]),
        ("a1", "a1 b1 c2", [Gap("added", "b", "", "1"), Gap("added", "c", "", "2")]),
        ("a1", "a2", [Gap("grown", "a", "1", "2")]),
        ("a1 b1", "aX b2", [Gap("unfit", "a", "1", "X"), Gap("grown", "b", "1", "2")]),
        ("a1 c1", "a1 b2 c1", [Gap("missing", "b", "", "2")]),
        ("a1 b2", "a1", [Gap("unknown", "b", "2")]),
        ("a1 x2 b1", "a1 b1", [Gap("between", "x", "2")]),
        ("a1 x2", "a1 b1", [Gap("added", "b", "", "1"), Gap("between", "x", "2")]),
        ("a1 c1", "b1 c1 d1", [Gap("missing", "b", "", "1"), Gap("added", "d", "", "1"), Gap("between", "a", "1")]),
        ("a1 b2 c1", "b2 a1 c1", [Gap("moved", "b", "2", "2"), Gap("moved", "a", "1", "1")]),
    ],
)  # fmt: skip
def test_a_table_grows_at_its_end_only(found: str, wanted: str, expected: list[Gap]) -> None:
    assert gaps(columns(found), columns(wanted), grown) == expected


SENTENCES: dict[GapKind, str] = {
    "unfit": "column a: it is 1 and cannot hold 2, and the type cannot be changed in place",
    "missing": "column a: 2 is missing, and a column can only be added behind all others",
    "between": "column a: 1 is where another column belongs",
    "moved": "column a: it is not at its place",
}


@pytest.mark.parametrize("kind", get_args(GapKind))
def test_rows_are_refused_with_a_sentence_where_the_table_cannot_be_changed_in_place(kind: GapKind) -> None:
    gap = Gap(kind, "a", "1", "2")
    assert gap.is_refused == (kind in SENTENCES)
    assert str(gap) == SENTENCES.get(kind, f"column a: {kind}")


def test_a_table_has_its_own_columns_and_the_added_ones_behind_them() -> None:
    several = [
        Gap("added", "c", "", "1"),
        Gap("grown", "a", "1", "2"),
        Gap("missing", "d", "", "1"),
        Gap("unfit", "b", "1", "X"),
    ]
    assert after(columns("a1 b1"), several) == columns("a2 b1 c1")


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([], ""),
        (["a1"], "a1"),
        (["a1 b1", "a2", ""], "a2 b1"),
        (["a1 b1", "a1 b1 cX", "a1 b2"], "a1 b2 cX"),
        (["a1", "b1"], None),
        (["a1", "aX"], None),
        (["a1 b1", "aX b1", "a1"], None),
        (["a1 b1", "a1 c1"], None),
    ],
)
def test_the_union_of_the_states_of_a_table_does_not_depend_on_their_order(states: list[str], expected: str | None) -> None:
    for some in itertools.permutations(map(columns, states)):
        assert union(some, grown) == (None if expected is None else columns(expected))


def test_a_rule_may_know_only_one_direction_of_a_growth() -> None:
    rule = {("1", "2"): "2"}
    assert union([columns("a2"), columns("a1")], lambda one, other: rule.get((one, other))) == columns("a2")


@pytest.mark.parametrize(
    ("more", "less", "expected"),
    [("a2 b1", "a1", True), ("a1", "a1", True), ("a1", "a1 b1", False), ("a1", "a2", False), ("a1", "b1", False)],
)
def test_columns_contain_those_that_they_hold_the_rows_of(more: str, less: str, expected: bool) -> None:
    assert contains(columns(more), columns(less), grown) == expected


@pytest.mark.parametrize(
    ("found", "least", "expected"),
    [
        ("a1 b1", "a1 b1", []),
        ("a2 b1 c1", "a1 b1", []),
        ("a2 b1", "a2", []),
        ("", "", []),
        ("a1", "a1 b1", ["column b 1 is missing"]),
        ("a1 c1", "a1", ["column b 1 is missing"]),
        ("a1 b1 x9", "a1", ["column x 9 is in the table alone"]),
        ("a9", "a1", ["column a: expected 2, got 9"]),
        ("aX", "a1", ["column a: expected 2, got X"]),
        ("a1 b1", "a2", ["column a: expected 2, got 1"]),
        ("a1 c1 b1", "a1", ["the order: expected b, c, got c, b"]),
        ("x1 c9", "a1", ["column a 2 is missing", "column b 1 is missing", "column x 1 is in the table alone",
                        "column c: expected 1, got 9"]),
    ],
)  # fmt: skip
def test_all_differences_from_what_a_table_may_have_and_surely_had_are_named(
    found: str, least: str, expected: list[str]
) -> None:
    assert differences(columns("a2 b1 c1"), columns(found), columns(least), grown) == expected
