"""A dataset whose versions are found by labels, with the tables of a schema registry, in the embedded BigQuery."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.cloud import bigquery
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.in_memory import MemoryPublisher, push_body
from support.schemas import versions
from support.shred_events import parsed
from support.shred_scene import INTEGER, plan

from onefold.core.event_labels import LABEL_BASE, LABEL_VERSION
from onefold.core.names import TableId
from onefold.events.registry.bigquery_columns import bigquery_table
from onefold.events.registry.bigquery_table import BigQueryTable
from onefold.events.registry.ddl import bigquery_columns
from onefold.messages.table_created import dataset_message, table_message
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.settings.environment import load_settings
from onefold.views.handler import TableCreatedHandler
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

BASE = "com_acme_ad_click"
UNIFIED = f"{BASE}_unified"
FIELDS = {"clicks": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}
GEO = {"geo": {"type": "object", "properties": {"lat": {"type": "number"}}, "additionalProperties": False}}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


MODEL_1: BigQueryTable = bigquery_table(
    versions(closed(**FIELDS, **GEO), closed(**{**FIELDS, "clicks": {"type": "string"}}, **GEO))
)
"""1-0-0 counts clicks; 1-0-1 has them as text, which the table of the model cannot hold: it has a recovery table."""
MODEL_2: BigQueryTable = bigquery_table(
    versions(
        closed(
            clicks={"type": "string"},
            tags={"type": "array", "items": {"type": "integer"}},
            geo=closed(lat={"type": "integer"}, city={"type": "string"}),
        ),
        numbers=["2-0-0"],
    )
)
RECOVERY = MODEL_1.recovered[0]
RECOVERED = f"1r{RECOVERY.name.rpartition('_')[2]}"


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def events(dataset: EmulatedDataset) -> EmulatedDataset:
    """Model 1 with a row, and settings that say that versions are found by labels."""
    Path("onefold.yaml").write_text(f"datasets: {{{dataset.name}: {{version_pattern: labels}}}}")
    create(dataset, MODEL_1.name, bigquery_columns(MODEL_1.columns), "1")
    land(dataset, MODEL_1.name, clicks="5", tags="['a']", geo="STRUCT(1.5 AS lat)")
    return dataset


def create(dataset: EmulatedDataset, table: str, columns: list[Column], version: str | None, base: str = BASE) -> None:
    """A table as a loader of events creates it; without a version it has no labels."""
    labels = {LABEL_BASE: base, LABEL_VERSION: version} if version else None
    id_ = TableId(DEFAULT_PROJECT, dataset.name, table)
    EmulatedWarehouse(dataset.client).create_table(id_, columns, labels=labels)


def land(dataset: EmulatedDataset, table: str, **values: str) -> None:
    """A row with an envelope, of SQL literals."""
    row = {"schema_vendor": "'com.acme'", "root_id": f"'{table}'", "root_tstamp": "TIMESTAMP '2026-11-01 00:00:00+00'"}
    row |= values
    dataset.run(f"INSERT INTO {dataset.quoted(table)} ({', '.join(row)}) VALUES ({', '.join(row.values())})")


def land_all(dataset: EmulatedDataset) -> None:
    create(dataset, RECOVERY.name, bigquery_columns(RECOVERY.columns), RECOVERED)
    land(dataset, RECOVERY.name, clicks="'many'", tags="['b']", geo="STRUCT(2.5 AS lat)")
    create(dataset, MODEL_2.name, bigquery_columns(MODEL_2.columns), "2")
    land(dataset, MODEL_2.name, clicks="'7'", tags="[1, 2]", geo="STRUCT('Rome' AS city, 3 AS lat)")
    # Tables that are no versions: the events, and another one with the name of a version.
    create(dataset, "events", [Column("event_id", parse_type("STRING"))], None)
    create(dataset, f"{BASE}_3", [Column("clicks", parse_type("INT64"))], None)


def receive(dataset: EmulatedDataset, *messages: bytes, environ: Mapping[str, str] | None = None) -> MemoryPublisher:
    publisher = MemoryPublisher()
    receiver = TableCreatedHandler(load_settings(environ or {}), EmulatedWarehouse(dataset.client), publisher)
    for message in messages:
        receiver.handle(push_body(message))
    return publisher


def unified(dataset: EmulatedDataset) -> list[tuple[object, ...]]:
    return dataset.run(f"SELECT clicks, tags, geo FROM {dataset.quoted(UNIFIED)} ORDER BY clicks")


def views(dataset: EmulatedDataset) -> list[str]:
    return [item.table_id for item in dataset.client.list_tables(dataset.name) if item.table_type == "VIEW"]


def entry(dataset: EmulatedDataset, table: str, kind: str, version: str | None = None, **more: Any) -> bytes:
    """An entry of the audit log."""
    labels = {"tableInfo": {"labels": {LABEL_BASE: BASE, LABEL_VERSION: version}}} if version else {}
    resource = f"projects/{DEFAULT_PROJECT}/datasets/{dataset.name}/tables/{table}"
    body = {} if kind == "tableDeletion" else {"table": {**labels, **more}}
    return json.dumps({"protoPayload": {"metadata": {kind: body}, "resourceName": resource}}).encode()


def test_one_view_joins_all_models_and_recovery_tables(run: Run, events: EmulatedDataset) -> None:
    land_all(events)
    plan = run("plan", "--dataset", events.name, "--json").result
    assert plan["versions"] == ["1", RECOVERED, "2"]
    assert plan["left_out"] == []
    assert run("refresh", "--dataset", events.name, "--all").code == 0
    assert unified(events) == [
        ("5", ["a"], {"lat": "1.5", "city": None}),
        ("7", ["1", "2"], {"lat": "3", "city": "Rome"}),
        ("many", ["b"], {"lat": "2.5", "city": None}),
    ]
    envelope = events.run(f"SELECT root_id, root_tstamp, schema_vendor FROM {events.quoted(UNIFIED)} ORDER BY root_id")
    assert envelope == [
        (name, datetime(2026, 11, 1, tzinfo=UTC), "com.acme") for name in (MODEL_1.name, RECOVERY.name, MODEL_2.name)
    ]
    assert run("plan", "--dataset", events.name, BASE).code == 0
    assert views(events) == [UNIFIED], "rows of events have no key, so that there is no current view"


def test_a_message_names_a_version_whose_table_is_found_by_labels(
    events: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    receive(events, table_message(events.name, BASE, "1"))
    assert [row[0] for row in unified(events)] == [5]
    land_all(events)
    receive(events, table_message(events.name, BASE, RECOVERED))
    assert [row[0] for row in unified(events)] == ["5", "7", "many"]
    logged = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in logged] == ["refreshed", "refreshed"], "no line about a current view"
    assert {line["severity"] for line in logged} == {"NOTICE"}


def test_columns_that_a_load_adds_to_a_version_get_into_the_view(events: EmulatedDataset) -> None:
    message = table_message(events.name, BASE, "1")
    receive(events, message)
    added = Column("shop", parse_type("STRING"))
    EmulatedWarehouse(events.client).add_columns(TableId(DEFAULT_PROJECT, events.name, MODEL_1.name), [added])
    receive(events, message)
    assert events.run(f"SELECT shop FROM {events.quoted(UNIFIED)}") == [(None,)]


def test_entries_of_the_audit_log_name_versions_by_labels(events: EmulatedDataset) -> None:
    environ = {"ONEFOLD_TOPIC_TABLE_CREATED": "table-created"}
    receive(events, entry(events, MODEL_1.name, "tableCreation", "1"))
    land_all(events)
    ignored = [
        entry(events, f"{BASE}_3", "tableCreation"),
        entry(events, UNIFIED, "tableChange", "2", view={"query": "SELECT 1"}),
        entry(events, "onefold_leaf_0123456789ab_x", "tableDeletion"),
    ]
    assert receive(events, *ignored, environ=environ).topics == {}
    assert [row[0] for row in unified(events)] == [5]
    receive(events, entry(events, MODEL_2.name, "tableChange", "2"))
    assert [row[0] for row in unified(events)] == ["5", "7", "many"]
    deleted = receive(events, entry(events, MODEL_2.name, "tableDeletion"), environ=environ)
    expected = [table_message(events.name, BASE)]
    assert [message.data for message in deleted.topics["table-created"]] == expected, "all views of the dataset are checked"


def test_the_events_of_two_vendors_are_in_views_of_their_own_once_a_run_has_labelled_their_tables(
    events: EmulatedDataset,
) -> None:
    names = ("1-0-0", "ad_click", "com.acme"), ("2-0-0", "click", "com.acme.ad")
    schemas = [parsed(closed(clicks=INTEGER), version, name, vendor) for version, name, vendor in names]
    first, second = plan(*schemas, format_="parquet").tables[1:]
    assert first.name == MODEL_1.name
    # Before schemas had bases of their own, both tables had the label of the first.
    create(events, second.name, [Column(name, parse_type(type_)) for name, type_ in second.columns], second.version)
    land(events, second.name, clicks="7", schema_vendor="'com.acme.ad'")
    receive(events, table_message(events.name, BASE, second.version))
    vendors = "SELECT schema_vendor FROM {} ORDER BY clicks"
    assert events.run(vendors.format(events.quoted(UNIFIED))) == [("com.acme",), ("com.acme.ad",)]
    table = events.client.get_table(f"{events.name}.{second.name}")
    table.labels = {LABEL_BASE: second.base, LABEL_VERSION: second.version}
    events.client.update_table(table, ["labels"])
    environ = {"ONEFOLD_TOPIC_TABLE_CREATED": "table-created"}
    told = receive(events, dataset_message(events.name), environ=environ)
    receive(events, *(message.data for message in told.topics["table-created"]))
    assert events.run(vendors.format(events.quoted(UNIFIED))) == [("com.acme",)]
    assert events.run(vendors.format(events.quoted(f"{second.base}_unified"))) == [("com.acme.ad",)]


def test_a_version_is_retired_by_its_label_and_its_table_may_be_dropped(run: Run, events: EmulatedDataset) -> None:
    land_all(events)
    settings = Path("onefold.yaml").read_text()
    Path("onefold.yaml").write_text(f"{settings}\ntables: {{{BASE}: {{retire: ['{RECOVERED}']}}}}")
    assert run("refresh", "--dataset", events.name, BASE).code == 0
    assert [row[0] for row in unified(events)] == ["5", "7"]
    events.run(f"DROP TABLE {events.quoted(RECOVERY.name)}")
    assert [row[0] for row in unified(events)] == ["5", "7"]


def test_a_table_that_is_excluded_or_has_half_of_the_labels_is_listed_with_the_reason(
    run: Run, events: EmulatedDataset
) -> None:
    Path("onefold.yaml").write_text(f"datasets: {{{events.name}: {{version_pattern: labels, exclude: [{MODEL_1.name}]}}}}")
    create(events, MODEL_2.name, bigquery_columns(MODEL_2.columns), "2")
    create(events, "half", [Column("id", parse_type("INT64"))], "x")
    table = events.client.get_table(f"{events.name}.half")
    table.labels = {LABEL_VERSION: None}
    events.client.update_table(table, ["labels"])
    left_out = [left for plan in run("plan", "--dataset", events.name, "--json").results for left in plan["left_out"]]
    assert left_out == [
        {"table": MODEL_1.name, "reason": f"`exclude` has {MODEL_1.name}"},
        {"table": "half", "reason": "it has the label onefold_base, and no valid label onefold_version"},
    ]


def test_two_tables_with_the_labels_of_one_version_are_an_error(run: Run, events: EmulatedDataset) -> None:
    create(events, "copy", bigquery_columns(MODEL_1.columns), "1")
    outcome = run("refresh", "--dataset", events.name, BASE)
    assert outcome.code == 1
    assert f"{MODEL_1.name} and copy are version 1 by their labels: remove the label onefold_version" in outcome.err
    assert views(events) == []


def test_the_name_of_a_version_is_refused_as_a_base_name(run: Run, events: EmulatedDataset) -> None:
    outcome = run("plan", "--dataset", events.name, MODEL_1.name)
    assert outcome.code == 1
    assert f"give the base name, {BASE}" in outcome.err


def test_a_view_whose_last_version_was_dropped_is_removed_by_name(run: Run, events: EmulatedDataset) -> None:
    assert run("refresh", "--dataset", events.name, "--all").code == 0
    assert run("refresh", "--dataset", events.name, "--all", "--prune").code == 0
    assert views(events) == [UNIFIED]
    events.run(f"DROP TABLE {events.quoted(MODEL_1.name)}")
    assert run("refresh", "--dataset", events.name, "--all", "--prune").code == 0
    assert views(events) == []


def test_a_table_of_events_with_declared_keys_has_a_current_view(run: Run, events: EmulatedDataset) -> None:
    land(events, MODEL_1.name, clicks="6", root_tstamp="TIMESTAMP '2026-11-02 00:00:00+00'")
    with Path("onefold.yaml").open("a") as file:
        file.write(f"\ntables: {{{BASE}: {{keys: [root_id], order_by: [root_tstamp]}}}}")
    assert run("refresh", "--dataset", events.name, "--all").code == 0
    assert events.run(f"SELECT clicks FROM {events.quoted(f'{BASE}_current')}") == [(6,)]


def test_a_merge_of_the_dataset_finds_nothing_to_merge(run: Run, events: EmulatedDataset) -> None:
    outcome = run("merge", "--dataset", events.name, "--all")
    assert "nothing to merge" in outcome.out + outcome.err
    assert views(events) == []


def test_a_dataset_without_labels_has_no_versions(run: Run, dataset: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text("version_pattern: labels")
    create(dataset, MODEL_1.name, bigquery_columns(MODEL_1.columns), None)
    outcome = run("refresh", "--dataset", dataset.name, "--all")
    assert (outcome.code, views(dataset)) == (1, [])
    assert "has no versioned tables with the labels onefold_base and onefold_version" in outcome.err
    assert (
        "expected tables with the labels onefold_base: com_acme_ad_click"
        in run("refresh", "--dataset", dataset.name, BASE).err
    )


def test_render_is_refused_since_a_file_of_columns_has_no_labels(run: Run, events: EmulatedDataset) -> None:
    Path("columns.json").write_text("[]")
    outcome = run("render", BASE, "--columns", "columns.json", "--dataset", events.name)
    assert (outcome.code, outcome.out) == (1, "")
    assert "versions are found by labels" in outcome.err


def test_a_client_that_lists_tables_sees_labels(events: EmulatedDataset) -> None:
    (listed,) = events.client.list_tables(events.name)
    assert isinstance(listed, bigquery.table.TableListItem)
    assert listed.labels == {LABEL_BASE: BASE, LABEL_VERSION: "1"}
