"""Current views of many versions, in two levels: with leaves of their own, on a server that checks what a view reads."""

from __future__ import annotations

import pytest
from support.changelogs import METADATA_TYPE
from support.fake_bigquery import FakeBigQuery, Request
from support.in_memory import MemoryPublisher, push_body

import onefold.views.unified_view
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.messages.table_created import table_message
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings
from onefold.views.handler import TableCreatedHandler

VERSIONS = 20


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> FakeBigQuery:
    monkeypatch.setattr(onefold.views.unified_view, "MAX_TEXT", 4_000)
    cloud = FakeBigQuery()
    for number in range(VERSIONS):
        add(cloud, number)
    return cloud


def add(cloud: FakeBigQuery, number: int) -> None:
    cloud.create_table(f"customer_v_{number:03}", "id INT64", "name STRING", f"datastream_metadata {METADATA_TYPE}")


def deliver(cloud: FakeBigQuery, version: str | None = None) -> MemoryPublisher:
    publisher = MemoryPublisher()
    settings = Settings(rules=TableRules(keys=("id",)), topic_dead_letter="dead-letter")
    handler = TableCreatedHandler(settings, BigQueryWarehouse(cloud.client()), publisher)
    handler.handle(push_body(table_message("shop", "customer", version)))
    assert "dead-letter" not in publisher.topics, [one.attributes for one in publisher.topics["dead-letter"]]
    return publisher


def leaves(cloud: FakeBigQuery, view: str) -> set[str]:
    return {name for name in cloud.names("VIEW") if name.startswith("onefold_leaf_") and name.endswith(view)}


def test_each_view_reads_its_own_leaves_and_all_versions(cloud: FakeBigQuery) -> None:
    deliver(cloud)
    for view in ("customer_unified", "customer_current"):
        query = cloud.resource(view)["view"]["query"]
        assert cloud.missing(query) == []
        assert leaves(cloud, view)
        assert all(leaf in query for leaf in leaves(cloud, view))
        texts = [cloud.resource(leaf)["view"]["query"] for leaf in leaves(cloud, view)]
        assert all(any(f"customer_v_{number:03}`" in text for text in texts) for number in range(VERSIONS))
    assert "customer_unified" not in cloud.resource("customer_current")["view"]["query"]


def test_leaves_that_a_view_reads_no_more_are_removed_after_it(cloud: FakeBigQuery) -> None:
    deliver(cloud)
    add(cloud, VERSIONS)
    deliver(cloud, f"{VERSIONS:03}")
    for view in ("customer_unified", "customer_current"):
        query = cloud.resource(view)["view"]["query"]
        assert cloud.missing(query) == []
        assert leaves(cloud, view) == {leaf for leaf in leaves(cloud, view) if leaf in query}


def test_a_covered_version_costs_two_calls_for_each_view_and_one_for_a_clean_view_that_may_be_there(
    cloud: FakeBigQuery,
) -> None:
    deliver(cloud)
    with cloud.counted() as made:
        deliver(cloud, "003")
    assert len(made) == 5
    assert made[-1] == Request("get", "customer")
