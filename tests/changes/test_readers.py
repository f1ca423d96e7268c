"""The columns that queries read, against queries which are made from known columns."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.generated_queries import PROJECT, TABLES, Made, Read, queries, scripts

from onefold.changes.catalog import Catalog
from onefold.changes.readers import QueryReads, columns_read

CATALOG = Catalog(PROJECT, TABLES)
SHOP = Catalog(
    "p",
    {
        ("shop", "t"): ("id", "Name", "doc", "items"), ("shop", "u"): ("id", "other"), ("shop", "day_1"): ("a", "b"),
        ("shop", "day_2"): ("a",), ("reports", "v"): ("n",), ("reports", "w"): ("m",),
    },
    {("reports", "v"): "SELECT Name AS n, doc FROM shop.t WHERE id > 3", ("reports", "w"): "SELECT n AS m FROM reports.v"},
)  # fmt: skip


def reads(found: QueryReads) -> frozenset[Read]:
    assert all(one.certain for one in found.columns)
    return frozenset((one.dataset, one.table, one.column) for one in found.columns)


def words(found: QueryReads) -> str:
    """Return what was found as one line; `?` for what is read perhaps."""
    return " ".join(f"{one.table}.{one.column}{'' if one.certain else '?'}" for one in sorted(found.columns))


@given(scripts())
def test_a_statement_reads_exactly_the_columns_that_it_was_made_from(made: tuple[str, frozenset[Read]]) -> None:
    text, expected = made
    found = columns_read(text, CATALOG)
    assert (found.parsed, reads(found)) == (True, expected), text


@given(queries(), st.data())
def test_who_reads_a_view_reads_what_its_chosen_columns_and_its_filters_are_made_of(view: Made, data: st.DataObject) -> None:
    names = sorted(view.outputs)
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    catalog = Catalog(PROJECT, {**TABLES, ("reports", "v"): tuple(names)}, {("reports", "v"): view.sql})
    found = columns_read(f"SELECT {', '.join(f'`{name}`' for name in chosen)} FROM reports.v", catalog)
    assert reads(found) == {*view.needed(chosen), *(("reports", "v", name) for name in chosen)}, view.sql


@given(scripts(), st.integers(0, 200))
def test_of_a_text_that_cannot_be_understood_every_column_of_its_tables_is_read_perhaps(
    made: tuple[str, frozenset[Read]], place: int
) -> None:
    text = f"{made[0][:place]} ;; SELECT FROM )( {made[0]}"
    found = columns_read(text, CATALOG)
    assert {(one.dataset, one.table, one.column) for one in found.columns} >= made[1]
    assert (found.parsed, {one.certain for one in found.columns}) in ((False, {False}), (False, set()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT COUNT(*) FROM shop.t", ""),
        ("SELECT TO_JSON_STRING(x) FROM shop.u AS x", "u.id u.other"),
        ("SELECT doc.street.name, x.doc.zip FROM shop.t AS x", "t.doc"),
        ("SELECT i.n FROM shop.t AS x, x.items AS i", "t.items"),
        ("SELECT i.n FROM shop.t, UNNEST(items) AS i", "t.items"),
        ("SELECT * FROM shop.t JOIN shop.u USING (id)", "t.Name t.doc t.id t.items u.id u.other"),
        ("SELECT shop.t.name FROM shop.t", "t.Name"),
        ("FROM shop.t |> WHERE id > 1 |> SELECT name", "t.Name t.id"),
        ("SELECT name FROM shop.T", ""),
        ("SELECT name FROM `q.shop.t`", ""),
        ("SELECT name FROM t", "t.Name"),
        ("MERGE x.y AS y USING shop.u AS s ON y.id = s.id WHEN MATCHED THEN UPDATE SET id = 3", "u.id"),
        ("MERGE x.y AS y USING shop.u AS s ON FALSE WHEN NOT MATCHED THEN INSERT ROW", "u.id u.other"),
        ("DROP TABLE shop.t", ""),
        # What cannot be told.
        ("SELECT a FROM `shop.day_*` WHERE _TABLE_SUFFIX = '1'", "day_1.a? day_2.a?"),
        ("SELECT (SELECT MAX(other) FROM x.y) FROM shop.u", "u.other?"),
        ("UPDATE x.y SET a = u.id FROM shop.u WHERE TRUE", "u.id? u.other?"),
        ("DECLARE n INT64; SET n = (SELECT MAX(id) FROM shop.u)", "u.id? u.other?"),
        ("EXPORT DATA OPTIONS (uri = 'gs://x/*') AS SELECT id FROM shop.u", "u.id? u.other?"),
        ("SELECT * FROM x.tvf(TABLE shop.u)", "u.id? u.other?"),
        # What table functions are given.
        ("SELECT predicted FROM ML.PREDICT(MODEL x.m, TABLE shop.u)", "u.id u.other"),
        ("SELECT p.* FROM ML.PREDICT(MODEL x.m, (SELECT other FROM shop.u WHERE id > 1)) AS p", "u.id u.other"),
        ("SELECT 1 FROM ML.PREDICT(MODEL x.m, (SELECT other FROM shop.u), STRUCT(0.5 AS threshold))", "u.other"),
        ("SELECT 1 FROM ML.PREDICT(MODEL x.m, TABLE `shop.day_*`)", "day_1.a? day_1.b? day_2.a?"),
        ("WITH c AS (SELECT other FROM shop.u) SELECT 1 FROM ML.PREDICT(MODEL x.m, TABLE c)", "u.other"),
        ("WITH c AS (SELECT other FROM shop.u), d AS (SELECT 1 FROM ML.PREDICT(MODEL x.m, (SELECT * FROM c))) "
         "SELECT * FROM d", "u.other"),
        ("SELECT x.*, id FROM other.of_nobody AS x JOIN shop.u ON other = 1", "u.id u.other"),
        ("SELECT 1 FROM ML.FORECAST(MODEL x.m, STRUCT(3 AS horizon))", ""),
        ("SELECT 1 FROM VECTOR_SEARCH(TABLE shop.u, 'other', (SELECT id FROM shop.t), top_k => 3)", "t.id u.id u.other"),
        # A CTE that nothing uses reads nothing.
        ("WITH c AS (SELECT id FROM shop.t) SELECT other FROM shop.u", "u.other"),
        ("WITH c AS (SELECT id FROM shop.t), d AS (SELECT * FROM c) SELECT other FROM shop.u", "u.other"),
        ("WITH C AS (SELECT id FROM shop.t), d AS (SELECT * FROM c) SELECT * FROM D", "t.id"),
        ("WITH RECURSIVE c AS (SELECT id FROM shop.t UNION ALL SELECT id + 1 FROM c) SELECT other FROM shop.u", "u.other"),
        ("CREATE TABLE x.y AS WITH c AS (SELECT id FROM shop.t) SELECT other FROM shop.u", "u.other"),
        # PIVOT groups by the columns that it does not name, DISTINCT by all, and a copy has all.
        ("SELECT id, a FROM shop.t PIVOT(MAX(doc) FOR Name IN ('a', 'b'))", "t.Name t.doc t.id t.items"),
        ("SELECT * FROM shop.t AS x PIVOT(COUNT(*) FOR Name IN ('a'))", "t.Name t.doc t.id t.items"),
        ("FROM shop.t |> PIVOT(MAX(doc) FOR Name IN ('a')) |> SELECT a", "t.Name t.doc t.id t.items"),
        ("SELECT x.* FROM shop.t PIVOT(MAX(doc) FOR Name IN ('a')) AS x", "t.Name t.doc t.id t.items"),
        ("SELECT x.* EXCEPT (a) FROM shop.t PIVOT(MAX(doc) FOR Name IN ('a')) AS x JOIN shop.u ON u.id = x.id",
         "t.Name t.doc t.id t.items u.id"),
        ("SELECT x.* FROM (SELECT id, Name FROM shop.t) PIVOT(MAX(id) FOR Name IN ('a')) AS x",
         "t.Name? t.doc? t.id? t.items?"),
        ("SELECT x.* FROM shop.t UNPIVOT(v FOR k IN (doc)) AS x", "t.Name? t.doc? t.id? t.items?"),
        ("SELECT v FROM shop.u UNPIVOT(v FOR k IN (other))", "u.other"),
        ("SELECT a FROM (SELECT id, Name FROM shop.t) PIVOT(MAX(id) FOR Name IN ('a'))", "t.Name t.id"),
        ("FROM shop.u -- ü\n |> /* all */ distinct |> SELECT id", "u.id u.other"),
        ("FROM shop.t |> SELECT id, Name |> DISTINCT |> SELECT id", "t.Name t.id"),
        ("SELECT 1)) |> DISTINCT FROM shop u", "u.id? u.other?"),
        ("CREATE TABLE x.y CLONE shop.u", "u.id u.other"),
        ("CREATE TABLE x.y COPY shop.u", "u.id u.other"),
        ("CREATE TABLE x.y LIKE shop.u", ""),
        ("CREATE SNAPSHOT TABLE x.y CLONE shop.u", "u.id? u.other?"),
        # Views of people.
        ("SELECT COUNT(*) FROM reports.w", "t.id"),
        ("SELECT m FROM reports.w", "v.n w.m t.Name t.id"),
    ],
)  # fmt: skip
def test_the_forms_of_names_and_statements(text: str, expected: str) -> None:
    assert words(columns_read(text, SHOP)) == expected


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("SELECT id AS a, x FROM shop.t PIVOT(MAX(doc) FOR Name IN ('x'))", "t.Name t.doc t.id t.items v.a"),
        ("FROM shop.t |> SELECT id, Name AS a |> DISTINCT |> SELECT a", "t.Name t.id v.a"),
        ("FROM (FROM shop.t |> SELECT DISTINCT (id), Name AS a) |> SELECT a", "t.Name t.id v.a"),
        ("FROM shop.t |> SELECT DISTINCT (id), Name AS a |> SELECT a", "t.Name t.id v.a"),
    ],
)
def test_a_view_reads_the_columns_by_which_it_groups_whatever_is_chosen_of_it(view: str, expected: str) -> None:
    catalog = Catalog("p", {**SHOP.columns, ("x", "v"): ("a",)}, {("x", "v"): view})
    assert words(columns_read("SELECT a FROM x.v", catalog)) == expected


def test_the_default_dataset_of_a_job_is_that_of_what_it_has_referenced() -> None:
    catalog = Catalog("p", {("a", "t"): ("id",), ("b", "t"): ("id",)})
    assert [one.dataset for one in columns_read("SELECT id FROM t", catalog, {("b", "t")}).columns] == ["b"]
    assert words(columns_read("SELECT id FROM t", catalog)) == "t.id? t.id?"


def test_what_a_routine_reads_is_told_by_what_the_job_has_referenced() -> None:
    assert words(columns_read("SELECT * FROM x.of_orders(3)", SHOP, {("shop", "u")})) == "u.id? u.other?"
    assert words(columns_read("SELECT id FROM shop.t", SHOP, {("shop", "t"), ("shop", "u")})) == "t.id u.id? u.other?"
    # What is behind a view that Onefold wrote is no table of a routine: BigQuery lists it in the place of the view.
    assert words(columns_read("SELECT id FROM shop.t", SHOP, {("shop", "u")})) == "t.id"


def test_no_text_gets_into_a_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        columns_read("CALL x.p('secret'); IF 'secret' = 'x' THEN SELECT 1 FROM shop.t; END IF", SHOP)
        columns_read("SELECT 'secret", SHOP)
    assert "secret" not in caplog.text


@pytest.mark.parametrize("operator", [" OR ", " AND ", " + ", " - id * ", " || "])
def test_a_chain_of_thousands_of_operators_reads_the_columns_of_each_part(operator: str) -> None:
    parts = operator.join(f"(id + f(name, {number}))" for number in range(1_500))
    found = columns_read(f"SELECT COUNT(*) FROM shop.t WHERE {parts}{operator}doc", SHOP)
    assert (found.parsed, words(found)) == (True, "t.Name t.doc t.id")
