"""The manifest of a run: what is written is read back, and what is wrong is listed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from onefold.core.errors import InvalidInput
from onefold.events.shred.manifest import (
    OtherAlgorithm,
    RunManifest,
    ShreddedFile,
    ShreddedTable,
    UsedSchema,
    parse_manifest,
)

CLICKS = ShreddedTable(
    "com_acme_ad_click_1",
    "com_acme_ad_click",
    "1",
    "iglu:com.acme/ad_click/jsonschema/1-0-1",
    (("schema_vendor", "STRING"), ("geo", "STRUCT<lat FLOAT64>")),
    "vendor=com.acme/name=ad_click/format=jsonschema/model=1",
    (ShreddedFile("part-0.parquet", 2, 1_000), ShreddedFile("part-1.parquet", 3, 900)),
)
EVENTS = ShreddedTable(
    "events", "events", "", "", (("event_id", "STRING"),), "events", (ShreddedFile("part-0.parquet", 5, 1_000),)
)
MANIFEST = RunManifest(
    "2026-11-23-08-00-00", "parquet", "snappy", "gs://registry", ("gs://in/é.json",),
    (UsedSchema("iglu:com.acme/ad_click/jsonschema/1-0-0", "0" * 64, "gs://registry"),), (CLICKS, EVENTS), 6, {"invalid": 1},
    datetime(2026, 11, 23, 8, tzinfo=UTC), datetime(2026, 11, 23, 8, 5, tzinfo=UTC),
)  # fmt: skip


def changed(**values: Any) -> str:
    return json.dumps(json.loads(MANIFEST.to_json()) | values)


def test_a_manifest_is_read_back_as_it_was_written() -> None:
    assert parse_manifest(MANIFEST.to_json(), "m.json") == MANIFEST


def test_reasons_are_written_where_there_are_any_and_runs_of_earlier_releases_have_none() -> None:
    assert "reasons" not in json.loads(MANIFEST.to_json())
    known = replace(MANIFEST, reasons={"id is missing": 1})
    assert parse_manifest(known.to_json(), "m.json") == known


def test_a_manifest_of_an_earlier_release_says_the_uris_of_schemas_alone() -> None:
    uri = "iglu:com.acme/ad_click/jsonschema/1-0-0"
    former = parse_manifest(changed(schemas=[uri]), "m.json")
    assert former.schemas == (UsedSchema(uri),)
    assert parse_manifest(former.to_json(), "m.json") == former


def test_the_rows_of_a_table_are_those_of_its_files() -> None:
    assert CLICKS.rows == 5


@pytest.mark.parametrize("algorithm", [0, 2, "1", None])
def test_another_version_of_the_algorithm_is_named(algorithm: Any) -> None:
    with pytest.raises(OtherAlgorithm, match=r"m\.json is by version .* of the algorithm, and this is version 1"):
        parse_manifest(changed(algorithm=algorithm, tables="other rules"), "m.json")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"run": "2026"}, "run is not valid: '2026'"),
        ({"format": "orc"}, "format is not valid: 'orc'"),
        ({"started_at": "2026-11-23T08:00:00"}, "started_at is not valid"),
        ({"started_at": "0001-01-01T00:00:00+14:00"}, "started_at is not valid"),
        ({"schemas": ["com.acme/x"]}, "schemas is not valid"),
        ({"schemas": [{"uri": "iglu:com.acme/x/jsonschema/1-0-0"}]}, "schemas is not valid"),
        ({"color": 1}, "color is unknown"),
        ({"reasons": {"id is missing": "1"}}, "reasons is not valid"),
        ({"events": 7}, "expected 6 rows, one of each good event, got 5 in events"),
        ({"bad": {}}, "expected 6 rows, one of each good event, got 5 in events"),
        ({"tables": json.loads(MANIFEST.to_json())["tables"][:1], "events": 7}, "got 5 in all tables"),
        ({"tables": [json.loads(MANIFEST.to_json())["tables"][0]] * 2}, "tables has com_acme_ad_click_1 twice"),
    ],
)
def test_each_value_that_is_not_valid_is_named(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=r"m\.json: ") as caught:
        parse_manifest(changed(**values), "m.json")
    assert problem in str(caught.value)


@pytest.mark.parametrize("folder", ["../other", "/etc", "a/../b", "a//b", "a/", "", "a/.b", "gs://x/y"])
def test_the_folder_of_a_table_is_below_that_of_the_run(folder: str) -> None:
    table = json.loads(MANIFEST.to_json())["tables"][0] | {"folder": folder}
    with pytest.raises(InvalidInput, match=r"tables\[0\]\.folder is not valid"):
        parse_manifest(changed(tables=[table]), "m.json")


@pytest.mark.parametrize("name", ["../part-0", "a/b", ".part-0", "", "part 0"])
def test_a_file_is_in_the_folder_of_its_table(name: str) -> None:
    table = json.loads(MANIFEST.to_json())["tables"][0] | {"files": [{"name": name, "rows": 1, "bytes": 1}]}
    with pytest.raises(InvalidInput, match=r"tables\[0\]\.files\[0\]\.name is not valid"):
        parse_manifest(changed(tables=[table]), "m.json")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"files": [{"name": "part-0", "rows": 1, "bytes": 1}] * 2}, "tables[0].files has part-0 twice"),
        ({"columns": []}, "tables[0].columns is not valid"),
        ({"columns": [["id", "INT64"], ["ID", "STRING"]]}, "tables[0].columns has id twice"),
        ({"columns": [["id", "INT64); DROP TABLE x; --"]]}, "tables[0].columns: id: type 'INT64); DROP TABLE x; --'"),
        ({"columns": [["a\0b", "INT64"]]}, "tables[0].columns is not valid"),
        ({"columns": [["a\ud800b", "INT64"]]}, "tables[0].columns is not valid"),
        ({"name": "onefold_manifest"}, "tables[0].name is not valid"),
        ({"version": "1 !"}, "tables[0].version is not valid"),
    ],
)
def test_a_table_that_a_loader_cannot_take_is_refused(values: dict[str, Any], problem: str) -> None:
    table = json.loads(MANIFEST.to_json())["tables"][0] | values
    with pytest.raises(InvalidInput) as caught:
        parse_manifest(changed(tables=[table]), "m.json")
    assert problem in str(caught.value)


@pytest.mark.parametrize("type_", ["INT); DROP TABLE x; --", "STRUCT<lat FLOAT64>"])
def test_a_type_is_one_of_the_warehouse_that_takes_the_format(type_: str) -> None:
    table = json.loads(MANIFEST.to_json())["tables"][0] | {"columns": [["id", "DOUBLE PRECISION"], ["x", type_]]}
    with pytest.raises(InvalidInput, match=r"tables\[0\]\.columns: x: .* is not a type of Redshift"):
        parse_manifest(changed(tables=[table], format="csv"), "m.json")


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000])
def test_what_is_no_manifest_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"m\.json is not a manifest"):
        parse_manifest(text, "m.json")
