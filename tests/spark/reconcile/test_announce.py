"""A job's announcements over Pub/Sub's REST API, against a server that answers as Pub/Sub does."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from support.fake_bigquery import FakeBigQuery
from support.in_memory import ABC, DEF
from support.rest import PROJECT
from support.rest_topics import Topics, rest_topics

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.names import TableId
from onefold.refresh.write import refresh
from onefold.settings.environment import Settings
from onefold.spark.reconcile.announce import rest_announcer
from onefold.views.unified_kind import UnifiedKind

SETTINGS = Settings(topic_schema_changes="schema-changes")
BASE = TableId(PROJECT, "shop", "customer")


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Iterator[Topics]:
    with rest_topics() as server:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", server.address)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield server


def test_a_change_of_a_view_is_announced_as_the_function_does(topics: Topics) -> None:
    cloud = FakeBigQuery()
    warehouse = BigQueryWarehouse(cloud.client())
    cloud.land("customer_v_abc", ABC)
    refresh(UnifiedKind(warehouse, BASE, SETTINGS), announce=rest_announcer(PROJECT, SETTINGS))
    cloud.land("customer_v_def", DEF)
    refresh(UnifiedKind(warehouse, BASE, SETTINGS), announce=rest_announcer(PROJECT, SETTINGS))
    contents = [json.loads(base64.b64decode(message["data"])) for _, message in topics.published]
    assert [content["view"] for content in contents] == [f"{PROJECT}.shop.customer_unified"] * 2
    assert contents[1]["changes"]


def test_an_announcement_that_the_topic_refuses_is_stored_with_the_view(
    topics: Topics, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud = FakeBigQuery()
    warehouse = BigQueryWarehouse(cloud.client())
    cloud.land("customer_v_abc", ABC)
    topics.status = 403
    assert refresh(UnifiedKind(warehouse, BASE, SETTINGS), announce=rest_announcer(PROJECT, SETTINGS)).unannounced
    assert "is not announced yet" in capsys.readouterr().err
    topics.status = 200
    refresh(UnifiedKind(warehouse, BASE, SETTINGS), announce=rest_announcer(PROJECT, SETTINGS))
    assert len(topics.published) == 1


def test_without_a_topic_nothing_is_published(topics: Topics) -> None:
    cloud = FakeBigQuery()
    warehouse = BigQueryWarehouse(cloud.client())
    cloud.land("customer_v_abc", ABC)
    refresh(UnifiedKind(warehouse, BASE, Settings()), announce=rest_announcer(PROJECT, Settings()))
    assert topics.published == []
