"""The clean view of a pulled table reads its full view, which is its current view."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from google.api_core.exceptions import GoogleAPICallError
from support.bigquery_emulator import EmulatedDataset
from support.clean_shop import KEY, policies
from support.in_memory import push_body
from support.load_scene import NOON
from support.pulled_shop import VIEWS, PulledShop
from support.pulled_source import DATASET, KEYLESS, WIDER

from onefold.adapters.bigquery.hash_keys import BigQueryHashKeys
from onefold.batches.source_arguments import Window
from onefold.core.names import TableId
from onefold.settings.sources import TableLoad
from onefold.views.clean import waiting_columns
from onefold.views.handler import TableCreatedHandler
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

CLEAN, KEYS = f"{DATASET}__views_clean", f"{DATASET}__keys"


@pytest.fixture
def shop(dataset: EmulatedDataset, tmp_path: Path) -> PulledShop:
    """An empty dataset of pulled tables, with datasets of clean views and keys, and a key."""
    made = PulledShop(dataset, tmp_path)
    for name in (CLEAN, KEYS):
        dataset.client.delete_dataset(name, delete_contents=True, not_found_ok=True)
        dataset.client.create_dataset(name)
    BigQueryHashKeys(dataset.client).write(TableId(DEFAULT_PROJECT, KEYS, "hash_key"), KEY, replace=False)
    return made


def refresh(shop: PulledShop) -> None:
    """Handle the last message about a new version, with policies."""
    settings = replace(shop.settings, policies=policies(id="clear", name="hash"))
    handler = TableCreatedHandler(settings, EmulatedWarehouse(shop.dataset.client), shop.publisher)
    handler.handle(push_body(shop.publisher.topics["table-created"][-1].data))


@pytest.mark.parametrize("mode", ["incremental", "full"])
def test_a_message_writes_the_clean_view_over_the_full_view(shop: PulledShop, mode: str) -> None:
    window: Window = "15m"
    if mode == "full":
        shop.load, shop.puller.watermark, window = TableLoad("full"), None, "full"
        shop.source.structure = KEYLESS
    shop.source.put(1, "Ada", NOON)
    shop.pull(window, NOON)
    refresh(shop)
    view = EmulatedWarehouse(shop.dataset.client).get_view(TableId(DEFAULT_PROJECT, CLEAN, "score"))
    assert view is not None
    assert TableId(DEFAULT_PROJECT, VIEWS, "score").quoted in view.query
    assert "_current" not in view.query
    assert "name" not in waiting_columns(view.query)
    (row,) = shop.rows("score", CLEAN)
    assert (row["id"], row["name"], row["source_name"]) == (1, KEY.hash(b"Ada"), None)


def test_a_column_of_a_new_version_is_masked(shop: PulledShop) -> None:
    shop.source.put(1, "Ada", NOON)
    shop.pull("15m", NOON)
    refresh(shop)
    shop.source.structure = WIDER
    shop.pull("15m", NOON + timedelta(hours=1))
    refresh(shop)
    (row,) = shop.rows("score", CLEAN)
    assert (row["name"], row["note"]) == (KEY.hash(b"Ada"), None)


def test_the_view_is_closed_where_the_settings_do_not_name_the_source_any_more(shop: PulledShop) -> None:
    """Then nobody knows the full view, which the clean view reads, and the policies of today cannot be written."""
    shop.source.put(1, "Ada", NOON)
    shop.pull("15m", NOON)
    refresh(shop)
    settings = replace(shop.settings, sources={}, policies=policies(id="clear", name="mask"))
    handler = TableCreatedHandler(settings, EmulatedWarehouse(shop.dataset.client), shop.publisher)
    handler.handle(push_body(shop.publisher.topics["table-created"][-1].data))
    with pytest.raises(GoogleAPICallError, match="score_current does not exist"):
        shop.rows("score", CLEAN)
    refresh(shop)
    (row,) = shop.rows("score", CLEAN)
    assert row["name"] == KEY.hash(b"Ada")
