"""What fits one view, what takes two levels, what is refused, and which versions a view tells that it covers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.views import ARTICLE, BASE, FORMS, MIXED, NESTED, PLAIN, VIEW, accept, build, version
from support.zetasql_judge import Judge

from onefold.core.errors import LimitExceeded
from onefold.core.names import TableId
from onefold.refresh.built_view import Form, Leaf, leaf_pattern
from onefold.refresh.limits import limit_problems, limit_warnings
from onefold.refresh.tables_read import covered_versions
from onefold.schema.bigquery import MAX_RESOLVED_TEXT, MAX_TEXT
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.schema.versions import Version
from onefold.views.unified_view import build_view
from onefold.views.within_limits import build_within_limits

GOLDEN = Path(__file__).parents[1] / "golden"

# Limits


def grown(count: int, width: int, every: int = 10) -> tuple[Version, ...]:
    """Versions in which two columns changed their type once, and every tenth brought a new column."""
    versions = []
    for number in range(count):
        columns = [Column(f"column_{n:03}", parse_type("STRING")) for n in range(2, width)]
        columns[:0] = [Column(f"column_{n:03}", parse_type("STRING" if number > count // 2 else "INT64")) for n in range(2)]
        columns += [Column(f"added_{n:03}", parse_type("DATE")) for n in range(1 + number // every)]
        versions.append(Version(f"{number:09x}", tuple(columns)))
    return tuple(versions)


@pytest.mark.long
def test_a_thousand_versions_of_300_columns_fit_two_levels() -> None:
    view = build(grown(1_000, 300))
    assert (view.form, len(view.columns)) == ("two-level", 400)
    assert sum(leaf.query.count("FROM `my-project.shop.customer_v_") for leaf in view.leaves) == 1_000
    # What is left of the 1,000 tables of a query, and of the 12 MB of its resolved text.
    assert len(view.leaves) < 25
    assert [problem.partition(":")[2] for problem in limit_problems(view) if "tables" not in problem] == []


@pytest.mark.slow
def test_960_versions_of_300_columns_pass_every_limit() -> None:
    assert limit_problems(build(grown(960, 300))) == []


def test_600_versions_of_few_columns_fit_one_text() -> None:
    view = build(grown(600, 10, every=60))
    assert (view.form, view.leaves) == ("compact", ())
    assert view.query.count("FULL OUTER UNION ALL BY NAME") == 599


def test_one_text_is_filled_to_its_last_character() -> None:
    versions = grown(30, 10, every=1)
    room = MAX_TEXT - len(build(versions, form="compact").query)
    forms = [build_view(VIEW, BASE, versions, PLAIN, reserved).form for reserved in (room, room + 1)]
    assert forms == ["compact", "two-level"]


@pytest.mark.long
def test_the_analyzer_takes_a_thousand_branches(judge: Judge) -> None:
    versions = grown(1_000, 10, every=50)
    view = build(versions, form="compact")
    accept(judge, view, versions)


def wide(count: int, width: int) -> tuple[Version, ...]:
    """Versions that differ in the type of every column, so that all of it is spelled out."""
    kinds = ("INT64", "DATE", "STRING")
    return tuple(
        version(f"{n:06x}", *(f"quite_a_long_name_{c} {kinds[(n + c) % 3]}" for c in range(width))) for n in range(count)
    )


@pytest.mark.long
def test_a_view_that_is_too_long_takes_two_levels(judge: Judge) -> None:
    versions = wide(32, 200)
    view = build(versions)
    assert view.form == "two-level"
    assert 2 <= len(view.leaves) < 10
    assert all(len(leaf.query) <= MAX_TEXT for leaf in view.leaves)
    assert view.tables == 32 + len(view.leaves) + 1
    assert limit_problems(view) == []
    assert [v for leaf in view.leaves for v in sorted(covered_versions(leaf.query, "customer"))] == [v.id for v in versions]
    accept(judge, view, versions)


def test_the_base_and_the_log_of_its_merges_count_as_tables() -> None:
    over_base = replace(build(ARTICLE), query=(GOLDEN / "base" / "current.sql").read_text(), versions=("",))
    assert over_base.tables == len({"the view", "customer", "customer_base", "customer_merges"})


def test_an_error_names_what_a_view_reads_besides_versions() -> None:
    versions = tuple(f"{n:09x}" for n in range(998))
    others = " UNION ALL ".join(f"SELECT 1 FROM `p.shop.{name}`" for name in ("customer_base", "customer_merges"))
    read = " UNION ALL ".join(f"SELECT 1 FROM `p.shop.customer_v_{version}`" for version in versions)
    view = replace(build(ARTICLE), query=f"{read} UNION ALL {others}", versions=versions)
    (problem,) = limit_problems(view)
    assert "998 versions, 0 leaf views, 2 other tables and the view itself make 1001 tables" in problem
    assert "at most 997 versions fit" in problem


def test_a_leaf_is_named_by_its_text_and_keeps_its_name_while_that_stays() -> None:
    view, again = build(wide(32, 200)), build(wide(33, 200))
    assert view.leaves[0].id == again.leaves[0].id
    assert view.leaves[-1].id != again.leaves[-1].id
    assert all(leaf_pattern("customer_unified").fullmatch(leaf.id.table) for leaf in view.leaves)
    assert not leaf_pattern("customer").fullmatch(view.leaves[0].id.table)
    assert not leaf_pattern("customer_unified").fullmatch("onefold_leaf_0123456789ab_customer_unified_copy")
    assert not leaf_pattern("customer_unified").fullmatch("onefold_leaf_0123456789ab_vip_customer_unified")


def test_a_leaf_is_filled_to_the_limit_and_never_beyond() -> None:
    """One wide version among narrow ones: the list of a leaf's columns is all NULLs, which is as long as it gets."""
    narrow = [Version(f"{number:09x}", (Column("id", parse_type("INT64")),)) for number in range(6_000)]
    widest = version("ffffffffff", *(f"quite_a_long_name_{number:04} NUMERIC" for number in range(1_500)))
    sizes = [len(leaf.query) for leaf in build([*narrow, widest]).leaves]
    assert len(sizes) > 3
    assert max(sizes) <= MAX_TEXT
    assert min(sizes[:-2]) > MAX_TEXT - 300


def test_a_view_over_leaves_that_is_too_long_is_refused() -> None:
    """It names its versions in a comment: with ids of 64 characters some 4,000 are too many."""
    with pytest.raises(LimitExceeded, match=r"the view over [0-9]+ leaf views takes 26[0-9]{4} of 256000 characters"):
        build([Version(f"{number:064x}", (Column("id", parse_type("INT64")),)) for number in range(4_030)])
    build([Version(f"{number:064x}", (Column("id", parse_type("INT64")),)) for number in range(3_900)])


@pytest.mark.parametrize(("spare", "problems"), [(0, 0), (-1, 1)])
def test_12_mb_of_resolved_text_are_the_most(spare: int, problems: int) -> None:
    view = build(ARTICLE)
    size = (MAX_RESOLVED_TEXT - len(view.query) - spare) // 2
    odd = (MAX_RESOLVED_TEXT - len(view.query) - spare) % 2
    leaves = tuple(Leaf(view.id.sibling(f"leaf_{n}"), "x" * (size + n * odd)) for n in range(2))
    found = limit_problems(replace(view, leaves=leaves))
    assert len(found) == problems
    assert all("characters with all leaves, and BigQuery allows 12 MB" in problem for problem in found)


def test_an_error_says_how_many_versions_fit() -> None:
    """Every branch names every column of every version, so that few versions with columns of their own fill a text."""
    versions = [version(f"{n:04x}", *(f"{'x' * 250}_{n}_{c} INT64" for c in range(200))) for n in range(9)]
    with pytest.raises(LimitExceeded) as refused:
        build_within_limits(VIEW, BASE, versions, PLAIN)
    limit, advice = refused.value.problems
    assert "do not fit 256000 characters even in two levels" in limit
    found = re.fullmatch(
        rf"{BASE}: the newest (\d) of 9 versions fit: set `retire` for the oldest (\d) in onefold.yaml, .*", advice
    )
    assert found
    most = int(found[1])
    assert 1 < most == 9 - int(found[2])
    assert build_within_limits(VIEW, BASE, versions[-most:], PLAIN).versions == tuple(v.id for v in versions[-most:])
    with pytest.raises(LimitExceeded):
        build_within_limits(VIEW, BASE, versions[-most - 1 :], PLAIN)


def test_a_version_that_fits_no_view_by_itself_is_an_error_with_a_remedy() -> None:
    versions = [version("0000", *(f"c_{c} INT64" for c in range(10_001)))]
    with pytest.raises(LimitExceeded, match="not even the newest version fits: set plain target types"):
        build_within_limits(VIEW, BASE, versions, PLAIN)


def test_leaves_are_written_before_the_view_that_reads_them() -> None:
    view = build(NESTED, form="two-level")
    places = [
        view.ddl.index(f"CREATE OR REPLACE VIEW {id_.quoted}") for id_ in (*(leaf.id for leaf in view.leaves), view.id)
    ]
    assert places == sorted(places)


def test_a_version_that_fits_no_leaf_is_named() -> None:
    with pytest.raises(LimitExceeded, match=r"version 0000 alone is too long.*onefold.yaml, or `retire`"):
        build(
            (
                version("0000", *(f"{'x' * 250}_{n} INT64" for n in range(1_000))),
                version("1111", *(f"{'x' * 250}_{n} DATE" for n in range(1_000))),
            )
        )


@pytest.mark.parametrize(("count", "problems"), [(999, 0), (1_000, 1), (1_500, 1)])
def test_more_tables_than_a_query_may_have_is_a_problem(count: int, problems: int) -> None:
    found = limit_problems(build(grown(count, 3, every=10_000)))
    assert len(found) == problems
    if problems:
        assert f"{count} versions" in found[0]
        assert "at most 999 versions fit" in found[0]
        assert "`retire`" in found[0]


def test_leaves_count_towards_the_tables() -> None:
    view = build(wide(997, 50))
    spare = 999 - len(view.leaves)
    assert len(view.leaves) >= 3
    assert f"at most {spare} versions fit" in limit_problems(view)[0]


@pytest.mark.parametrize(("count", "warned"), [(3, False), (498, False), (499, True), (500, True), (900, True)])
def test_a_warning_comes_from_500_tables(count: int, warned: bool) -> None:
    assert bool(limit_warnings(build(grown(count, 3, every=10_000)))) == warned


def test_every_statement_of_the_ddl_ends() -> None:
    """A semicolon within a comment would end nothing."""
    statements = build(NESTED, form="two-level").ddl.split(";\n\n")
    assert len(statements) == 3
    last = [line for line in statements[-1].splitlines() if not line.startswith("--")]
    assert last[-1].endswith(";")


# What a view covers


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rules", [PLAIN, TableRules(version_column="_version")])
def test_a_view_tells_which_versions_it_covers(form: Form, rules: TableRules) -> None:
    assert covered_versions(build(MIXED, rules, form).query, "customer") == {"a1", "b2", "c3"}


@pytest.mark.parametrize("base", ["cust", "customer_v", "vip_customer", "omer"])
def test_a_view_covers_no_version_of_another_table(base: str) -> None:
    assert covered_versions(build(MIXED).query, base) == frozenset()


@pytest.mark.parametrize("project", [None, "my-project"])
def test_tables_are_found_however_far_they_are_qualified(project: str | None) -> None:
    base = TableId(project, "shop", "customer")
    view = build_view(base.sibling("customer_unified"), base, MIXED, PLAIN)
    assert covered_versions(view.query, "customer") == {"a1", "b2", "c3"}
    bare = TableId(None, None, "customer")
    assert covered_versions(build_view(bare, bare, MIXED, PLAIN).query, "customer") == {"a1", "b2", "c3"}


@pytest.mark.parametrize("form", ["spelled", "compact"])
def test_a_column_named_as_a_table_is_not_a_covered_version(form: Form) -> None:
    versions = (version("a1", "customer_v_zzz INT64", "x DATE"), version("b2", "customer_v_zzz STRING"))
    assert covered_versions(build(versions, form=form).query, "customer") == {"a1", "b2"}
