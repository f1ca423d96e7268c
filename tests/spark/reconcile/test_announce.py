"""A job's announcements over Pub/Sub's REST API, against a server that answers as Pub/Sub does."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from support.in_memory import ABC, DEF, PROJECT, MemoryWarehouse

from onefold.adapters.pubsub_rest import RestPublisher
from onefold.core.errors import OnefoldError, Rejected, TopicRefused, TryAgain
from onefold.core.names import TableId
from onefold.ports.publisher import Message
from onefold.settings.environment import Settings
from onefold.spark.reconcile.announce import rest_announcer
from onefold.views.refresh import refresh

SETTINGS = Settings(topic_schema_changes="schema-changes")
BASE = TableId(PROJECT, "shop", "customer")


class Topics(ThreadingHTTPServer):
    """Keeps what is published; `status` is its answer to everything."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.published: list[tuple[str, dict[str, Any]]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Topics

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = (
            {"error": "no"}
            if self.server.status != 200
            else {"messageIds": [str(n) for n, _ in enumerate(body["messages"])]}
        )
        if self.server.status == 200:
            self.server.published += [(self.path, message) for message in body["messages"]]
        content = json.dumps(answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Iterator[Topics]:
    server = Topics()
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", f"127.0.0.1:{server.server_port}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


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
    with pytest.raises(kind, match=f"topic projects/{PROJECT}/topics/t: {status}") as caught:
        RestPublisher(PROJECT).publish("t", [Message(b"1")])
    assert type(caught.value) is kind


def test_a_change_of_a_view_is_announced_as_the_function_does(topics: Topics) -> None:
    warehouse = MemoryWarehouse()
    warehouse.land("shop", "customer_v_abc", ABC)
    refresh(warehouse, BASE, SETTINGS, announce=rest_announcer(PROJECT, SETTINGS))
    warehouse.land("shop", "customer_v_def", DEF)
    refresh(warehouse, BASE, SETTINGS, announce=rest_announcer(PROJECT, SETTINGS))
    contents = [json.loads(base64.b64decode(message["data"])) for _, message in topics.published]
    assert [content["view"] for content in contents] == [f"{PROJECT}.shop.customer_unified"] * 2
    assert contents[1]["changes"]


def test_an_announcement_that_the_topic_refuses_is_stored_with_the_view(
    topics: Topics, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = MemoryWarehouse()
    warehouse.land("shop", "customer_v_abc", ABC)
    topics.status = 403
    assert refresh(warehouse, BASE, SETTINGS, announce=rest_announcer(PROJECT, SETTINGS)).unannounced
    assert "is not announced yet" in capsys.readouterr().err
    topics.status = 200
    refresh(warehouse, BASE, SETTINGS, announce=rest_announcer(PROJECT, SETTINGS))
    assert len(topics.published) == 1


def test_without_a_topic_nothing_is_published(topics: Topics) -> None:
    warehouse = MemoryWarehouse()
    warehouse.land("shop", "customer_v_abc", ABC)
    refresh(warehouse, BASE, Settings(), announce=rest_announcer(PROJECT, Settings()))
    assert topics.published == []
