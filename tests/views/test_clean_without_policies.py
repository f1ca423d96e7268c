"""A clean view outlives the policies of onefold.yaml: then every column of it is masked, and the log says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.clean_shop import BY_ID, CleanShop, policies
from support.cli import Run
from support.fake_bigquery import FakeBigQuery
from support.functions import RefreshView
from support.in_memory import MemoryPublisher, push_body
from support.merge_shop import Shop
from support.sweeps import sweep

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import LANDED_AT
from onefold.core.errors import AccessDenied
from onefold.core.names import TableId
from onefold.messages.table_created import table_message
from onefold.ports.warehouse import StoredView, ViewDraft
from onefold.schema.column_policy import ColumnPolicies
from onefold.settings.environment import Settings
from onefold.views.clean import waiting_columns
from onefold.views.handler import TableCreatedHandler
from onefold.views.refresh_current import refresh_current
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

CUSTOMER = {"id": "INT64", "address": "STRUCT<zip STRING>", LANDED_AT: "TIMESTAMP"}
WIDER = {**CUSTOMER, "address": "STRUCT<zip STRING, phone STRING>"}
WITHOUT = "tables:\n  customer: {keys: [id], overlap_minutes: 0}\n"
RULES = {"id": "clear", "address": "clear", "address__zip": "clear"}


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    """A version with one row."""
    shop = Shop(dataset)
    shop.create("a1", CUSTOMER)
    shop.land("a1", change("INSERT", "1", id=1, address={"zip": "1"}))
    return shop


@pytest.fixture
def clean(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> CleanShop:
    """A clean view that shows every column, with the key of hashes."""
    made = CleanShop(shop.dataset, monkeypatch)
    made.write_key()
    made.function(**RULES).deliver("a1")
    assert made.rows() == [(1, {"zip": "1"})]
    return made


@pytest.fixture
def without(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> RefreshView:
    """The function, deployed with a file that has no policies."""
    return RefreshView(dataset, monkeypatch, rules=BY_ID)


def land_wider(shop: Shop) -> None:
    """A version whose struct has a field more."""
    shop.create("b2", WIDER)
    shop.land("b2", change("INSERT", "2", id=2, address={"zip": "2", "phone": "030"}))


def lines(capsys: pytest.CaptureFixture[str], event: str) -> list[dict[str, Any]]:
    found = map(json.loads, capsys.readouterr().out.splitlines())
    return [line for line in found if line["event"] == event]


@pytest.mark.parametrize("version", sweep(["a1", None]))
def test_any_message_masks_every_column_and_says_so(
    clean: CleanShop, without: RefreshView, capsys: pytest.CaptureFixture[str], version: str | None
) -> None:
    without.deliver(version)
    assert clean.rows() == [(None, None)]
    assert waiting_columns(clean.view().query) == ("id", "address.zip")
    (line,) = lines(capsys, "no_policies")
    assert (line["severity"], line["view"]) == ("WARNING", str(clean.view().id))
    assert f"every column of {clean.view().id} is masked" in line["message"]


def test_a_new_field_of_a_struct_is_not_shown(clean: CleanShop, without: RefreshView, shop: Shop) -> None:
    land_wider(shop)
    without.deliver("b2")
    assert clean.rows() == [(None, None), (None, None)]


class StopsAtCurrent(EmulatedWarehouse):
    """A warehouse whose process dies right after the current view was written."""

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        super().update_view(stored, draft)
        if stored.id.table == "customer_current":
            raise KeyboardInterrupt


def test_a_new_field_of_a_struct_is_not_shown_where_the_process_dies(clean: CleanShop, shop: Shop) -> None:
    land_wider(shop)
    with pytest.raises(KeyboardInterrupt):
        refresh_current(StopsAtCurrent(clean.client), clean.base, (), Settings(rules=BY_ID))
    assert "030" in str(shop.dataset.rows("customer_current"))
    assert clean.rows() == [(None, None), (None, None)]


def test_policies_that_come_back_show_the_columns_again(clean: CleanShop, without: RefreshView) -> None:
    without.deliver("a1")
    clean.function(**RULES).deliver("a1")
    assert clean.rows() == [(1, {"zip": "1"})]


def test_a_command_that_accepts_the_settings_masks_them_too(
    run: Run, clean: CleanShop, dataset: EmulatedDataset, tmp_path: Path
) -> None:
    (tmp_path / "onefold.yaml").write_text(WITHOUT)
    refused = run("refresh", f"{dataset.name}.customer")
    assert (refused.code, "was written with other policies" in refused.err) == (1, True)
    assert clean.rows() == [(1, {"zip": "1"})]
    assert run("refresh", f"{dataset.name}.customer", "--accept-settings").code == 0
    assert clean.rows() == [(None, None)]


def test_prune_removes_the_clean_view_with_the_others(
    run: Run, clean: CleanShop, dataset: EmulatedDataset, tmp_path: Path
) -> None:
    (tmp_path / "onefold.yaml").write_text(WITHOUT)
    dataset.run(f"DROP TABLE {dataset.quoted('customer_v_a1')}")
    assert run("refresh", "--dataset", dataset.name, "--all", "--prune").code == 0
    assert clean.stored() is None


def test_views_that_others_wrote_are_left_alone(
    clean: CleanShop, without: RefreshView, dataset: EmulatedDataset, shop: Shop
) -> None:
    clean.warehouse.update_view(clean.view(), ViewDraft("SELECT 7 AS x"))
    land_wider(shop)
    without.deliver("b2")
    assert clean.rows() == [(7,)]
    assert len(dataset.rows("customer_current")) == 2


def check_right(id_: TableId) -> None:
    """Answer as BigQuery does to an account without a right on clean views: it does not say whether they exist."""
    if (id_.dataset or "").endswith("__views_clean"):
        raise AccessDenied(f"Access Denied: Table {id_}: Permission bigquery.tables.get denied (or it may not exist)")


class Denied(BigQueryWarehouse):
    """A warehouse whose account has no right on datasets of clean views."""

    def get_view(self, id_: TableId) -> StoredView | None:
        check_right(id_)
        return super().get_view(id_)


def deny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the account have no right on datasets of clean views."""

    def get_view(warehouse: EmulatedWarehouse, id_: TableId) -> StoredView | None:
        check_right(id_)
        return found(warehouse, id_)

    found = EmulatedWarehouse.get_view
    monkeypatch.setattr(EmulatedWarehouse, "get_view", get_view)


@pytest.mark.parametrize("rules", [None, policies(**RULES)], ids=["no-policies", "policies"])
def test_clean_views_that_may_not_be_read_show_nothing_new_where_the_deployment_has_them(
    clean: CleanShop, shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rules: ColumnPolicies
) -> None:
    known = frozenset({shop.dataset.name})
    function = RefreshView(shop.dataset, monkeypatch, rules=BY_ID, policies=rules, clean_datasets=known)
    land_wider(shop)
    deny(monkeypatch)
    assert function.answer("b2").status_code == 500
    assert f"{shop.dataset.name}__views_clean" in capsys.readouterr().out
    assert clean.rows() == [(1, {"zip": "1"})]


def test_a_dataset_without_clean_views_gets_its_current_view_where_others_have_policies(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cloud = FakeBigQuery()
    cloud.land("customer_v_a1", {"id": "INT64"}, "crm")
    settings = Settings(rules=BY_ID, policies=policies(id="clear"), clean_datasets=frozenset({"shop"}))
    TableCreatedHandler(settings, Denied(cloud.client()), MemoryPublisher()).handle(
        push_body(table_message("crm", "customer"))
    )
    assert "customer_current" in cloud.names("VIEW", "crm")
    assert [line["severity"] for line in lines(capsys, "no_clean")] == ["NOTICE"]


def test_an_account_without_a_right_on_clean_views_keeps_none_and_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    cloud = FakeBigQuery()
    for table in ("customer", "orders"):
        cloud.land(f"{table}_v_a1", {"id": "INT64"})
    handler = TableCreatedHandler(Settings(), Denied(cloud.client()), MemoryPublisher())
    for table in ("customer", "orders"):
        handler.handle(push_body(table_message("shop", table)))
    (line,) = lines(capsys, "no_clean")
    assert line["severity"] == "NOTICE"
    assert "may not see whether dataset shop__views_clean exists" in line["message"]
