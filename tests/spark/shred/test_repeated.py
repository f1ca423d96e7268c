"""Hashes that are there twice, found by parts: what a count of all of them finds."""

from __future__ import annotations

from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.spark.shred.repeated import divided, repeated_of

HASHES = st.lists(st.one_of(st.integers(-5, 5), st.sampled_from([-(2**63), 2**63 - 1])), max_size=12)


@pytest.mark.parametrize("parts", [1, 4])
@given(own=HASHES, others=HASHES, earlier=HASHES)
def test_what_is_there_twice_is_found_by_parts(parts: int, own: list[int], others: list[int], earlier: list[int]) -> None:
    brought = defaultdict(list)
    places = pa.array(range(len(own)), pa.int64()), pa.array(range(100, 100 + len(others)), pa.int64())
    for hashes, at in ((own, places[0]), (others, places[1]), (earlier, None)):
        for part, bits in divided(pa.array(hashes, pa.int64()), at, parts):
            brought[part].append(bits)
    found = [repeated_of(bits) for bits in brought.values()]
    counts = Counter([*own, *others])
    expected = {number for start, some in ((0, own), (100, others)) for number, one in enumerate(some, start)
                if counts[one] > 1 or one in earlier}  # fmt: skip
    assert sorted(place for one in found for place in one.places) == sorted(expected)
    assert sorted(bits for one in found for bits in one.known) == sorted(set(counts) & set(earlier))
