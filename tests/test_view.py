"""The unified view: its text, its schema and its rows, judged by Google's own analyzer and evaluator."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judge import Judge
from strategies import present, types, values

import onefold.view
from onefold.errors import LimitExceeded, SchemaConflict
from onefold.names import TableId, fold_case, quote
from onefold.rules import Rules
from onefold.types import Array, Struct, Type, parse_type, render_type
from onefold.versions import Column, Version, in_order
from onefold.view import (
    MAX_TEXT,
    Form,
    UnifiedView,
    build_view,
    covered_versions,
    leaf_pattern,
    limit_faults,
    limit_warnings,
)

GOLDEN = Path(__file__).parent / "golden"
BASE = TableId("my-project", "shop", "customer")
VIEW = TableId("my-project", "shop", "customer_unified")
PLAIN = Rules()
FORMS: tuple[Form, ...] = ("spelled", "compact", "two-level")

Rows = Mapping[str, Sequence[Sequence[str]]]
"""Rows of each version, each cell an expression."""


def version(id_: str, *columns: str) -> Version:
    """A version of columns such as `id INT64`."""
    pairs = (column.rsplit("|", 1) if "|" in column else column.split(" ", 1) for column in columns)
    return Version(id_, tuple(Column(name, parse_type(kind)) for name, kind in pairs))


@contextmanager
def forced(form: Form) -> Iterator[None]:
    """Build views in one form, however small they are; in two levels, with two versions to a leaf."""

    def fitting(id_: TableId, writer: Any, versions: Sequence[Version]) -> tuple[str, Form, tuple[onefold.view.Leaf, ...]]:
        if form == "spelled":
            return writer.spelled(versions), form, ()
        if form == "compact":
            return writer.compact(versions), form, ()
        groups = [versions[at : at + 2] for at in range(0, len(versions), 2)]
        leaves = tuple(onefold.view._leaf(id_, writer.compact(group)) for group in groups)
        return writer.top(leaves, versions), form, leaves

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onefold.view, "_fitting_form", fitting)
        yield


def build(versions: Sequence[Version], rules: Rules = PLAIN, form: Form | None = None) -> UnifiedView:
    if form is None:
        return build_view(VIEW, BASE, versions, rules)
    with forced(form):
        return build_view(VIEW, BASE, versions, rules)


def inlined(view: UnifiedView) -> str:
    """The query with the leaves in place of their names: the judge knows tables, not views."""
    query = view.query
    for leaf in view.leaves:
        query = query.replace(leaf.id.quoted, f"(\n{leaf.query}\n)")
    return query


def tables(versions: Sequence[Version]) -> dict[str, list[tuple[str, str]]]:
    return {table(v): [(column.name, render_type(column.type)) for column in v.columns] for v in versions}


def table(version_: Version) -> str:
    return str(BASE.sibling(f"customer_v_{version_.id}"))


def accept(judge: Judge, view: UnifiedView, versions: Sequence[Version]) -> None:
    """The analyzer gives the view exactly the columns that the library says it has."""
    expected = [(column.name, column.type) for column in view.columns]
    assert [(name, parse_type(kind)) for name, kind in judge.columns(inlined(view), tables(versions))] == expected
    for leaf in view.leaves:
        assert [(name, parse_type(kind)) for name, kind in judge.columns(leaf.query, tables(versions))] == expected


def rows(judge: Judge, view: UnifiedView, versions: Sequence[Version], landed: Rows) -> list[dict[str, Any]]:
    content = {table(v): _content(v, landed[v.id]) for v in versions if landed.get(v.id)}
    found = judge.rows(inlined(view), tables(versions), content)
    return [{fold_case(c.name): _named(cell, c.type) for c, cell in zip(view.columns, row, strict=True)} for row in found]


def _content(version_: Version, landed: Sequence[Sequence[str]]) -> str:
    return "\nUNION ALL ".join(
        "SELECT "
        + ", ".join(
            f"CAST({cell} AS {render_type(column.type)}) AS {quote(column.name)}"
            for cell, column in zip(row, version_.columns, strict=True)
        )
        for row in landed
    )


def _named(value: Any, type_: Type) -> Any:
    """A struct as its fields by name, so that the order in which versions came does not matter."""
    if value is None:
        return None
    match type_:
        case Array(element):
            return [_named(item, element) for item in value]
        case Struct(fields):
            parts = ((fold_case(f.name), _named(item, f.type)) for f, item in zip(fields, value, strict=True))
            return dict(sorted(parts, key=lambda part: part[0]))
        case _:
            return value


def multiset(found: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in found)


ABC = version("abc", "id INT64", "first_name STRING", "last_name STRING", "full_name STRING")
DEF = version("def", "id STRING", "first_name STRING", "last_name STRING", "email STRING")
ARTICLE = (ABC, DEF)
ARTICLE_ROWS = {
    "abc": [("1", "'Ada'", "'Lovelace'", "'Ada Lovelace'"), ("2", "'Alan'", "'Turing'", "NULL")],
    "def": [("'3'", "'Grace'", "'Hopper'", "'grace@example.org'"), ("'x-4'", "'Edsger'", "'Dijkstra'", "NULL")],
}


# The article's case


@pytest.mark.parametrize("form", FORMS)
def test_the_articles_view_has_the_articles_columns(judge: Judge, form: Form) -> None:
    view = build(ARTICLE, form=form)
    assert [column.name for column in view.columns] == ["id", "first_name", "last_name", "full_name", "email"]
    assert {str(column.type) for column in view.columns} == {"STRING"}
    accept(judge, view, ARTICLE)


@pytest.mark.parametrize("form", FORMS)
def test_the_articles_view_has_the_articles_rows(judge: Judge, form: Form) -> None:
    found = judge.rows(
        inlined(build(ARTICLE, form=form)), tables(ARTICLE), {table(v): _content(v, ARTICLE_ROWS[v.id]) for v in ARTICLE}
    )
    assert sorted(found) == [
        ("1", "Ada", "Lovelace", "Ada Lovelace", None),
        ("2", "Alan", "Turing", None, None),
        ("3", "Grace", "Hopper", None, "grace@example.org"),
        ("x-4", "Edsger", "Dijkstra", None, None),
    ]


def test_the_articles_view_is_spelled_out() -> None:
    view = build(ARTICLE)
    assert (view.form, view.leaves, view.tables) == ("spelled", (), 3)
    assert [(cast.version, cast.column, str(cast.source), str(cast.target), cast.losses) for cast in view.casts] == [
        ("abc", "id", "INT64", "STRING", ())
    ]


# Golden files: what a change of the text looks like is seen in their difference. UPDATE_GOLDEN=1 writes them.

NESTED = (
    version("1a", "id INT64", "address STRUCT<street STRING, zip INT64>", "tags ARRAY<INT64>", "seen DATE"),
    version("2b", "Address STRUCT<zip STRING, street STRING, city STRING>", "ID NUMERIC", "tags STRING", "seen TIMESTAMP"),
    version("3c", "id BOOL", "payload JSON", "seen DATETIME"),
)
GOLDEN_CASES: dict[str, tuple[tuple[Version, ...], Rules, Form]] = {
    "article_spelled": (ARTICLE, PLAIN, "spelled"),
    "article_compact": (ARTICLE, PLAIN, "compact"),
    "article_two_level": ((*ARTICLE, version("ghi", "id INT64", "phone STRING")), PLAIN, "two-level"),
    "nested_spelled": (NESTED, PLAIN, "spelled"),
    "nested_compact": (NESTED, PLAIN, "compact"),
    "version_column_spelled": (ARTICLE, Rules(version_column="_version"), "spelled"),
    "version_column_compact": (ARTICLE, Rules(version_column="_version"), "compact"),
    "classic": (NESTED, Rules(conversions="classic"), "spelled"),
    "time_zone": (NESTED, Rules(time_zone="Europe/Warsaw"), "spelled"),
    "target_types": (ARTICLE, Rules(types=(("id", parse_type("INT64")), ("email", parse_type("JSON")))), "spelled"),
}


@pytest.mark.parametrize("name", GOLDEN_CASES)
def test_the_text_is_the_golden_files(judge: Judge, name: str) -> None:
    versions, rules, form = GOLDEN_CASES[name]
    view = build(versions, rules, form)
    accept(judge, view, versions)
    path = GOLDEN / f"{name}.sql"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(view.ddl + "\n", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == view.ddl + "\n"


def test_every_golden_file_belongs_to_a_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.sql")} == set(GOLDEN_CASES)


# Names, order, spelling

LONG = "n" * 300
SHAPES: dict[str, tuple[Version, ...]] = {
    "one version": (ABC,),
    "one column": (version("a1", "id INT64"),),
    "a column in common with nobody": (version("a1", "x INT64"), version("b2", "y DATE"), version("c3", "z JSON")),
    "a column named as its table": (version("a1", "customer_v_a1 INT64", "x DATE"), version("b2", "customer_v_a1 STRING")),
    "a column named as the alias": (version("a1", "v INT64"), version("b2", "v STRING")),
    "a struct named as the alias": (
        version("a1", "v STRUCT<v INT64, x INT64>", "x INT64"),
        version("b2", "v STRUCT<x STRING, v STRING>", "x STRING"),
    ),
    "reserved words": (
        version("a1", "select INT64", "from INT64", "group STRUCT<order INT64>", "null DATE"),
        version("b2", "select STRING", "from STRING", "group STRUCT<order STRING>", "union STRING"),
    ),
    "300 characters": (version("a1", f"{LONG} INT64"), version("b2", f"{LONG} STRING")),
    "letters and spaces": (version("a1", "żółw|INT64", "a b|INT64"), version("b2", "żółw|DATE", "a b|NUMERIC")),
    "letters that differ beyond ASCII": (version("a1", "é INT64", "É DATE"), version("b2", "É STRING", "é STRING")),
    "other case": (version("a1", "Id INT64", "name STRING"), version("b2", "NAME STRING", "iD STRING")),
    "other case, same types": (version("a1", "Id INT64"), version("b2", "ID INT64")),
    "other field order": (
        version("a1", "s STRUCT<a STRING, b STRING>"),
        version("b2", "s STRUCT<b STRING, a STRING>"),
        version("c3", "s STRUCT<A STRING, c INT64>"),
    ),
    "arrays of structs": (
        version("a1", "s ARRAY<STRUCT<a INT64, e1 ARRAY<INT64>>>"),
        version("b2", "s STRUCT<e1 STRING, a DATE, o1 INT64>"),
        version("c3", "s STRING"),
    ),
    "a new column in the middle": (version("a1", "a INT64", "c INT64"), version("b2", "a INT64", "b INT64", "c INT64")),
    "geography": (version("a1", "g GEOGRAPHY"), version("b2", "g STRING"), version("c3", "h GEOGRAPHY")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_form_of_every_shape_is_accepted(judge: Judge, shape: str, form: Form) -> None:
    accept(judge, build(SHAPES[shape], form=form), SHAPES[shape])


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_the_version_when_asked(judge: Judge, form: Form) -> None:
    view = build(ARTICLE, Rules(version_column="_version"), form)
    accept(judge, view, ARTICLE)
    found = rows(judge, view, ARTICLE, ARTICLE_ROWS)
    assert sorted((row["_version"], row["id"]) for row in found) == [
        ("abc", "1"),
        ("abc", "2"),
        ("def", "3"),
        ("def", "x-4"),
    ]
    assert view.columns[0].name == "_version"


def test_the_first_spelling_wins_and_new_columns_are_appended() -> None:
    view = build((version("a1", "Id INT64", "z DATE"), version("b2", "new STRING", "ID STRING", "Z DATE")))
    assert [(column.name, str(column.type)) for column in view.columns] == [
        ("Id", "STRING"),
        ("z", "DATE"),
        ("new", "STRING"),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_thousand_columns(judge: Judge, form: Form) -> None:
    versions = (
        version("a1", *(f"column_{n} INT64" for n in range(1000))),
        version("b2", *(f"column_{n} {'STRING' if n % 7 == 0 else 'INT64'}" for n in range(500, 1000))),
    )
    accept(judge, build(versions, form=form), versions)


def test_columns_of_nested_types_are_counted() -> None:
    fields = ", ".join(f"f{n} INT64" for n in range(100))
    view = build((version("a1", *(f"s{n} ARRAY<STRUCT<{fields}>>" for n in range(100))),))
    assert limit_faults(view) == [
        "my-project.shop.customer_unified: 10100 columns, nested ones counted, and BigQuery allows 10000"
    ]


# Rules


def test_classic_conversions_are_the_two_published_rules(judge: Judge) -> None:
    versions = (version("a1", "n INT64", "t DATETIME", "d DATE"), version("b2", "n NUMERIC", "t TIMESTAMP", "d DATETIME"))
    view = build(versions, Rules(conversions="classic"))
    assert [str(column.type) for column in view.columns] == ["STRING", "TIMESTAMP", "STRING"]
    accept(judge, view, versions)


def test_a_target_type_is_kept_and_its_losses_are_told(judge: Judge) -> None:
    rules = Rules(types=(("id", parse_type("INT64")),))
    view = build(ARTICLE, rules)
    accept(judge, view, ARTICLE)
    assert sorted(row["id"] or -1 for row in rows(judge, view, ARTICLE, ARTICLE_ROWS)) == [-1, 1, 2, 3]
    assert [(cast.version, bool(cast.losses)) for cast in view.casts] == [("def", True)]


def test_all_columns_that_cannot_have_their_target_type_are_named() -> None:
    rules = Rules(types=(("a", parse_type("INT64")), ("b", parse_type("STRUCT<x INT64>"))), version_column="C")
    with pytest.raises(SchemaConflict) as caught:
        build((version("a1", "a STRUCT<x INT64>", "b STRING", "c DATE"),), rules)
    assert len(caught.value.faults) == 3
    assert all("onefold.yaml" in fault for fault in caught.value.faults)
    assert [word for word in ("column a", "column b", "version_column 'C'") if word not in str(caught.value)] == []


def test_a_retired_version_is_left_out() -> None:
    kept = in_order(ARTICLE, Rules(retired=frozenset({"abc"})))
    assert kept == (DEF,)
    assert "customer_v_abc" not in build(kept).query


def test_versions_come_by_creation_time_and_then_by_hash() -> None:
    early, late = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)
    given_ = [Version("c", (), late), Version("b", (), early), Version("a", (), late)]
    assert [v.id for v in in_order(given_, PLAIN)] == ["b", "a", "c"]
    assert [v.id for v in in_order([*given_, Version("0", ())], PLAIN)] == ["c", "b", "a", "0"]


# Equal rows

MIXED = (
    version("a1", "id INT64", "at DATE", "s STRUCT<a INT64, b BOOL>", "l ARRAY<DATE>", "only_a FLOAT64"),
    version("b2", "at TIMESTAMP", "ID STRING", "S STRUCT<B INT64, c STRING>", "l TIMESTAMP"),
    version("c3", "at DATETIME", "id NUMERIC", "l ARRAY<DATETIME>", "s STRUCT<c BYTES, a NUMERIC>"),
)
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


@settings(derandomize=True, deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(landed_versions(), st.booleans(), st.sampled_from(["lossless", "classic"]), st.randoms(use_true_random=False))
def test_generated_versions_give_equal_rows_in_every_form_and_order(
    judge: Judge,
    generated: tuple[tuple[Version, ...], dict[str, list[list[str]]]],
    told: bool,
    conversions: Any,
    random: Any,
) -> None:
    versions, landed = generated
    rules = Rules(version_column="_version" if told else None, conversions=conversions)
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


def test_a_thousand_versions_of_300_columns_fit_one_view() -> None:
    versions = grown(1_000, 300)
    view = build(versions)
    assert (view.form, view.leaves) == ("compact", ())
    assert len(view.query) <= MAX_TEXT
    assert view.query.count("FULL OUTER UNION ALL BY NAME") == 999
    assert len(view.columns) == 400


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


def test_what_does_not_fit_one_view_takes_two_levels(judge: Judge) -> None:
    versions = wide(32, 200)
    view = build(versions)
    assert view.form == "two-level"
    assert 2 <= len(view.leaves) < 10
    assert all(len(leaf.query) <= MAX_TEXT for leaf in view.leaves)
    assert view.tables == 32 + len(view.leaves) + 1
    assert limit_faults(view) == []
    assert [v for leaf in view.leaves for v in sorted(covered_versions(leaf.query, "customer"))] == [v.id for v in versions]
    accept(judge, view, versions)


def test_a_leaf_is_named_by_its_text_and_keeps_its_name_while_that_stays() -> None:
    view, again = build(wide(32, 200)), build(wide(33, 200))
    assert view.leaves[0].id == again.leaves[0].id
    assert view.leaves[-1].id != again.leaves[-1].id
    assert all(leaf_pattern("customer_unified").fullmatch(leaf.id.table) for leaf in view.leaves)
    assert not leaf_pattern("customer").fullmatch(view.leaves[0].id.table)
    assert not leaf_pattern("customer_unified").fullmatch("customer_unified_leaf_0123456789ab_copy")


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


@pytest.mark.parametrize(("count", "faults"), [(999, 0), (1_000, 1), (1_500, 1)])
def test_more_tables_than_a_query_may_have_is_a_fault(count: int, faults: int) -> None:
    found = limit_faults(build(grown(count, 3)))
    assert len(found) == faults
    if faults:
        assert f"{count} versions" in found[0]
        assert "at most 999 versions fit" in found[0]
        assert "`retire`" in found[0]


def test_leaves_count_towards_the_tables() -> None:
    view = build(wide(997, 50))
    spare = 999 - len(view.leaves)
    assert len(view.leaves) >= 3
    assert f"at most {spare} versions fit" in limit_faults(view)[0]


@pytest.mark.parametrize(("count", "warned"), [(3, False), (498, False), (499, True), (500, True), (900, True)])
def test_a_warning_comes_from_500_tables(count: int, warned: bool) -> None:
    assert bool(limit_warnings(build(grown(count, 3)))) == warned


def test_every_statement_of_the_ddl_ends() -> None:
    """A semicolon within a comment would end nothing."""
    statements = build(NESTED, form="two-level").ddl.split(";\n\n")
    assert len(statements) == 3
    last = [line for line in statements[-1].splitlines() if not line.startswith("--")]
    assert last[-1].endswith(";")


# What a view covers


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rules", [PLAIN, Rules(version_column="_version")])
def test_a_view_tells_which_versions_it_covers(form: Form, rules: Rules) -> None:
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
