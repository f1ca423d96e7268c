"""Generated change logs whose rows have columns of every type: a small world, in which equal positions are common."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from support.changelogs import change
from support.oracle import LANDED_AT, METADATA

from onefold.changelog.generator_values import TYPES, random_value
from onefold.schema.types import Type, parse_type

Row = dict[str, Any]

# The evaluator has no functions of GEOGRAPHY.
EVALUATED = {name: type_ for name, type_ in TYPES.items() if "GEOGRAPHY" not in type_}
KINDS = ("INSERT", "UPDATE-INSERT", "UPDATE-DELETE", "DELETE", "something new")
SEQUENCES = (
    None, "1", "2", "A", "10", "1/9", "1/A", "000000000000000A/1", "bin.9", "bin.10", "0000002D00000AC00015",
    "0000002D00000AC0001A", "0x0000002D00000AC0001B", "2d:ac0:15", "1/2/3/4/5", "FFFFFFFFFFFFFFFF", "10000000000000000",
)  # fmt: skip
SORT_KEYS: tuple[tuple[str | None, ...], ...] = (
    (), ("9",), ("10",), ("-1",), ("bin.2", "-1.5"), (None,), (" 0x000a.00012345.0010 ",), ("1/A",), ("1/10", "x"),
)  # fmt: skip
TIMESTAMPS = (None, -1, 5)


def columns_of(types: Mapping[str, str], most: int) -> st.SearchStrategy[dict[str, Type]]:
    """Some of the columns, so that small examples hold any type and none is slow."""
    names = st.lists(st.sampled_from(sorted(types)), min_size=1, max_size=most, unique=True)
    return names.map(lambda chosen: {name: parse_type(types[name]) for name in chosen})


@st.composite
def logs(draw: st.DrawFn, columns: Mapping[str, Type], keys: Sequence[int | None], most: int = 8) -> list[Row]:
    """Changes of a few keys; two of them often have the same place in the source and another content."""
    seeds = st.integers(0, 2**32)
    contents = [
        {name: random_value(random.Random(draw(seeds)), type_) for name, type_ in columns.items()}
        for _ in range(draw(st.integers(1, 3)))
    ]
    one = st.builds(
        lambda kind, sequence, timestamp, sort_keys, key, content: change(
            kind, sequence, timestamp=timestamp, sort_keys=sort_keys, id=key, **content
        ),
        st.sampled_from(KINDS),
        st.sampled_from(SEQUENCES),
        st.sampled_from(TIMESTAMPS),
        st.sampled_from(SORT_KEYS),
        st.sampled_from(keys),
        st.sampled_from(contents),
    )
    return draw(st.lists(one, min_size=1, max_size=most))


def without(row: Row, names: Sequence[str]) -> Row:
    """The row as a version writes it that lacks some columns."""
    return {name: value for name, value in row.items() if name not in names or name in (METADATA, LANDED_AT)}
