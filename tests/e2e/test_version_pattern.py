"""A dataset with a version_pattern of its own, from end to end in the embedded BigQuery."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.cli import Run
from support.in_memory import MemoryPublisher, push_body
from support.merge_shop import CUSTOMER, LONG_AGO

from onefold.changelog.metadata import LANDED_AT
from onefold.core.names import TableId
from onefold.core.versioned_names import VersionedNames
from onefold.messages.table_created import table_message
from onefold.refresh.labels import fingerprint_of
from onefold.settings.environment import Settings, load_settings
from onefold.views.handler import TableCreatedHandler
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

PATTERN = "(?P<base>.+)_(?P<version>[0-9]+|1r[0-9a-f]+)"
BASE = "com_acme_ad_click"
ROWS = [("1", "a", None), ("2", "b", None), ("x", None, 5)]


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shop(dataset: EmulatedDataset) -> EmulatedDataset:
    """Two versions and a recovered one, other tables, and settings that say how versions are named."""
    dataset.land(f"{BASE}_1", {"id": "INT64", "name": "STRING"}, "1, 'a'")
    dataset.land(f"{BASE}_1r0f", {"id": "INT64", "name": "STRING"}, "2, 'b'")
    dataset.land(f"{BASE}_2", {"id": "STRING", "clicks": "INT64"}, "'x', 5")
    dataset.land(f"{BASE}_copy", {"id": "INT64", "name": "STRING"}, "1, 'a'")
    dataset.land("tmp_1", {"id": "INT64"}, "1")
    Path("onefold.yaml").write_text(f"datasets: {{{dataset.name}: {{version_pattern: '{PATTERN}', exclude: ['tmp.*']}}}}")
    return dataset


def audit_entry(dataset: str, table: str) -> bytes:
    resource = f"projects/{DEFAULT_PROJECT}/datasets/{dataset}/tables/{table}"
    return json.dumps({"protoPayload": {"metadata": {"tableCreation": {}}, "resourceName": resource}}).encode()


def events(publisher: MemoryPublisher, dataset: EmulatedDataset, messages: Iterable[bytes]) -> None:
    receiver = TableCreatedHandler(load_settings({}), EmulatedWarehouse(dataset.client), publisher)
    for message in messages:
        receiver.handle(push_body(message))


def test_plan_lists_what_is_left_out_and_refresh_reads_the_rest(run: Run, shop: EmulatedDataset) -> None:
    outcome = run("plan", "--dataset", shop.name)
    assert outcome.code == 2
    assert all(words in outcome.out for words in (f"{BASE}_copy", "is no version by", "tmp_1", "`exclude` has tmp.*"))
    plan, unused = run("plan", "--dataset", shop.name, "--json").results
    assert plan["versions"] == ["1", "1r0f", "2"]
    rule = "BASE_VERSION, where version_pattern of onefold.yaml says what BASE and VERSION may be"
    reason = f"copy is no version by version_pattern: expected a table named as {rule}"
    assert plan["left_out"] == [{"table": f"{BASE}_copy", "reason": reason}]
    assert (unused["table"], unused["action"]) == (f"local.{shop.name}.tmp", "none")
    assert run("refresh", "--dataset", shop.name, "--all").code == 0
    assert shop.rows(f"{BASE}_unified") == ROWS
    assert run("plan", "--dataset", shop.name, BASE).code == 0


def test_render_reads_rows_of_the_pattern(run: Run, shop: EmulatedDataset) -> None:
    columns = [
        {"table_name": name, "column_name": "id", "ordinal_position": 1, "data_type": "INT64"}
        for name in (f"{BASE}_1", f"{BASE}_2", f"{BASE}_copy", f"{BASE}_v_3")
    ]
    Path("columns.json").write_text(json.dumps(columns))
    outcome = run("render", BASE, "--columns", "columns.json", "--dataset", shop.name)
    assert outcome.out.count("FROM `") == 2
    assert f"FROM `{shop.name}.{BASE}_1`" in outcome.out


@pytest.mark.parametrize("way", ["message", "audit entry"])
def test_a_message_and_an_audit_entry_refresh_the_view(shop: EmulatedDataset, way: str) -> None:
    publisher = MemoryPublisher()
    first, second = (
        table_message(shop.name, BASE, version) if way == "message" else audit_entry(shop.name, f"{BASE}_{version}")
        for version in ("1", "3")
    )
    events(publisher, shop, [first])
    assert shop.rows(f"{BASE}_unified") == ROWS
    shop.land(f"{BASE}_3", {"id": "STRING", "at": "DATE"}, "'y', NULL")
    events(publisher, shop, [second])
    assert len(shop.rows(f"{BASE}_unified")) == 4
    warehouse = EmulatedWarehouse(shop.client)
    with Path("onefold.yaml").open("a") as file:
        file.write(f"\ntables: {{{BASE}: {{current: false}}}}")
    TableCreatedHandler(load_settings({}), warehouse, publisher).handle(push_body(second))
    assert warehouse.calls == 3, (
        "the view covers the version: a look at it, at the table and at the clean view is all it takes"
    )
    assert publisher.topics == {}


def test_left_out_tables_are_ignored_and_other_tables_are_refused(
    shop: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    left_out = [
        table_message(shop.name, "tmp", "1"),
        table_message(shop.name, "tmp"),
        audit_entry(shop.name, "tmp_1"),
        audit_entry(shop.name, f"{BASE}_copy"),
    ]
    events(MemoryPublisher(), shop, left_out)
    logged = [json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()]
    assert logged == ["ignored"] * 4
    events(MemoryPublisher(), shop, [table_message(shop.name, BASE, "copy")])
    assert "expected a table named as" in capsys.readouterr().out
    assert not [item for item in shop.client.list_tables(shop.name) if item.table_type == "VIEW"]


def test_a_check_of_the_dataset_publishes_a_message_for_each_table_of_the_pattern(shop: EmulatedDataset) -> None:
    publisher = MemoryPublisher()
    settings = load_settings({"ONEFOLD_TOPIC_TABLE_CREATED": "table-created"})
    TableCreatedHandler(settings, EmulatedWarehouse(shop.client), publisher).handle(
        push_body(json.dumps({"dataset": shop.name}).encode())
    )
    assert [message.data for message in publisher.topics["table-created"]] == [table_message(shop.name, BASE)]


def test_merge_and_current_read_the_tables_of_the_pattern(run: Run, dataset: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text(f"datasets: {{{dataset.name}: {{version_pattern: '{PATTERN}'}}}}")
    columns = {**CUSTOMER, LANDED_AT: "TIMESTAMP"}
    land_changes(dataset, f"{BASE}_1", columns, [{**change("INSERT", "1", id=1, name="a"), LANDED_AT: LONG_AGO}])
    land_changes(dataset, f"{BASE}_2", columns, [{**change("UPDATE-INSERT", "2", id=1, name="b"), LANDED_AT: LONG_AGO}])
    assert run("merge", "--dataset", dataset.name, BASE, "--keys", "id").code == 0
    assert [row[:2] for row in dataset.rows(f"{BASE}_base")] == [(1, "b")]
    assert run("current", "--dataset", dataset.name, BASE, "--keys", "id").code == 0
    log = dataset.run(f"SELECT versions FROM {dataset.quoted(f'{BASE}_merges')} WHERE finished_as = 'merge'")
    assert [json.loads(str(versions)) for (versions,) in log] == [["1", "2"]]


def test_another_pattern_is_another_view(shop: EmulatedDataset) -> None:
    base = TableId(DEFAULT_PROJECT, shop.name, BASE)
    digests = {
        fingerprint_of(Settings(names=names), base)
        for names in (VersionedNames(), VersionedNames(PATTERN), VersionedNames(PATTERN, exclude=(f"{BASE}_2",)))
    }
    assert len(digests) == 3
