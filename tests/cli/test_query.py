"""`onefold query`: the rows of a SELECT, and of nothing else."""

from __future__ import annotations

import csv
import io

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run


@pytest.fixture
def shop(dataset: EmulatedDataset) -> EmulatedDataset:
    dataset.land("t", {"id": "INT64", "name": "STRING"}, "1, 'Ada'", "2, NULL", "3, 'x,y'")
    return dataset


def test_rows_are_a_table_with_the_bytes_on_standard_error(run: Run, shop: EmulatedDataset) -> None:
    outcome = run("query", f"SELECT * FROM {shop.quoted('t')} ORDER BY id")
    assert outcome.code == 0
    assert [word in outcome.out for word in ("id", "name", "Ada", "NULL")] == [True] * 4
    assert "3 rows, 0 B read, 0 B billed" in outcome.err


def test_a_query_may_begin_with_a_comment_come_from_standard_input_or_be_a_union(run: Run, shop: EmulatedDataset) -> None:
    assert "42" in run("query", "-- the answer\nSELECT 42 AS answer").out
    assert "43" in run("query", "-", stdin="SELECT 43 AS answer;\n-- the end").out
    assert run("query", "SELECT 1 AS a UNION ALL SELECT 2", "--json").result["row_count"] == 2
    named = f"WITH w AS (SELECT * FROM {shop.quoted('t')}) SELECT COUNT(*) AS n FROM w"
    assert run("query", named, "--json").result["rows"] == [{"n": 3}]


def test_no_more_rows_are_read_than_the_limit_and_the_rest_is_told(run: Run, shop: EmulatedDataset) -> None:
    few = run("query", f"SELECT id FROM {shop.quoted('t')} ORDER BY id", "--limit", 2, "--json")
    assert (few.result["rows"], few.result["row_count"]) == ([{"id": 1}, {"id": 2}], 3)
    assert "2 of 3 rows: --limit N reads more, and 0 all" in few.err
    many = "SELECT n FROM UNNEST(GENERATE_ARRAY(1, 150)) AS n"
    assert len(run("query", many, "--json").result["rows"]) == 100
    assert len(run("query", many, "--limit", 0, "--json").result["rows"]) == 150


@pytest.mark.usefixtures("dataset")
def test_json_has_types_and_values_of_any_type(run: Run) -> None:
    sql = (
        "SELECT 1 AS i, 1.5 AS f, TRUE AS b, NUMERIC '1.10' AS n, DATE '2026-01-02' AS d, b'a' AS y, "
        "STRUCT(1 AS x, ['p'] AS l) AS s, CAST('nan' AS FLOAT64) AS nan, CAST(NULL AS STRING) AS nothing"
    )
    found = run("query", sql, "--json").result
    (row,) = found["rows"]
    assert (row["i"], row["f"], row["b"], row["d"], row["y"]) == (1, 1.5, True, "2026-01-02", "YQ==")
    assert (row["s"], row["nan"], row["nothing"]) == ({"x": 1, "l": ["p"]}, "nan", None)
    assert float(row["n"]) == 1.1
    assert {column["name"]: column["type"] for column in found["columns"]}["d"] == "DATE"


def test_csv_has_the_names_first_and_can_be_read_again(run: Run, shop: EmulatedDataset) -> None:
    printed = run("query", f"SELECT id, name, [id] AS l FROM {shop.quoted('t')} ORDER BY id", "--csv").out
    assert list(csv.reader(io.StringIO(printed))) == [
        ["id", "name", "l"], ["1", "Ada", "[1]"], ["2", "", "[2]"], ["3", "x,y", "[3]"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE {t}", "DELETE FROM {t} WHERE TRUE", "INSERT INTO {t} VALUES (4, 'd')", "TRUNCATE TABLE {t}",
        "CREATE TABLE {dataset}.made AS SELECT 1 AS a", "SELECT 1; DROP TABLE {t}", "SELECT 1; DELETE FROM {t} WHERE TRUE;",
        "BEGIN DELETE FROM {t} WHERE TRUE; END", "ALTER TABLE {t} ADD COLUMN made INT64",
        "EXECUTE IMMEDIATE 'DROP TABLE {t}'", "IF TRUE THEN DROP TABLE {t}; END IF", "-- SELECT\nDROP TABLE {t}",
        "WITH w AS (SELECT 1) DELETE FROM {t} WHERE TRUE",
    ],
)  # fmt: skip
def test_what_is_no_single_select_is_refused_and_does_nothing(run: Run, shop: EmulatedDataset, statement: str) -> None:
    outcome = run("query", statement.format(t=shop.quoted("t"), dataset=shop.name))
    assert (outcome.code, outcome.out) == (1, ""), outcome.err
    assert len(shop.rows("t")) == 3
    assert [table.table_id for table in shop.client.list_tables(shop.name)] == ["t"]
    (columns,) = {tuple(field.name for field in shop.client.get_table(f"{shop.name}.t").schema)}
    assert columns == ("id", "name")


def test_a_refusal_names_the_type_of_the_statement(run: Run, shop: EmulatedDataset) -> None:
    error = run("query", f"DROP TABLE {shop.quoted('t')}").err
    assert "expected one SELECT, got DROP TABLE: nothing was run" in error
    assert "got SCRIPT" in run("query", f"SELECT 1; DROP TABLE {shop.quoted('t')}").err


def test_a_missing_table_and_two_forms_are_errors(run: Run, shop: EmulatedDataset) -> None:
    missing = run("query", f"SELECT * FROM {shop.name}.missing", "--json")
    assert (missing.code, "missing" in missing.json["errors"][0]) == (1, True)
    assert "--csv and --json exclude each other" in run("query", "SELECT 1", "--csv", "--json").err
