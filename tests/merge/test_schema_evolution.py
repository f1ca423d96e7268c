"""A base follows the unified schema: what is converted, what is rebuilt, and what conversion keeps values."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from merge.test_base_table import BASE, VERSIONS, version
from support.strategies import ABOVE, EXTREMES
from support.told_merges import NUMBER, TABLE, TEXT, base, entry, log, port, told
from support.zetasql_judge import Judge

from onefold.merge.base_table import base_of
from onefold.merge.plan import plan_merge
from onefold.merge.schema_evolution import plan_schema
from onefold.schema.casts import convert
from onefold.schema.columns import Column
from onefold.schema.recast import keeps_values
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Scalar, Type, parse_type
from onefold.schema.versions import fold
from onefold.settings.environment import Settings


def test_a_base_that_is_as_it_should_be_has_nothing_to_plan_schema() -> None:
    assert plan_schema(BASE, BASE.stored, VERSIONS, ["abc", "def"]).migration == "none"


def test_new_columns_are_added_and_old_ones_stay() -> None:
    found = plan_schema(
        BASE, [*(column for column in BASE.stored if column.name != "tags"), Column("gone", Scalar("INT64"))], VERSIONS, []
    )
    assert (found.added, found.dropped, found.migration) == (BASE.columns[-1:], ("gone",), "none")


@pytest.mark.parametrize(
    ("landed", "merged", "unknown", "way"),
    [
        (["INT64", "STRING"], "0", False, "convert"),
        (["BOOL", "INT64", "STRING"], "01", False, "rebuild"),
        (["INT64", "STRING"], "0", True, "rebuild"),
        (["INT64", "NUMERIC"], "0", True, "convert"),
        (["INT64", "NUMERIC"], "01", False, "rebuild"),
    ],
    ids=["one type", "BOOL is not text of a number", "from elsewhere", "numbers from elsewhere", "narrowed before"],
)
def test_a_column_is_converted_where_that_is_as_good_as_one_step(
    landed: list[str], merged: str, unknown: bool, way: str
) -> None:
    versions = [version(str(place), id=type_) for place, type_ in enumerate(landed)]
    base = base_of(BASE.table, fold(versions, TableRules()), ["id"])
    stored = [Column("id", Scalar("INT64")), *base.stored[1:]]
    assert plan_schema(base, stored, versions, list(merged), unknown_rows=unknown).migration == way


CHAINS = [(a, b, c) for a in ABOVE for b in ABOVE[a] for c in ABOVE.get(b, ()) if a != b != c]


@pytest.mark.parametrize(("landed", "old", "new"), CHAINS)
def test_what_is_said_to_keep_values_does(judge: Judge, landed: str, old: str, new: str) -> None:
    types = (parse_type(landed), parse_type(old), parse_type(new))
    literals = [*EXTREMES[landed], f"CAST(NULL AS {landed})"]
    check_chain(judge, types, literals)
    first, between, last = (parse_type(f"STRUCT<a {type_}, b ARRAY<{type_}>>") for type_ in types)
    check_chain(judge, (first, between, last), [f"STRUCT({literal}, [{literal}])" for literal in EXTREMES[landed]])


def check_chain(judge: Judge, types: tuple[Type, Type, Type], literals: Sequence[str]) -> None:
    landed, old, new = types
    if keeps_values(landed, old, new):
        rows = " UNION ALL ".join(f"SELECT CAST({literal} AS {landed}) AS x" for literal in literals)
        two_steps, one_step = convert(convert("t.x", landed, old), old, new), convert("t.x", landed, new)
        assert all(one == other for one, other in judge.rows(f"SELECT {two_steps}, {one_step} FROM ({rows}) AS t"))


def test_some_chains_keep_values_and_some_do_not() -> None:
    kept = {(a, b, c) for a, b, c in CHAINS if keeps_values(parse_type(a), parse_type(b), parse_type(c))}
    assert ("INT64", "NUMERIC", "STRING") in kept
    assert ("DATE", "DATETIME", "TIMESTAMP") in kept
    assert not kept & {("BOOL", "INT64", "STRING"), ("DATE", "DATETIME", "STRING"), ("DATETIME", "TIMESTAMP", "STRING")}
    assert not keeps_values(Scalar("DATE"), Scalar("DATETIME"), Scalar("TIMESTAMP"), zone="Europe/Berlin")


integers = st.integers(-(2**63), 2**63 - 1).map(lambda number: f"CAST('{number}' AS INT64)")


@settings(max_examples=15, deadline=None)
@given(
    st.lists(integers, min_size=1, max_size=8),
    st.sampled_from([("NUMERIC", "BIGNUMERIC"), ("BIGNUMERIC", "STRING"), ("NUMERIC", "STRING")]),
)
def test_any_integer_keeps_its_value_on_the_way(judge: Judge, cells: list[str], types: tuple[str, str]) -> None:
    old, new = map(parse_type, types)
    landed = Scalar("INT64")
    rows = " UNION ALL ".join(f"SELECT {cell} AS x" for cell in cells)
    both = f"SELECT {convert(convert('t.x', landed, old), old, new)}, {convert('t.x', landed, new)} FROM ({rows}) AS t"
    assert all(one == other for one, other in judge.rows(both))


@pytest.mark.parametrize(("kinds", "migration"), [((), "convert"), (("snapshot",), "rebuild")])
def test_values_that_may_have_landed_in_another_type_by_a_copy_are_not_converted_twice(
    kinds: tuple[str, ...], migration: str
) -> None:
    """A number may have been a BOOL in a copy: as a text it would have to be `true`, and not `1`."""
    rows = log(entry("merge", 5, "i"), *(entry(kind, 4) for kind in kinds))
    plan = plan_merge(port(told(NUMBER, TEXT, stored=base(NUMBER), rows=rows)), TABLE, Settings())
    assert plan.schema_plan.migration == migration
