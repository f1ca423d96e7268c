"""The bytes of a position sort as its text does, tell it, and are the same in Python and in GoogleSQL."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from changelog.test_position import positions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.bigquery_emulator import EmulatedDataset
from support.zetasql_judge import Judge

from onefold.changelog.packed_position import packed, packed_sql, unpacked_sql
from onefold.changelog.position import Position
from onefold.core.names import quote_text
from onefold.merge.apply import copy_position

DIGEST = "0123456789abcdef" * 2
CAPTURED = Position("6553F100/1A2/3B9ACA00/0", 1_700_000_000_000, tie_break=f" {DIGEST}")
"""A change that capture read: second of the epoch, number of the file, offset in it, row of the event."""

ends = st.sampled_from(["", " ", " !", f" {DIGEST}", f" {DIGEST[::-1]}", f"  {7:020}", "u !", f"u {DIGEST}", "ż d"])
stored = st.builds(lambda position, end: replace(position, tie_break=end), positions, ends).map(str)
"""As rows and copies of the source have them, in a base and in a view."""
copies = st.builds(
    lambda sequence, second: copy_position(sequence, datetime.fromtimestamp(second, UTC)),
    st.sampled_from([None, "6553F100/1A2/3B9ACA00", "6553F100/1A2/3B9ACA00/0", "5", "mysql-bin.000003/9"]),
    st.integers(0, 2**31),
)
near = st.builds(
    lambda *parts: str(Position("/".join(parts[:4]), parts[4], (), parts[5], parts[6])),
    st.sampled_from(["6553F100", "6553F101", "1"]),
    st.sampled_from(["F", "10", "FFFFFF"]),
    st.sampled_from(["4", "FF", "100", "FFFFFFFF", "100000000"]),
    st.sampled_from(["0", "1", "F", "10", f"1{'0' * 13}", f"1{'0' * 16}"]),
    st.sampled_from([None, -1, 0, 9, 10, 1_700_000_000_000, 10**13]),
    st.booleans(),
    ends,
)
"""Positions of one log that differ in little."""
every = stored | copies | near


@settings(max_examples=300, deadline=None)
@given(st.lists(every, min_size=2, max_size=8))
def test_bytes_sort_as_texts_do(some: list[str]) -> None:
    for one, other in itertools.combinations(some, 2):
        assert (packed(one) < packed(other)) == (one < other)
        assert (packed(one) == packed(other)) == (one == other)


@settings(max_examples=12, deadline=None)
@given(st.lists(every, min_size=1, max_size=30))
def test_sql_packs_a_position_as_python_does_and_unpacks_it(judge: Judge, some: list[str]) -> None:
    assert by_sql(judge.rows, some) == [(packed(one), one) for one in some]


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(every, min_size=20, max_size=60))
def test_the_embedded_bigquery_packs_and_unpacks_alike(dataset: EmulatedDataset, some: list[str]) -> None:
    assert by_sql(dataset.run, some) == [(packed(one), one) for one in some]


@pytest.mark.parametrize("position", ["", "1", "a", "2", "2 1", "2Z 1", "2A", "2A  "])
def test_no_text_of_another_form_is_lost(judge: Judge, position: str) -> None:
    assert by_sql(judge.rows, [position]) == [(packed(position), position)]
    assert packed(position)[: len(position)] == position.encode()


def test_a_captured_change_takes_37_bytes_in_place_of_126() -> None:
    assert (len(str(CAPTURED)), len(packed(str(CAPTURED)))) == (126, 37)


def by_sql(run: Callable[[str], list[tuple[Any, ...]]], some: Sequence[str]) -> list[tuple[bytes, str]]:
    rows = " UNION ALL ".join(f"SELECT {n} AS n, {quote_text(one)} AS p" for n, one in enumerate(some))
    bytes_ = f"SELECT n, {packed_sql('p')} AS b FROM ({rows})"
    return [(b, text) for _, b, text in run(f"SELECT n, b, {unpacked_sql('b')} FROM ({bytes_}) ORDER BY n")]
