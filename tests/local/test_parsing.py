"""The server of the embedded BigQuery parses each text once, and nobody sees what another has made of the tree."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from onefold.local.emulation import parsing
from onefold.local.emulation.parsing import copied, parse_one

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
    monkeypatch.setattr(sqlglot.Parser, "_implicit_unnests_to_explicit", parsing.implicit_unnests_to_explicit)
    assert parse_one(sql, read="bigquery") == original


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
