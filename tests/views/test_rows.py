"""Every form of a view and every order of its versions give equal rows, says Google's own evaluator."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.seeding import examples
from support.strategies import present, types, values
from support.views import FORMS, MIXED, Rows, accept, build, multiset, rows
from support.zetasql_judge import Judge

from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Array
from onefold.schema.versions import Version

# Equal rows

MIXED_ROWS: Rows = {
    "a1": [
        (
            "1",
            "DATE '0001-01-01'",
            "STRUCT(1 AS a, TRUE AS b)",
            "[DATE '2020-01-02', DATE '2020-01-01']",
            "CAST('nan' AS FLOAT64)",
        ),
        ("NULL", "NULL", "NULL", "[]", "NULL"),
    ],
    "b2": [("TIMESTAMP '9999-12-31 23:59:59.999999+00'", "'ż'", "STRUCT(7 AS B, NULL AS c)", "NULL")],
    "c3": [("DATETIME '2020-01-01 00:00:00'", "1.5", "[]", "STRUCT(b'\\xff' AS c, NULL AS a)")],
}


def test_every_order_of_versions_and_every_form_give_equal_rows(judge: Judge) -> None:
    expected = multiset(rows(judge, build(MIXED, form="spelled"), MIXED, MIXED_ROWS))
    assert len(expected) == 4
    for order in itertools.permutations(MIXED):
        for form in FORMS:
            view = build(order, form=form)
            accept(judge, view, order)
            assert multiset(rows(judge, view, order, MIXED_ROWS)) == expected


@st.composite
def landed_versions(draw: st.DrawFn) -> tuple[tuple[Version, ...], dict[str, list[list[str]]]]:
    """Versions of few names, so that most meet in several of them, and some rows of each."""
    versions, landed = [], {}
    for id_ in ("a1", "b2", "c3", "d4")[: draw(st.integers(2, 4))]:
        names = draw(
            st.lists(st.sampled_from(["id", "x", "Y", "y", "v", "e1", "ID"]), min_size=1, max_size=3, unique_by=str.lower)
        )
        columns = tuple(Column(name, draw(types(max_leaves=3))) for name in names)
        versions.append(Version(id_, columns))
        cells = [present(column.type) if isinstance(column.type, Array) else values(column.type) for column in columns]
        landed[id_] = [list(row) for row in draw(st.lists(st.tuples(*cells), max_size=2))]
    return tuple(versions), landed


@pytest.mark.long
@settings(deadline=None, max_examples=examples(15), suppress_health_check=list(HealthCheck))
@given(landed_versions(), st.booleans(), st.sampled_from(["lossless", "classic"]), st.randoms(use_true_random=False))
def test_generated_versions_give_equal_rows_in_every_form_and_order(
    judge: Judge,
    generated: tuple[tuple[Version, ...], dict[str, list[list[str]]]],
    shows_version: bool,
    conversions: Any,
    random: Any,
) -> None:
    versions, landed = generated
    rules = TableRules(version_column="_version" if shows_version else None, conversions=conversions)
    found = []
    for form in FORMS:
        view = build(versions, rules, form)
        accept(judge, view, versions)
        found.append(multiset(rows(judge, view, versions, landed)))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == sum(map(len, landed.values()))
    if conversions == "lossless":
        shuffled = random.sample(versions, len(versions))
        assert multiset(rows(judge, build(shuffled, rules, "compact"), versions, landed)) == found[0]
