"""The full view of a pulled table, which the messages about new versions keep, in the embedded BigQuery."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.in_memory import push_body
from support.load_scene import DAILY, NOON
from support.merge_shop import merge
from support.pulled_shop import VIEWS, PulledShop
from support.pulled_source import BASE as TABLE
from support.pulled_source import DATASET, KEYLESS, WIDER
from support.sweeps import sweep

from onefold.adapters.connect import connect
from onefold.batches.source_arguments import Window
from onefold.cli.common import check_view_settings
from onefold.core.errors import KeyUnknown, SettingsChanged
from onefold.core.names import TableId
from onefold.settings.environment import Settings
from onefold.settings.sources import TableLoad
from onefold.views.handler import TableCreatedHandler
from onefold.views.refresh_current import keep_current, refresh_current
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

BASE = replace(TABLE, project=DEFAULT_PROJECT)


@pytest.fixture
def shop(dataset: EmulatedDataset, tmp_path: Path) -> PulledShop:
    return PulledShop(dataset, tmp_path)


def refresh(shop: PulledShop) -> None:
    """Handle the last message about a new version."""
    handler = TableCreatedHandler(shop.settings, connect(DEFAULT_PROJECT), shop.publisher)
    handler.handle(push_body(shop.publisher.topics["table-created"][-1].data))


def people_read(shop: PulledShop) -> list[dict[str, Any]]:
    return sorted(shop.rows("score", VIEWS), key=lambda row: row["id"])


def test_the_full_view_has_the_name_of_the_table_and_the_present_rows(shop: PulledShop) -> None:
    shop.source.put(1, "Ada", NOON)
    shop.source.put(2, "deleted", NOON)
    shop.pull("15m", NOON)
    refresh(shop)
    shop.source.put(1, "Lovelace", NOON + timedelta(hours=1))
    shop.source.put(2, None, NOON + timedelta(hours=1))
    shop.pull("day", DAILY)
    (row,) = people_read(shop)
    assert (row["id"], row["name"], row["source_name"], row["database_name"]) == (1, "Lovelace", "fraud", "models")
    assert row.keys() == {"id", "name", "changed_at", "source_name", "database_name"}


def test_no_current_view_is_made_beside_it(shop: PulledShop) -> None:
    shop.source.put(1, "Ada", NOON)
    shop.pull("15m", NOON)
    refresh(shop)
    names = {table.table_id for table in shop.dataset.client.list_tables(DATASET) if table.table_type == "VIEW"}
    assert names == {"score_unified"}


def test_a_new_version_is_in_the_full_view(shop: PulledShop) -> None:
    shop.source.put(1, "Ada", NOON)
    shop.pull("15m", NOON)
    refresh(shop)
    shop.source.structure = WIDER
    shop.pull("15m", NOON + timedelta(hours=1))
    refresh(shop)
    assert [(row["id"], row["note"]) for row in people_read(shop)] == [(1, "?")]


@pytest.mark.parametrize("mode", sweep(["incremental", "full"]))
def test_a_full_view_that_has_got_a_column_is_not_written_again(
    shop: PulledShop, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if mode == "full":
        shop.load, shop.puller.watermark = TableLoad("full"), None
    window: Window = "15m" if mode == "incremental" else "full"
    shop.source.put(1, "Ada", NOON)
    shop.pull(window, NOON)
    refresh(shop)
    shop.source.structure = WIDER
    shop.pull(window, NOON + timedelta(hours=1))
    refresh(shop)
    capsys.readouterr()
    refresh(shop)
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    assert [line["action"] for line in lines if line["event"] == "current_refreshed"] == ["none"]


def test_the_full_view_of_a_table_that_is_loaded_full_shows_the_newest_load_alone(shop: PulledShop) -> None:
    shop.load, shop.puller.watermark = TableLoad("full"), None
    shop.source.structure = KEYLESS
    shop.source.put(1, "Ada", NOON)
    shop.source.put(2, "Grace", NOON)
    shop.pull("full", NOON)
    refresh(shop)
    assert [row["name"] for row in people_read(shop)] == ["Ada", "Grace"]
    older = shop.tables
    shop.source.put(1, None, NOON)
    shop.source.structure = WIDER.__class__("score", WIDER.columns)
    shop.pull("full", DAILY)
    refresh(shop)
    # As if the load had been killed before it emptied the older version.
    (name,) = older
    rows = [{**row, "changed_at": None, "_landed_at": None, "_day": "0001-01-01"} for row in older[name]]
    assert shop.dataset.client.insert_rows_json(f"{DEFAULT_PROJECT}.{DATASET}.{name}", rows) == []
    assert [(row["name"], row["note"]) for row in people_read(shop)] == [("Grace", "?")]


def test_a_changed_mode_is_shown_by_commands_and_logged_by_messages(
    shop: PulledShop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.source.put(1, "Ada", NOON)
    shop.pull("15m", NOON)
    refresh(shop)
    shop.load = TableLoad("full")
    warehouse, of_a_person = connect(DEFAULT_PROJECT), replace(shop.settings, keep_view_settings=True)
    with pytest.raises(SettingsChanged, match="another setting of mode: incremental -> full"):
        refresh_current(warehouse, BASE, (), of_a_person)
    with pytest.raises(SettingsChanged, match="another setting of mode: incremental -> full"):
        check_view_settings(warehouse, BASE, of_a_person)
    capsys.readouterr()
    refresh(shop)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (changed,) = (line for line in lines if line["event"] == "settings_changed")
    assert (changed["severity"], changed["settings"]) == (
        "WARNING", [{"setting": "mode", "before": "incremental", "after": "full"}]
    )  # fmt: skip
    refresh_current(warehouse, BASE, (), of_a_person)


def test_without_the_source_in_the_settings_no_second_view_is_made(shop: PulledShop) -> None:
    shop.source.put(1, "Ada", NOON)
    shop.pull("15m", NOON)
    refresh(shop)
    warehouse, blind = connect(DEFAULT_PROJECT), replace(shop.settings, sources={})
    TableCreatedHandler(blind, warehouse, shop.publisher).handle(push_body(shop.publisher.topics["table-created"][-1].data))
    with pytest.raises(KeyUnknown, match=r"name the deployment's onefold.yaml"):
        refresh_current(warehouse, BASE, ("id",), blind)
    names = {table.table_id for table in shop.dataset.client.list_tables(DATASET) if table.table_type == "VIEW"}
    assert names == {"score_unified"}
    assert people_read(shop)[0].keys() == {"id", "name", "changed_at", "source_name", "database_name"}


@pytest.mark.long
def test_a_merge_leaves_the_view_of_the_newest_load(shop: PulledShop) -> None:
    shop.load, shop.puller.watermark = TableLoad("full"), None
    for hour, names in enumerate((["Ada", "Grace"], ["Ada"])):
        shop.source.operations.clear()
        for key, name in enumerate(names):
            shop.source.put(key, name, NOON)
        shop.pull("full", NOON + timedelta(hours=hour))
        refresh(shop)
        plan, _ = merge(connect(DEFAULT_PROJECT), BASE, shop.settings)
        keep_current(connect(DEFAULT_PROJECT), plan, shop.settings)
        assert [row["name"] for row in people_read(shop)] == names


@pytest.mark.long
def test_a_merge_reads_rows_that_a_long_load_has_made_visible_after_it(shop: PulledShop) -> None:
    shop.source.put(1, "Ada", NOON)
    shop.pull("15m", NOON)
    warehouse = connect(DEFAULT_PROJECT)
    merge(warehouse, BASE, shop.settings)
    # The read began hours ago, and its load job has ended just now. The clock of the source may be wrong as well.
    shop.source.put(2, "landed late", NOON + timedelta(minutes=1))
    shop.pull("15m", NOON + timedelta(minutes=2))
    merge(warehouse, BASE, shop.settings)
    rows = shop.rows("score_base")
    assert {row["name"] for row in rows} == {"Ada", "landed late"}
    shop.source.put(3, "not merged", NOON + timedelta(minutes=3))
    shop.pull("15m", NOON + timedelta(minutes=4))
    refresh(shop)
    assert [row["name"] for row in people_read(shop)] == ["Ada", "landed late", "not merged"]


def test_a_table_of_another_dataset_keeps_the_name_of_its_current_view() -> None:
    base = TableId("p", "shop", "customer")
    assert Settings().current_view_of(base) == base.sibling("customer_current")
