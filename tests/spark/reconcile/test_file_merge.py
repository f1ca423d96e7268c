"""One file of a base and the winners: a dict and a loop say which rows go, and what is counted."""

from __future__ import annotations

import datetime
from array import array
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.merge.base_table import DELETED, POSITION
from onefold.spark.reconcile.file_merge import FileMatches, match_winners, winner_numbers

SLIM = pa.schema([("a", pa.int64()), ("b", pa.string()), ("c", pa.bool_()), (POSITION, pa.string()), (DELETED, pa.bool_())])
DIGESTS = ("0" * 32, "f" * 32)

keys = st.tuples(
    st.none() | st.sampled_from([-(2**63), 0, 1, 2**63 - 1]),
    st.none() | st.sampled_from(["", "é", "x"]),
    st.none() | st.booleans(),
)
places = st.tuples(st.sampled_from(["2A 1", "2A 10", "2É 1"]), st.sampled_from(DIGESTS)).map(" ".join)
sides = st.dictionaries(keys, st.tuples(places, st.booleans()), max_size=12)


def table(rows: dict[tuple[Any, ...], tuple[str, bool]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SLIM.names, (*key, *rest), strict=True)) for key, rest in rows.items()], SLIM)


def expected(rows: dict[Any, tuple[str, bool]], winners: dict[Any, tuple[str, bool]]) -> FileMatches:
    """Row by row, as the report's words say it. Positions are compared by the bytes of UTF-8."""
    numbers = {key: number for number, key in enumerate(winners)}
    found = [(row, numbers[key], *rows[key], *winners[key]) for row, key in enumerate(rows) if key in winners]
    newer = [(row, number) for row, number, old, _, new, _ in found if new.encode() > old.encode()]
    replaced = {number for _, number in newer}
    counts = {
        "rows": len(found),
        "live": sum(not gone for *_, gone in found),
        "inserted": sum(n in replaced and was and not gone for _, n, _, was, _, gone in found),
        "updated": sum(n in replaced and not was and not gone for _, n, _, was, _, gone in found),
        "deleted": sum(n in replaced and not was and gone for _, n, _, was, _, gone in found),
        "tombstones": sum(n in replaced and was and gone for _, n, _, was, _, gone in found),
        "repeated": sum(old == new for _, _, old, _, new, _ in found),
        "lost": sum(old.encode() > new.encode() for _, _, old, _, new, _ in found),
        "disputed": sum(old != new and old[:-32] == new[:-32] for _, _, old, _, new, _ in found),
    }
    late = [number for _, number, *_ in found if number not in replaced]
    return FileMatches(len(rows), ints(row for row, _ in newer), ints(number for _, number, *_ in found), ints(late), counts)


def ints(numbers: Iterable[int]) -> array[int]:
    return array("q", numbers)


@given(sides, sides)
def test_rows_and_winners_meet_as_in_a_dict(rows: dict[Any, tuple[str, bool]], winners: dict[Any, tuple[str, bool]]) -> None:
    assert match_winners(table(rows), table(winners), ["a", "b", "c"]) == expected(rows, winners)


NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 1)


@pytest.mark.parametrize(
    "values",
    [
        [0, -1, 2**63 - 1], ["", "é", "É", "e\u0301"], [b"", b"\x00", b"\xff"], [True, False],
        [Decimal("1.500000000"), Decimal("-0.000000001"), Decimal("0.000000000")],
        [NOON.date(), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
        [NOON, NOON.replace(microsecond=2)], [NOON.replace(tzinfo=datetime.UTC), NOON.replace(tzinfo=datetime.UTC, year=4)],
    ],
    ids=lambda values: type(values[0]).__name__,
)  # fmt: skip
@pytest.mark.parametrize("chunks", [1, 2])
def test_a_key_of_each_type_is_found_and_null_is_a_key(values: Sequence[Any], chunks: int) -> None:
    winners = pa.table({"k": pa.array([*values, None])})
    rows = pa.concat_tables([pa.table({"k": pa.array([None, *reversed(values)], winners["k"].type)})] * chunks)
    expected = [len(values), *reversed(range(len(values)))] * chunks
    assert winner_numbers(rows, winners, ["k"]).to_pylist() == expected
    without_null = winners.slice(0, len(values))
    assert winner_numbers(rows, without_null, ["k"]).to_pylist() == [None, *reversed(range(len(values)))] * chunks


def test_many_columns_of_many_values_are_told_apart() -> None:
    """Codes of five columns, multiplied by each other, would not fit 64 bits."""
    count = 20_000
    rows = pa.table({name: pa.array(range(count)) for name in "abcde"})
    assert winner_numbers(rows, rows, list("abcde")).to_pylist() == list(range(count))
    crossed = rows.set_column(4, "e", pa.array([*range(1, count), 0]))
    assert set(winner_numbers(crossed, rows, list("abcde")).to_pylist()) == {None}
