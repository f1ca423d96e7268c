"""The least common type: the design's tree, and the laws of a join."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import CHAINS, above, types

from onefold.schema.common_type import canonical, classic_type, is_at_or_below, join, join_all
from onefold.schema.types import Array, Scalar, Type, parse_type

LAWS = settings(deadline=None)

TREE = [(*chain,) for chain in CHAINS]
ROOTS = [chain[0] for chain in CHAINS] + ["GEOGRAPHY", "RANGE<DATE>", "RANGE<DATETIME>", "RANGE<TIMESTAMP>"]


@pytest.mark.parametrize("chain", TREE, ids="-".join)
def test_the_join_of_two_types_of_one_branch_is_the_wider(chain: tuple[str, ...]) -> None:
    for low, high in itertools.combinations_with_replacement(chain, 2):
        assert str(join(parse_type(low), parse_type(high))) == high
        assert str(join(parse_type(high), parse_type(low))) == high


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(ROOTS, 2)))
def test_the_join_of_two_branches_is_text(first: str, second: str) -> None:
    assert str(join(parse_type(first), parse_type(second))) == "STRING"


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("STRING(20)", "STRING(30)", "STRING"),
        ("NUMERIC(10, 2)", "INT64", "NUMERIC"),
        ("STRUCT<a INT64>", "JSON", "JSON"),
        ("STRUCT<a INT64>", "STRING", "STRING"),
        ("STRUCT<a INT64>", "INT64", "STRING"),
        ("STRUCT<a INT64>", "STRUCT<a DATE>", "STRUCT<a STRING>"),
        ("STRUCT<a INT64>", "STRUCT<b DATE>", "STRUCT<a INT64, b DATE>"),
        ("STRUCT<a INT64, b DATE>", "STRUCT<B DATETIME, A BOOL>", "STRUCT<a INT64, b DATETIME>"),
        ("STRUCT<a STRUCT<b INT64>>", "STRUCT<a STRUCT<c INT64>>", "STRUCT<a STRUCT<b INT64, c INT64>>"),
        ("STRUCT<a STRUCT<b INT64>>", "STRUCT<a JSON>", "STRUCT<a JSON>"),
        ("ARRAY<INT64>", "ARRAY<NUMERIC>", "ARRAY<NUMERIC>"),
        ("ARRAY<INT64>", "NUMERIC", "ARRAY<NUMERIC>"),
        ("ARRAY<INT64>", "STRING", "ARRAY<STRING>"),
        ("ARRAY<STRUCT<a INT64>>", "STRUCT<b DATE>", "ARRAY<STRUCT<a INT64, b DATE>>"),
        ("ARRAY<STRUCT<a INT64>>", "ARRAY<JSON>", "ARRAY<JSON>"),
        ("STRUCT<a INT64>", "STRUCT<a ARRAY<DATE>>", "STRUCT<a ARRAY<STRING>>"),
        ("RANGE<DATE>", "DATE", "STRING"),
        ("RANGE<DATE>", "RANGE<DATE>", "RANGE<DATE>"),
    ],
)
def test_the_join_of_two(first: str, second: str, joined: str) -> None:
    assert str(join(parse_type(first), parse_type(second))) == joined
    assert canonical(join(parse_type(second), parse_type(first))) == canonical(parse_type(joined))


@LAWS
@given(types(), types())
def test_the_join_is_commutative(first: Type, second: Type) -> None:
    assert canonical(join(first, second)) == canonical(join(second, first))


@LAWS
@given(types(), types(), types())
def test_the_join_is_associative(first: Type, second: Type, third: Type) -> None:
    assert canonical(join(first, join(second, third))) == canonical(join(join(first, second), third))


@LAWS
@given(st.lists(types(), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_any_order_gives_the_same_join(several: list[Type], random: Random) -> None:
    shuffled = random.sample(several, len(several))
    assert canonical(join_all(shuffled)) == canonical(join_all([*several, *shuffled]))


@LAWS
@given(types(), types())
def test_the_join_is_idempotent(first: Type, second: Type) -> None:
    joined = join(first, second)
    assert join(first, first) == first
    assert join(joined, first) == joined
    assert join(joined, second) == joined


@LAWS
@given(types(), types())
def test_each_type_is_at_or_below_its_join(first: Type, second: Type) -> None:
    assert is_at_or_below(first, join(first, second))
    assert is_at_or_below(second, join(first, second))


@LAWS
@given(st.data())
def test_the_join_is_the_least_of_the_types_above_both(data: st.DataObject) -> None:
    first, second = data.draw(types()), data.draw(types())
    bound = join(data.draw(above(first)), data.draw(above(second)))
    assert is_at_or_below(join(first, second), bound)


@pytest.mark.parametrize("first", ["STRING", "INT64", "ARRAY<INT64>", "STRUCT<a INT64>"])
def test_only_arrays_are_wider_than_an_array(first: str) -> None:
    assert isinstance(join(parse_type("ARRAY<STRING>"), parse_type(first)), Array)
    assert not is_at_or_below(parse_type("ARRAY<INT64>"), Scalar("STRING"))


@pytest.mark.parametrize(
    ("several", "joined"),
    [
        (["INT64"], "INT64"),
        (["INT64", "INT64"], "INT64"),
        (["DATETIME", "TIMESTAMP"], "TIMESTAMP"),
        (["TIMESTAMP", "DATETIME", "TIMESTAMP"], "TIMESTAMP"),
        (["DATETIME", "TIMESTAMP", "DATE"], "STRING"),
        (["DATE", "DATETIME"], "STRING"),
        (["INT64", "NUMERIC"], "STRING"),
        (["STRUCT<a INT64>", "STRUCT<a DATE>"], "STRING"),
        (["ARRAY<INT64>", "ARRAY<INT64>"], "ARRAY<INT64>"),
        (["ARRAY<INT64>", "ARRAY<DATE>"], "STRING"),
    ],
)
def test_classic_has_two_rules(several: list[str], joined: str) -> None:
    for order in itertools.permutations(several):
        assert str(classic_type(parse_type(text) for text in order)) == joined
