"""The embedded BigQuery words an error as BigQuery does: no word of DuckDB, and no statement that nobody wrote."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot.errors import SqlglotError

from onefold_lab.bigquery.query_errors import missing_dataset, query_text, syntax_error
from onefold_lab.query_places import placed

ECHO = '\n\nLINE 1: SELECT nam FROM "local__shop"."customer_v_abc"\n               ^'


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (
            f'Binder Error: Referenced column "nam" not found in FROM clause!\nCandidate bindings: "name", "id"{ECHO}',
            "Unrecognized name: nam; Did you mean name?",
        ),
        ('Binder Error: Referenced table "a" not found!\nCandidate tables: "b"', "Unrecognized name: a; Did you mean b?"),
        (
            "Binder Error: No function matches the given name and argument types '+(BIGINT, VARCHAR)'. You might",
            "No matching signature for operator + for argument types: INT64, STRING",
        ),
        (
            "Binder Error: No function matches the given name and argument types 'lower(BIGINT)'. You might",
            "No matching signature for function LOWER for argument types: INT64",
        ),
        ("Conversion Error: Could not convert string 'a' to INT64", "Bad INT64 value: a"),
        ("Invalid Input Error: Division by zero", "division by zero"),
        (f"Binder Error: a rule of its own!{ECHO}", "a rule of its own!"),
    ],
)
def test_an_error_is_in_the_words_of_bigquery(raw: str, told: str) -> None:
    assert query_text(raw) == told


def test_what_the_server_words_itself_stays() -> None:
    assert query_text("Not implemented Error: Unknown TimeZone 'x'", "Invalid time zone: x") == ""


def test_a_missing_dataset_is_not_a_missing_right() -> None:
    raw = 'Catalog Error: Table with name t does not exist because schema "local__shpo" does not exist.'
    assert missing_dataset(raw) == "Not found: Dataset local:shpo was not found in location US"
    assert missing_dataset("Catalog Error: Table with name t does not exist!") == ""


@pytest.mark.parametrize(
    ("text", "sql", "told"),
    [
        ("Unrecognized name: nam", "SELECT id,\n  nam", "Unrecognized name: nam at [2:3]"),
        ("Function not found: f", "SELECT F(1)", "Function not found: f at [1:8]"),
        ("Function not found: f at [1:9]", "SELECT f(1)", "Function not found: f at [1:9]"),
        ("division by zero", "SELECT 1 / 0", "division by zero"),
    ],
)
def test_the_name_of_an_error_gets_its_place(text: str, sql: str, told: str) -> None:
    assert placed(text, sql) == told


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELEC 1", 'Syntax error: Unexpected identifier "SELEC" at [1:1]; Did you mean SELECT?'),
        ("-- SELECT\nWIHT w AS (SELECT 1) SELECT 1", 'identifier "WIHT" at [2:1]; Did you mean WITH?'),
        ("SELECT 1 FROM", 'unexpected "FROM" at [1:10]'),
        ("SELECT a b c FROM t", 'unexpected "c" at [1:12]'),
        ("SELECT 'a", "Unclosed string literal or identifier at [1:8]"),
    ],
)
def test_a_query_that_cannot_be_parsed_is_a_syntax_error_with_its_place(sql: str, told: str) -> None:
    with pytest.raises(SqlglotError) as raised:
        sqlglot.parse(sql, read="bigquery")
    assert syntax_error(sql, raised.value).endswith(told)


def test_another_statement_that_cannot_be_parsed_is_no_wrong_query() -> None:
    with pytest.raises(SqlglotError) as raised:
        sqlglot.parse("DROPP TABLE t", read="bigquery")
    assert syntax_error("DROPP TABLE t", raised.value) == ""
