"""Messages about the tables of tenants: the views of the united table are kept as those of versioned tables are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.fake_bigquery import FakeBigQuery
from support.fake_tenants import KEYED, TENANTS, UNITE, brought_up, configured, tenants, text_of
from support.in_memory import MemoryPublisher, audit_entry, push_body
from support.rest import PROJECT

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import TryAgain
from onefold.messages.table_created import dataset_message, table_message
from onefold.refresh import limits
from onefold.settings.environment import Settings
from onefold.views.handler import TableCreatedHandler


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBigQuery:
    monkeypatch.chdir(tmp_path)
    return tenants()


class Function:
    """The function, with the lines that it logged."""

    def __init__(self, cloud: FakeBigQuery, settings: Settings) -> None:
        self.publisher = MemoryPublisher()
        self._handler = TableCreatedHandler(settings, BigQueryWarehouse(cloud.client()), self.publisher)

    def handle(self, message: bytes) -> str | None:
        return self._handler.handle(push_body(message))


@pytest.mark.parametrize(
    "message",
    [
        audit_entry("orders", dataset="tenant_d"),
        audit_entry("orders", "tableChange", dataset="tenant_d"),
        table_message("tenant_d", "orders"),
        table_message("united", "orders"),
    ],
)
def test_a_message_about_the_table_of_a_tenant_refreshes_the_views(cloud: FakeBigQuery, message: bytes) -> None:
    settings = configured(KEYED, ONEFOLD_DATASETS="shop,united")
    brought_up(cloud, settings)
    cloud.land("orders", TENANTS["tenant_a"], dataset="tenant_d")
    assert Function(cloud, settings).handle(message) is None
    for view in ("orders_unified", "orders_current"):
        assert f"`{PROJECT}.tenant_d.orders`" in text_of(cloud, view)


def test_a_message_about_a_table_that_was_deleted_refreshes_the_views(cloud: FakeBigQuery) -> None:
    settings = configured()
    brought_up(cloud, settings)
    cloud.drop("orders", "tenant_b")
    assert Function(cloud, settings).handle(audit_entry("orders", "tableDeletion", dataset="tenant_b")) is None
    assert not cloud.missing(text_of(cloud, "orders_unified"))


def test_an_error_of_the_tenants_own_views_does_not_keep_the_united_ones_from_their_turn(cloud: FakeBigQuery) -> None:
    settings = configured(f"{UNITE}tables: {{united.orders: {{keys: [id]}}, tenant_a.orders: {{keys: [nothing]}}}}")
    reason = Function(cloud, settings).handle(audit_entry("orders", dataset="tenant_a"))
    assert reason
    assert "tenant_a.orders has no column nothing for the key" in reason
    assert cloud.names("VIEW", "united") == ["orders_current", "orders_unified"]


@pytest.mark.parametrize(("table", "dataset"), [("stock", "tenant_a"), ("orders", "shop"), ("orders", "tenant_a__onefold")])
def test_a_message_about_another_table_leaves_them(cloud: FakeBigQuery, table: str, dataset: str) -> None:
    Function(cloud, configured(KEYED, ONEFOLD_DATASETS="shop")).handle(audit_entry(table, dataset=dataset))
    assert not cloud.names("VIEW", "united")


@pytest.mark.parametrize("dataset", ["united", "tenant_a"])
def test_a_message_about_a_dataset_is_one_for_the_united_table(cloud: FakeBigQuery, dataset: str) -> None:
    function = Function(cloud, configured(KEYED, ONEFOLD_TOPIC_TABLE_CREATED="table-created"))
    assert function.handle(dataset_message(dataset)) is None
    assert [message.data for message in function.publisher.topics["table-created"]] == [table_message(dataset, "orders")]


def test_the_log_says_why_a_united_table_of_too_many_tables_has_no_unified_view(
    cloud: FakeBigQuery, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(limits, "MAX_TABLES", 3)
    assert "merge them in groups" in str(Function(cloud, configured()).handle(table_message("united", "orders")))
    lines = {line["event"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert "BigQuery allows 3 in a query" in lines["no_unified"]["reason"]


def test_an_error_of_a_warehouse_that_may_pass_has_the_message_delivered_again(cloud: FakeBigQuery) -> None:
    cloud.fail("query", 404, "notFound", "Not found: Dataset")
    with pytest.raises(TryAgain, match="a dataset was removed meanwhile; try again"):
        Function(cloud, configured()).handle(table_message("united", "orders"))


@pytest.mark.parametrize(
    "message",
    [
        audit_entry("orders", dataset="tenant_d", project="another-project"),
        table_message("tenant_d", "orders", "abc"),
    ],
)
def test_a_message_about_another_project_or_a_version_is_none_about_the_table_of_a_tenant(
    cloud: FakeBigQuery, message: bytes
) -> None:
    settings = configured(KEYED, ONEFOLD_DATASETS="shop,united")
    brought_up(cloud, settings)
    cloud.land("orders", TENANTS["tenant_a"], dataset="tenant_d")
    Function(cloud, settings).handle(message)
    assert "tenant_d" not in text_of(cloud, "orders_unified")
