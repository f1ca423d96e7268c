"""`onefold render`: exit codes, standard output and standard error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import Outcome, Run
from support.in_memory import ABC, DEF

TYPES_OF_ARTICLE = {"customer_v_abc": ABC, "customer_v_def": {**DEF, "id": "INT64"}}


def rows_of(tables: dict[str, dict[str, str]], **more: str) -> list[dict[str, Any]]:
    return [
        {"table_name": table, "column_name": name, "ordinal_position": position, "data_type": type_, **more}
        for table, columns in tables.items()
        for position, (name, type_) in enumerate(columns.items(), 1)
    ]


@pytest.fixture
def columns_file(tmp_path: Path) -> Path:
    path = tmp_path / "columns.json"
    path.write_text(json.dumps(rows_of({"customer_v_abc": ABC, "customer_v_def": DEF})))
    return path


ARTICLE = """\
-- settings: {}
SELECT
  CAST(v.`id` AS STRING) AS `id`,
  v.`first_name`,
  v.`last_name`,
  v.`full_name`,
  CAST(NULL AS STRING) AS `email`
FROM `customer_v_abc` AS v
UNION ALL
SELECT
  v.`id`,
  v.`first_name`,
  v.`last_name`,
  CAST(NULL AS STRING) AS `full_name`,
  v.`email`
FROM `customer_v_def` AS v
"""


def test_render_prints_exactly_the_query_of_the_article(run: Run, columns_file: Path) -> None:
    assert run("render", "customer", "--columns", columns_file) == Outcome(0, ARTICLE, "")


def test_render_keeps_a_type_on_which_all_versions_agree(run: Run) -> None:
    outcome = run("render", "customer", "--columns", "-", "--json", stdin=json.dumps(rows_of(TYPES_OF_ARTICLE)))
    assert outcome.result["columns"][0] == {"name": "id", "type": "INT64"}


def test_render_reads_standard_input_array_or_lines_with_numbers_as_text(run: Run) -> None:
    rows = rows_of({"customer_v_abc": ABC, "customer_v_def": DEF}, is_hidden="NO")
    as_text = [{**row, "ordinal_position": str(row["ordinal_position"])} for row in rows]
    hidden = {**as_text[0], "column_name": "_PARTITIONTIME", "ordinal_position": None, "is_hidden": "YES"}
    for stdin in (json.dumps([*as_text, hidden]), "\n".join(json.dumps(row) for row in [hidden, *as_text])):
        assert run("render", "customer", "--columns", "-", stdin=stdin) == Outcome(0, ARTICLE, "")


def test_render_orders_versions_by_creation_time_if_it_is_known(run: Run) -> None:
    newer = rows_of({"customer_v_abc": ABC}, creation_time="2024-02-01 00:00:00")
    older = rows_of({"customer_v_def": DEF}, creation_time="2024-01-01 00:00:00")
    assert run("render", "customer", "--columns", "-", "--json", stdin=json.dumps(newer + older)).result["versions"] == [
        "def",
        "abc",
    ]


def test_render_prints_the_whole_statement(run: Run, columns_file: Path) -> None:
    outcome = run("render", "customer", "--columns", columns_file, "--dataset", "shop", "--project", "my-project", "--ddl")
    assert outcome.out.startswith("CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS\n-- settings: {}\nSELECT\n")
    assert "FROM `my-project.shop.customer_v_abc` AS v" in outcome.out
    assert outcome.out.endswith(";\n")


def test_render_prints_json_for_programs(run: Run, columns_file: Path) -> None:
    outcome = run("render", "customer", "--columns", columns_file, "--dataset", "shop", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.result["view"] == "shop.customer_unified"
    assert (outcome.result["versions"], outcome.result["form"], outcome.result["leaves"]) == (["abc", "def"], "spelled", [])
    assert [column["name"] for column in outcome.result["columns"]] == [
        "id",
        "first_name",
        "last_name",
        "full_name",
        "email",
    ]
    assert outcome.result["casts"] == [{"version": "abc", "column": "id", "from": "INT64", "to": "STRING", "losses": []}]


def test_render_follows_the_settings(run: Run, columns_file: Path) -> None:
    Path("own.yaml").write_text("tables: {customer: {retire: [def], version_column: landed_in}}")
    outcome = run("--config", "own.yaml", "render", "customer", "--columns", columns_file, "--json")
    assert (outcome.result["versions"], outcome.result["columns"][0]["name"]) == (["abc"], "landed_in")


@pytest.mark.parametrize(
    ("stdin", "text"),
    [
        ("", "no rows of a table named as customer_v_VERSION, where VERSION has 1 to 64 of the digits"),
        (json.dumps(rows_of({"customer_vip_v_abc": ABC})), "no rows of a table named as customer_v_VERSION, where "),
        ("[{]", "the file is not a JSON array"),
        (
            "table_name,column_name,data_type\ncustomer_v_abc,id,INT64\n",
            "JSON array or JSON lines, got CSV with the columns table_name, column_name, data_type: export the rows as JSON",
        ),
        (json.dumps([{"name": "id", "type": "INT64"}]), "data_type, but name, type: give the columns table_name, "),
        ('[{"table_name": "customer_v_abc"}]', "row 1 has no column_name, ordinal_position, data_type"),
        (json.dumps(rows_of({"customer_v_abc": {"id": "INTEGR"}})), "'INTEGR' is not a BigQuery type"),
    ],
)
def test_render_reports_what_is_wrong_with_the_file(run: Run, stdin: str, text: str) -> None:
    outcome = run("render", "customer", "--columns", "-", stdin=stdin)
    assert (outcome.code, outcome.out) == (1, "")
    assert text in outcome.err


def test_names_that_an_own_pattern_takes_are_told_in_words(run: Run) -> None:
    Path("onefold.yaml").write_text("datasets: {shop: {version_pattern: '(?P<base>.+)-(?P<version>[0-9]{4})'}}")
    outcome = run("render", "customer", "--dataset", "shop", "--columns", "-", stdin="[]")
    rule = "named as customer-VERSION, where version_pattern of onefold.yaml says what VERSION may be: check TABLE"
    assert (outcome.code, rule in outcome.err) == (1, True), outcome.err


def test_render_answers_the_name_of_a_version_with_the_base_name(run: Run, columns_file: Path) -> None:
    outcome = run("render", "customer_v_abc", "--columns", columns_file)
    assert (outcome.code, outcome.out) == (1, "")
    assert "give the base name, customer\n" in outcome.err


def test_render_reports_a_file_that_is_not_text(run: Run) -> None:
    Path("columns.json").write_bytes(b"\xff\xfe[]")
    outcome = run("render", "customer", "--columns", "columns.json")
    assert (outcome.code, outcome.out) == (1, "")
    assert "is not UTF-8 text" in outcome.err


@pytest.mark.parametrize(("count", "text"), [(600, "warnings"), (1_200, "faults")])
def test_render_prints_the_query_and_one_warning_if_limits_are_near_or_exceeded(run: Run, count: int, text: str) -> None:
    rows = rows_of({f"customer_v_{number}": {"id": "INT64"} for number in range(count)})
    outcome = run("render", "customer", "--columns", "-", "--json", stdin=json.dumps(rows))
    assert (outcome.code, len(outcome.result["versions"])) == (0, count)
    assert outcome.err.count("Warning") == 1
    assert {name: len(outcome.result[name]) for name in ("warnings", "faults")} == {"warnings": 0, "faults": 0, text: 1}


def test_render_says_which_version_is_too_long_where_not_even_two_levels_fit(run: Run) -> None:
    columns = [f"c_{number}" for number in range(10_001)]
    rows = rows_of({"customer_v_abc": dict.fromkeys(columns, "INT64"), "customer_v_def": dict.fromkeys(columns, "STRING")})
    outcome = run("render", "customer", "--columns", "-", stdin=json.dumps(rows))
    assert (outcome.code, outcome.out) == (1, "")
    assert "10001 columns of 2 versions do not fit 256000 characters even in two levels: version abc alone" in outcome.err


def test_render_reports_that_all_versions_are_retired(run: Run, columns_file: Path) -> None:
    Path("onefold.yaml").write_text("tables: {customer: {retire: [abc, def]}}")
    outcome = run("render", "customer", "--columns", columns_file)
    assert (outcome.code, outcome.out) == (1, "")
    assert "all 2 versions of customer are retired" in outcome.err


def test_the_statement_has_a_description_if_a_conversion_can_lose_values(run: Run, columns_file: Path) -> None:
    Path("onefold.yaml").write_text("tables: {customer: {types: {id: INT64}}}")
    outcome = run("render", "customer", "--columns", columns_file, "--dataset", "shop", "--ddl")
    created, options, query = outcome.out.split("\n", 2)
    assert created == "CREATE OR REPLACE VIEW `shop.customer_unified`"
    assert options.startswith("OPTIONS (description = '[onefold: conversions that can lose values\\n- id: ")
    assert options.endswith("') AS")
    assert query.startswith('-- settings: {\n--   "types.id": "INT64"\n-- }\nSELECT\n')


def test_a_wrong_row_of_columns_is_named_with_its_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "columns.json").write_text('[{"table_name": "customer_v_abc"}]')
    assert run("render", "customer", "--columns", "columns.json").err.startswith("Error: columns.json: row 1 has no ")
