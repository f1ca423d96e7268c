"""`onefold schema adopt`: tables of other loaders, in Redshift by their SVV_COLUMNS and in BigQuery."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.registries import folder_store

from onefold.adapters.folder_objects import FolderObjects
from onefold.events.registry.adopted import ADOPTED_PATH, AdoptedTable, read_adopted
from onefold.events.registry.json_schema import parse_schema
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

MODEL = "com.acme/ad_click/jsonschema/1"
SCHEMA = {
    "self": {"vendor": "com.acme", "name": "ad_click", "format": "jsonschema", "version": "1-0-0"},
    "type": "object",
    "properties": {
        "clickId": {"type": "string", "maxLength": 100},
        "tags": {"type": "array", "items": {"type": "string"}},
        "cost": {"type": "integer", "maximum": 1_000},
        "user": {"type": "object", "properties": {"größe": {"type": "number"}}},
    },
    "required": ["clickId"],
}
TEXT = {"data_type": "character varying", "character_maximum_length": 128}
REFERENCES = {"ref_root": 255, "ref_tree": 1_500, "ref_parent": 255}
ENVELOPE: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("schema_vendor", "schema_name", "schema_format", "schema_version"), TEXT),
    "root_id": {"data_type": "character", "character_maximum_length": 36},
    "root_tstamp": {"data_type": "timestamp without time zone"},
    **{name: {**TEXT, "character_maximum_length": size} for name, size in REFERENCES.items()},
}
# What a loader of today makes of the schema, by the rules for types of Redshift.
TABLE: dict[str, dict[str, Any]] = {
    **ENVELOPE,
    "click_id": {"data_type": "character varying", "character_maximum_length": 100},
    "cost": {"data_type": "smallint"},
    "tags": {"data_type": "character varying", "character_maximum_length": 65_535},
    "user.größe": {"data_type": "double precision"},
}


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    folder_store(tmp_path / "registry").add(parse_schema(SCHEMA))
    return tmp_path / "registry"


def rows(columns: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of SVV_COLUMNS, the last column first: the order of a file means nothing."""
    return [
        {"table_schema": "atomic", "table_name": "com_acme_ad_click_1", "column_name": name, "ordinal_position": place}
        | {"is_nullable": "YES", "character_maximum_length": None, "numeric_precision": None, "numeric_scale": None}
        | dict(column)
        for place, (name, column) in reversed(list(enumerate(columns.items(), 1)))
    ]


def adopt(run: Run, registry: Path, columns: Mapping[str, Mapping[str, Any]], *more: object) -> tuple[int, dict[str, str]]:
    file = registry / "columns.json"
    file.write_text(json.dumps(rows(columns)), "utf-8")
    words = ("schema", "adopt", MODEL, "--table", "atomic.com_acme_ad_click_1", "--columns", file, "--registry", registry)
    done = run(*words, "--json", *more)
    return done.code, {one["column"]: one["severity"] for one in done.results}


def test_a_table_of_the_same_rules_has_no_difference(run: Run, registry: Path) -> None:
    assert adopt(run, registry, TABLE) == (0, {})


@pytest.mark.parametrize(
    ("changed", "code", "expected"),
    [
        # Arrays of before 2020 are taken.
        ({"tags": {"data_type": "character varying", "character_maximum_length": 5_000}}, 0, {"tags": "INFO"}),
        ({"tags": {"data_type": "character varying", "character_maximum_length": 4_999}}, 2, {"tags": "WARNING"}),
        # A wider type holds every value.
        ({"cost": {"data_type": "bigint"}}, 0, {}),
        ({"cost": {"data_type": "character varying", "character_maximum_length": 5}}, 0, {}),
        ({"cost": {"data_type": "numeric", "numeric_precision": 18, "numeric_scale": 2}}, 0, {}),
        ({"click_id": {"data_type": "character varying", "character_maximum_length": 4_096}}, 0, {}),
        # A narrower one is used as it is.
        ({"click_id": {"data_type": "character varying", "character_maximum_length": 99}}, 2, {"click_id": "WARNING"}),
        ({"cost": {"data_type": "character varying", "character_maximum_length": 4}}, 2, {"cost": "WARNING"}),
        (
            {"user.größe": {"data_type": "numeric", "numeric_precision": 36, "numeric_scale": 2}},
            2,
            {"user.größe": "WARNING"},
        ),
        ({"click_id": {"data_type": "date"}}, 2, {"click_id": "CRITICAL"}),
        # NOT NULL stays for ever: a row without a value does not fit.
        ({"cost": {"data_type": "smallint", "is_nullable": "NO"}}, 2, {"cost": "WARNING"}),
        ({"click_id": {**TABLE["click_id"], "is_nullable": "NO"}}, 0, {}),
        # A column that nobody has any more.
        ({"old_column": {"data_type": "date"}}, 0, {"old_column": "INFO"}),
        ({"old_column": {"data_type": "date", "is_nullable": "NO"}}, 2, {"old_column": "CRITICAL"}),
        ({"load_tstamp": {"data_type": "date", "is_nullable": "NO", "column_default": "now()"}}, 0, {"load_tstamp": "INFO"}),
        # The columns that tell to which event a row belongs.
        ({"root_id": {"data_type": "character varying", "character_maximum_length": 64}}, 0, {}),
        ({"root_id": {"data_type": "bigint"}}, 2, {"root_id": "CRITICAL"}),
        ({"schema_name": {"data_type": "character varying", "character_maximum_length": 7}}, 2, {"schema_name": "CRITICAL"}),
    ],
)
def test_every_kind_of_difference(
    run: Run, registry: Path, changed: dict[str, Any], code: int, expected: dict[str, str]
) -> None:
    assert adopt(run, registry, {**TABLE, **changed}) == (code, expected)


@pytest.mark.parametrize(
    ("encoding", "first"),
    [("bytedict", True), ("runlength", True), ("TEXT255", True), ("text32k", True), ("zstd", False), ("lzo", False)],
)
def test_an_encoding_that_keeps_a_text_from_growing_is_changed_first(
    run: Run, registry: Path, tmp_path: Path, encoding: str, first: bool
) -> None:
    file = tmp_path / "columns.json"
    short = {"data_type": "character varying", "character_maximum_length": 99, "encoding": encoding}
    file.write_text(json.dumps(rows({**TABLE, "click_id": short})))
    words = ("schema", "adopt", MODEL, "--table", "com_acme_ad_click_1", "--columns", file, "--registry", registry, "--json")
    found = run(*words).result
    assert (found["column"], found["severity"]) == ("click_id", "WARNING")
    statements = found["remedy"].partition("adopt it again after ")[2]
    assert statements.endswith("ALTER TABLE ... ALTER COLUMN TYPE VARCHAR(100)")
    assert statements.startswith("ALTER TABLE ... ALTER COLUMN ENCODE ZSTD, then ") is first


def test_missing_columns_are_listed_and_the_envelope_has_to_be_there(run: Run, registry: Path) -> None:
    left = {name: column for name, column in TABLE.items() if name not in ("root_tstamp", "cost")}
    assert adopt(run, registry, left) == (2, {"root_tstamp": "CRITICAL", "cost": "WARNING"})


def test_the_order_of_columns_and_the_case_of_their_names_make_no_difference(run: Run, registry: Path) -> None:
    names = ["old", "Cost", *reversed(ENVELOPE), "click_id", "user.größe", "tags"]
    moved = {name: {**TABLE, "old": {"data_type": "date"}}.get(name.lower(), {}) for name in names}
    assert adopt(run, registry, moved) == (0, {"old": "INFO"})


def test_a_column_that_some_version_does_not_have_cannot_be_not_null(run: Run, registry: Path) -> None:
    later = json.loads(json.dumps(SCHEMA).replace("1-0-0", "1-1-0"))
    later["properties"]["zip"] = {"type": "string"}
    folder_store(registry).add(parse_schema(later))
    text = {"data_type": "character varying", "character_maximum_length": 4_096}
    assert adopt(run, registry, {**TABLE, "zip": text}) == (0, {})
    assert adopt(run, registry, {**TABLE, "zip": {**text, "is_nullable": "NO"}}) == (2, {"zip": "CRITICAL"})


def test_a_table_is_recorded_where_that_is_asked_for_and_it_is_not_refused(run: Run, registry: Path) -> None:
    def recorded() -> dict[str, AdoptedTable]:
        return {str(model): one for (_, model), one in read_adopted(str(registry), FolderObjects(registry)).items()}

    narrow = {**TABLE, "Cost": {"data_type": "smallint"}, "click_id": {**TEXT, "character_maximum_length": 9}}
    del narrow["cost"]
    adopt(run, registry, narrow)
    assert recorded() == {}
    assert adopt(run, registry, {**narrow, "tags": {"data_type": "date"}}, "--record")[0] == 2
    assert recorded() == {}
    assert adopt(run, registry, narrow, "--record", "--misfits", "recovery_table") == (0, {"click_id": "WARNING"})
    one = recorded()[MODEL]
    assert (one.table, one.name, one.misfits) == ("atomic.com_acme_ad_click_1", "com_acme_ad_click_1", "recovery_table")
    assert [column.name for column in one.columns] == list(narrow)
    assert one.names["cost"] == "Cost"
    # A later adoption takes the place of the earlier one.
    assert adopt(run, registry, TABLE, "--record") == (0, {})
    assert [column.name for column in recorded()[MODEL].columns] == list(TABLE)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "expected an object with form 1 and tables"),
        ('{"form": 2, "tables": []}', "expected an object with form 1 and tables"),
        ('{"form": 1, "tables": [{}, {"model": "a"}]}', "tables[1] is not an adopted table"),
    ],
)
def test_a_damaged_record_is_an_error_that_names_it_and_is_not_written_over(
    run: Run, registry: Path, content: str, told: str
) -> None:
    file = registry / ADOPTED_PATH
    file.parent.mkdir()
    file.write_text(content)
    columns = registry / "columns.json"
    columns.write_text(json.dumps(rows(TABLE)), "utf-8")
    words = ("schema", "adopt", MODEL, "--table", "com_acme_ad_click_1", "--columns", columns, "--registry", registry)
    done = run(*words, "--record")
    assert done.code == 1
    assert told in done.err
    assert str(file) in done.err
    assert file.read_text() == content


def test_a_mapping_names_columns_that_differ(run: Run, registry: Path, tmp_path: Path) -> None:
    table = {{"cost": "price_small", "user.größe": "user_size"}.get(name, name): column for name, column in TABLE.items()}
    assert adopt(run, registry, table)[0] == 2
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text("columns: {cost: price_small, user.größe: user_size}\n", "utf-8")
    assert adopt(run, registry, table, "--mapping", mapping) == (0, {"price_small": "INFO", "user_size": "INFO"})
    words = ("schema", "adopt", MODEL, "--table", "atomic.com_acme_ad_click_1", "--columns", registry / "columns.json")
    told = run(*words, "--registry", registry, "--mapping", mapping)
    assert "INFO price_small: it holds cost: rows are loaded by this name" in told.out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("columns: {cost: no_such, nothing: tags}", ["the table has no column no_such", "nothing is not a column"]),
        ("columns: {cost: tags}", ["tags would be two columns"]),
        ("columns:\n  cost: tags\n  cost: click_id", ["mapping.yaml:3: the key 'cost' is given twice"]),
        ("columns: [cost]", ["expected `columns:`"]),
        ("other: {}", ["expected `columns:`"]),
        ("columns: {cost: 1}", ["expected `columns:`"]),
        ("{", ["cannot be read"]),
    ],
)
def test_a_wrong_mapping_is_refused_with_all_problems(
    run: Run, registry: Path, tmp_path: Path, text: str, told: list[str]
) -> None:
    mapping, file = tmp_path / "mapping.yaml", tmp_path / "columns.json"
    mapping.write_text(text)
    file.write_text(json.dumps(rows(TABLE)), "utf-8")
    options = ("--columns", file, "--mapping", mapping, "--registry", registry)
    done = run("schema", "adopt", MODEL, "--table", "com_acme_ad_click_1", *options)
    assert done.code == 1
    for problem in told:
        assert problem in done.err


@pytest.mark.parametrize("told", ["f", "N", "", None])
def test_a_column_that_may_or_may_not_be_null_has_to_say_so(run: Run, registry: Path, told: str | None) -> None:
    file = registry / "columns.json"
    file.write_text(json.dumps([{**row, "is_nullable": told} for row in rows(TABLE)]), "utf-8")
    done = run("schema", "adopt", MODEL, "--table", "com_acme_ad_click_1", "--columns", file, "--registry", registry)
    assert (done.code, "is_nullable" in done.err) == (1, True)


def test_rows_may_be_csv_and_wrong_ones_are_all_named(run: Run, registry: Path, tmp_path: Path) -> None:
    text, file = io.StringIO(), tmp_path / "columns.csv"
    writer = csv.DictWriter(text, rows(TABLE)[0])
    writer.writeheader()
    writer.writerows(rows(TABLE))
    file.write_text(text.getvalue(), "utf-8")
    words = ("schema", "adopt", MODEL, "--columns", file, "--registry", registry, "--table")
    same = run(*words, "atomic.com_acme_ad_click_1")
    assert (same.code, same.out) == (0, "atomic.com_acme_ad_click_1 is what the registry would make\n")
    assert run(*words, "other.com_acme_ad_click_1").code == 1
    broken = rows({"a": {"data_type": "money"}, "b": {"data_type": "character"}, "c": {"data_type": ""}})
    file.write_text(json.dumps(broken))
    wrong = run(*words, "com_acme_ad_click_1")
    assert (wrong.code, wrong.err.count("Error: ")) == (1, 3)


def test_a_table_of_bigquery_is_read_itself(
    run: Run, registry: Path, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", dataset.host)
    envelope = {name: "TIMESTAMP" if name == "root_tstamp" else "STRING" for name in ENVELOPE}
    own = {"click_id": "STRING", "cost": "INT64", "tags": "ARRAY<STRING>", "user": "STRUCT<größe FLOAT64>"}
    dataset.land("same", {**envelope, **own})
    dataset.land("other", {**envelope, "click_id": "INT64", "tags": "ARRAY<STRING>", "old": "DATE", "price": "INT64"})
    words = ("schema", "adopt", MODEL, "--registry", registry, "--project", DEFAULT_PROJECT, "--json", "--table")
    same = run(*words, f"{dataset.name}.same")
    assert (same.code, same.results) == (0, [])
    other = run(*words, f"{dataset.name}.other")
    assert other.code == 2
    assert {one["column"]: one["severity"] for one in other.results} == {
        "click_id": "CRITICAL", "old": "INFO", "price": "INFO", "cost": "WARNING", "user": "WARNING",
    }  # fmt: skip
    assert run(*words, f"{dataset.name}.none").code == 1
    dataset.run(f"CREATE VIEW {dataset.quoted('seen_current')} AS SELECT 1 AS id")
    assert (
        f"local.{dataset.name}.seen_current is a view, which cannot be adopted"
        in run(*words, f"{dataset.name}.seen_current").err
    )
    assert "does not exist (did you mean seen_current?)" in run(*words, f"{dataset.name}.sen_current").err
    assert run(*words, "no_dataset").code == 1


def test_the_table_of_another_model_is_refused_with_its_name_and_with_all_else(run: Run, registry: Path) -> None:
    other = {"vendor": "com.acme", "name": "page_view", "format": "jsonschema", "version": "1-0-0"}
    folder_store(registry).add(parse_schema({**SCHEMA, "self": other}))
    file = registry / "columns.json"
    taken = [{**row, "table_name": "com_acme_page_view_1"} for row in rows({**TABLE, "root_id": {"data_type": "bigint"}})]
    file.write_text(json.dumps(taken), "utf-8")
    words = ("schema", "adopt", MODEL, "--columns", file, "--registry", registry, "--record", "--table")
    done = run(*words, "atomic.com_acme_page_view_1")
    assert done.code == 2
    assert "CRITICAL: atomic.com_acme_page_view_1 is the table of com.acme/page_view/jsonschema/1 by its name" in done.out
    assert "CRITICAL root_id: " in done.out
    assert not (registry / ADOPTED_PATH).exists()
