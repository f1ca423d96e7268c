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
from onefold.adapters.pubsub_rest import RestPublisher
from onefold.core.errors import OnefoldError, Rejected, TopicRefused, TryAgain
from onefold.core.names import TableId
from onefold.ports.publisher import Message
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


def test_messages_arrive_unchanged(topics: Topics) -> None:
    assert RestPublisher(PROJECT).publish("t", [Message(b"\xff", {"a": "b"}), Message(b"")]) == ["0", "1"]
    (path, first), (_, second) = topics.published
    assert path == f"/v1/projects/{PROJECT}/topics/t:publish"
    assert (base64.b64decode(first["data"]), first["attributes"]) == (b"\xff", {"a": "b"})
    assert base64.b64decode(second["data"]) == b""


def test_a_topic_may_be_named_by_its_full_path(topics: Topics) -> None:
    RestPublisher(PROJECT).publish("projects/other/topics/t", [Message(b"1")])
    assert topics.published[0][0] == "/v1/projects/other/topics/t:publish"


@pytest.mark.parametrize(
    ("status", "kind"), [(403, TopicRefused), (404, Rejected), (400, Rejected), (429, TryAgain), (503, TryAgain)]
)
def test_an_error_of_pubsub_is_transient_or_final_by_its_status(
    topics: Topics, status: int, kind: type[OnefoldError]
) -> None:
    topics.status = status
    with pytest.raises(kind, match=f"^topic projects/{PROJECT}/topics/t: {status} that cannot be$") as caught:
        RestPublisher(PROJECT).publish("t", [Message(b"1")])
    assert type(caught.value) is kind


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
