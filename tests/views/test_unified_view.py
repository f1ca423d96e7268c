"""The unified view: its text and its schema, judged by Google's own analyzer."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.sweeps import sweep
from support.views import (
    ABC,
    ARTICLE,
    ARTICLE_ROWS,
    BASE,
    DEF,
    FORMS,
    NESTED,
    PLAIN,
    accept,
    build,
    inlined,
    landed_content,
    rows,
    table,
    tables,
    version,
)
from support.zetasql_judge import Judge

from onefold.core.errors import SchemaConflict
from onefold.refresh.built_view import Form
from onefold.refresh.limits import limit_problems
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.schema.versions import Version, active_versions

GOLDEN = Path(__file__).parents[1] / "golden"


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
        inlined(build(ARTICLE, form=form)),
        tables(ARTICLE),
        {table(v): landed_content(v, ARTICLE_ROWS[v.id]) for v in ARTICLE},
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
    assert [(cast.versions, cast.column, str(cast.source), str(cast.target), cast.losses) for cast in view.casts] == [
        (("abc",), "id", "INT64", "STRING", ())
    ]


# Golden files: what a change of the text looks like is seen in their difference. UPDATE_GOLDEN=1 writes them.

GOLDEN_CASES: dict[str, tuple[tuple[Version, ...], TableRules, Form]] = {
    "article_spelled": (ARTICLE, PLAIN, "spelled"),
    "article_compact": (ARTICLE, PLAIN, "compact"),
    "article_two_level": ((*ARTICLE, version("fed", "id INT64", "phone STRING")), PLAIN, "two-level"),
    "nested_spelled": (NESTED, PLAIN, "spelled"),
    "nested_compact": (NESTED, PLAIN, "compact"),
    "version_column_spelled": (ARTICLE, TableRules(version_column="_version"), "spelled"),
    "version_column_compact": (ARTICLE, TableRules(version_column="_version"), "compact"),
    "classic": (NESTED, TableRules(conversions="classic"), "spelled"),
    "time_zone": (NESTED, TableRules(time_zone="Europe/Warsaw"), "spelled"),
    "target_types": (ARTICLE, TableRules(types=(("id", parse_type("INT64")), ("email", parse_type("JSON")))), "spelled"),
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
    view = build(ARTICLE, TableRules(version_column="_version"), form)
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


@pytest.mark.parametrize("form", sweep(FORMS))
def test_a_thousand_columns(judge: Judge, form: Form) -> None:
    versions = (
        version("a1", *(f"column_{n} INT64" for n in range(1000))),
        version("b2", *(f"column_{n} {'STRING' if n % 7 == 0 else 'INT64'}" for n in range(500, 1000))),
    )
    accept(judge, build(versions, form=form), versions)


def test_columns_of_nested_types_are_counted() -> None:
    fields = ", ".join(f"f{n} INT64" for n in range(100))
    view = build((version("a1", *(f"s{n} ARRAY<STRUCT<{fields}>>" for n in range(100))),))
    assert limit_problems(view) == [
        "my-project.shop.customer_unified: 10100 columns, nested ones counted, and BigQuery allows 10000"
    ]


# Rules


def test_classic_conversions_are_the_two_published_rules(judge: Judge) -> None:
    versions = (version("a1", "n INT64", "t DATETIME", "d DATE"), version("b2", "n NUMERIC", "t TIMESTAMP", "d DATETIME"))
    view = build(versions, TableRules(conversions="classic"))
    assert [str(column.type) for column in view.columns] == ["STRING", "TIMESTAMP", "STRING"]
    accept(judge, view, versions)


def test_a_target_type_is_kept_and_its_losses_are_reported(judge: Judge) -> None:
    rules = TableRules(types=(("id", parse_type("INT64")),))
    view = build(ARTICLE, rules)
    accept(judge, view, ARTICLE)
    assert sorted(row["id"] or -1 for row in rows(judge, view, ARTICLE, ARTICLE_ROWS)) == [-1, 1, 2, 3]
    assert [(cast.versions, bool(cast.losses)) for cast in view.casts] == [(("def",), True)]


def test_all_columns_that_cannot_have_their_target_type_are_named() -> None:
    rules = TableRules(types=(("a", parse_type("INT64")), ("b", parse_type("STRUCT<x INT64>"))), version_column="C")
    with pytest.raises(SchemaConflict) as caught:
        build((version("a1", "a STRUCT<x INT64>", "b STRING", "c DATE"),), rules)
    assert len(caught.value.problems) == 3
    assert all("onefold.yaml" in problem for problem in caught.value.problems)
    words = (
        f"{BASE}: column a of version a1:",
        "column b of version a1:",
        "version_column 'C' is also a column of version a1",
    )
    assert [word for word in words if word not in str(caught.value)] == []


def test_a_conflict_names_the_versions_that_have_it_and_no_others() -> None:
    versions = [version(f"a{number}", "id STRUCT<x INT64>") for number in range(7)]
    fine = version("b1", "id INT64")
    with pytest.raises(SchemaConflict) as caught:
        build((fine, *versions), TableRules(types=(("id", parse_type("INT64")),)))
    (problem,) = caught.value.problems
    assert problem.startswith(f"{BASE}: column id of versions a0, a1, a2, a3, a4 and 2 more: ")


def test_a_retired_version_is_left_out() -> None:
    kept = active_versions(ARTICLE, TableRules(retired=frozenset({"abc"})))
    assert kept == (DEF,)
    assert "customer_v_abc" not in build(kept).query


def test_versions_come_by_creation_time_and_then_by_hash() -> None:
    early, late = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)
    given_ = [Version("c", (), late), Version("b", (), early), Version("a", (), late)]
    assert [v.id for v in active_versions(given_, PLAIN)] == ["b", "a", "c"]
    assert [v.id for v in active_versions([*given_, Version("0", ())], PLAIN)] == ["c", "b", "a", "0"]
