"""The server of the embedded BigQuery parses each text once, and nobody sees what another has made of the tree."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects import BigQuery, Dialect, DuckDB
from sqlglot.errors import ParseError
from sqlglot.parsers.bigquery import BigQueryParser

from onefold_lab.bigquery import parsing
from onefold_lab.bigquery.parsing import concatenated_text, copied, only_where, parse_one, reading

QUERIES = (
    "SELECT a FROM t",
    "SELECT i FROM t, t.items AS i",
    "SELECT i FROM t, UNNEST(t.items) AS i WITH OFFSET AS place",
    "SELECT x FROM (SELECT * FROM (SELECT 1 AS x) AS a) AS b, b.items",
    "SELECT a.x FROM a JOIN b USING (x) WHERE EXISTS (SELECT 1 FROM a.items)",
    "CREATE TABLE `p.d.t` (a STRUCT<b ARRAY<INT64>>) OPTIONS (description = 'ä')",
)


@pytest.mark.parametrize("sql", QUERIES)
def test_the_tree_is_the_one_of_sqlglot(monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    original = sqlglot.parse_one(sql, read="bigquery")
    monkeypatch.setattr(BigQueryParser, "SUPPORTS_IMPLICIT_UNNEST", False)
    monkeypatch.setattr(BigQuery, "parse", parsing.parse_all)
    parsing._parsed.cache_clear()
    assert parse_one(sql, read="bigquery") == original


def test_a_function_that_only_reads_has_the_kept_tree_and_nobody_else_has() -> None:
    trees = [reading(parse_one)("SELECT a FROM t", read="bigquery") for _ in range(2)]
    assert trees[0] is trees[1]
    assert parse_one("SELECT a FROM t", read="bigquery") is not trees[0]


def test_a_concatenation_is_text_and_keeps_its_operands() -> None:
    tree = sqlglot.parse_one("SELECT a || b", read="duckdb")
    found = tree.find(exp.DPipe)
    assert found is not None
    found.replace(concatenated_text(None, found))
    assert tree.sql("duckdb") == "SELECT CAST(a || b AS TEXT)"


def test_a_tree_that_was_changed_is_not_the_next_one() -> None:
    first = parse_one("SELECT a FROM t", read="bigquery")
    first.find(exp.Column).replace(exp.column("b"))  # type: ignore[union-attr]
    assert parse_one("SELECT a FROM t", read="bigquery").sql() == "SELECT a FROM t"


def test_the_dialect_is_part_of_what_is_kept() -> None:
    assert parse_one("SELECT `a`", read="bigquery").sql() == 'SELECT "a"'
    assert parse_one('SELECT "a"', read="bigquery").sql() == "SELECT 'a'"
    assert parse_one('SELECT "a"', read="duckdb").sql() == 'SELECT "a"'


def test_a_text_that_is_no_sql_fails_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ParseError):
            parse_one("SELECT FROM WHERE (", read="bigquery")


@pytest.mark.parametrize("sql", QUERIES)
def test_a_copy_has_the_nodes_the_places_and_the_notes_of_the_tree(sql: str) -> None:
    tree = sqlglot.parse_one(f"{sql} -- a comment", read="bigquery")
    copy = copied(tree)
    assert copy == tree
    assert repr(list(map(places, copy.walk()))) == repr(list(map(places, tree.walk())))
    assert not {id(node) for node in copy.walk()} & {id(node) for node in tree.walk()}


def places(node: exp.Expr) -> tuple[object, ...]:
    return type(node), type(node.parent), node.arg_key, node.index, node.comments, node.meta, node.type


def test_a_rewriter_is_called_only_for_statements_with_its_kind_of_node() -> None:
    rewrite = only_where(lambda sql: f"{sql} -- rewritten", exp.Div)
    texts = ["SELECT a / b", "SELECT '/' -- a / b", "SELECT a /"]
    assert [rewrite(sql) for sql in texts] == ["SELECT a / b -- rewritten", "SELECT '/' -- a / b", "SELECT a /"]


def test_a_writer_of_sql_has_the_templates_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlglot, "parse_one", parse_one)
    writers = [reading(Dialect.generator)(DuckDB()) for _ in range(2)]
    assert writers[0].ZIPF_TEMPLATE is writers[1].ZIPF_TEMPLATE
