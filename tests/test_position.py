"""Positions sort as the source ordered its changes, and are the same text in Python and in GoogleSQL."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import Judge

from onefold.names import quote_text
from onefold.position import Position, position_sql

SEQUENCES = [
    (None, "mysql-bin.1"),
    ("mysql-bin.999999", "mysql-bin.1000000"),
    ("mysql-bin.000003/9", "mysql-bin.000003/10"),
    ("zzz", "0"),
    ("", "0"),
    ("B", "ABC"),
    ("b", "ABC"),
    ("FFF/B", "FFF/ABC"),
    ("BA/FFFFFFFF", "ABC"),
    ("9", "10"),
    ("A", "A/0"),
    ("1/2/3/FFFFFFFFFFFFFFFF", "1/2/4/0"),
    ("1/2/3/4/5", "0"),
]

NUMBERS = ["-10", "-9.5", "-9.25", "-1", "0", "0.5", "0.75", "1", "9", "10", "123456789012345678901", "a", "a9", "a10"]


@pytest.mark.parametrize(("lower", "higher"), SEQUENCES)
def test_a_lower_sequence_has_a_lower_position(lower: str | None, higher: str) -> None:
    assert str(Position(lower, 9, ("9",))) < str(Position(higher, 1, ("1",)))


@pytest.mark.parametrize(("lower", "higher"), list(itertools.pairwise([None, -(2**63), -2, -1, 0, 9, 10, 2**63 - 1])))
def test_of_one_sequence_the_earlier_time_is_lower(lower: int | None, higher: int) -> None:
    assert str(Position("A", lower, ("9",))) < str(Position("A", higher, ("1",)))


@pytest.mark.parametrize(("lower", "higher"), list(itertools.pairwise([None, *NUMBERS])))
def test_sort_keys_are_compared_one_after_the_other_and_numbers_as_numbers(lower: str | None, higher: str) -> None:
    assert str(Position("A", 1, ("x", lower, "9"))) < str(Position("A", 1, ("x", higher, "1")))


def test_fewer_sort_keys_are_lower_than_more() -> None:
    assert str(Position("A", 1, ("x",))) < str(Position("A", 1, ("x", None)))


def test_a_deletion_comes_before_an_upsert_of_the_same_place() -> None:
    assert str(Position("A", 1, ("x",), deleted=True, tie_break="z")) < str(Position("A", 1, ("x",), tie_break="a"))


def test_the_tie_break_decides_last() -> None:
    assert str(Position("A", 1, tie_break="a")) < str(Position("A", 1, tie_break="b"))


texts = st.text(st.characters(codec="utf-8"), max_size=12)
sequences = st.none() | texts | st.from_regex(r"[0-9A-Fa-f]{1,16}(/[0-9A-Fa-f]{1,16}){0,3}", fullmatch=True)
numbers = st.integers(-(10**12), 10**12).map(str) | st.decimals(-1000, 1000, places=3).map(str)
positions = st.builds(
    Position,
    sequence=sequences,
    timestamp=st.none() | st.integers(-(2**63), 2**63 - 1),
    # BigQuery stores no NULL in an array.
    sort_keys=st.lists(numbers | texts, max_size=3).map(tuple),
    deleted=st.booleans(),
    tie_break=st.just("") | st.text("0123456789abcdef", min_size=4, max_size=4),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(positions, min_size=1, max_size=12))
def test_sql_writes_the_same_position(judge: Judge, some: list[Position]) -> None:
    expression = position_sql("s", "t", "k", "d", "g")
    assert judge.rows(f"SELECT {expression} FROM ({' UNION ALL '.join(map(_row, some))})") == [(str(one),) for one in some]


def _row(position: Position) -> str:
    keys = ", ".join(quote_text(key or "") for key in position.sort_keys)
    sequence = "CAST(NULL AS STRING)" if position.sequence is None else quote_text(position.sequence)
    timestamp = "CAST(NULL AS INT64)" if position.timestamp is None else f"CAST('{position.timestamp}' AS INT64)"
    return (
        f"SELECT {sequence} AS s, {timestamp} AS t, CAST([{keys}] AS ARRAY<STRING>) AS k, "
        f"{position.deleted} AS d, {quote_text(position.tie_break)} AS g"
    )
