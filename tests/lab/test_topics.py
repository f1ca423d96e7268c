"""The stand-in for Pub/Sub, used by Pub/Sub's own client: messages are delivered until their function accepts them."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest
from support.capture import eventually

from onefold.adapters.pubsub import PubSub
from onefold.adapters.pubsub_rest import RestPublisher
from onefold.core.errors import Rejected, TryAgain
from onefold.core.retry import Backoff
from onefold.ports.publisher import REASON, Message
from onefold_lab.processes import free_port
from onefold_lab.topics import PushTopic, topics_server


class Function(ThreadingHTTPServer):
    """A function that answers each delivery of a message with the next of its status codes, then with 204."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[bytes, list[int]] = {}
        self.deliveries: list[tuple[bytes, int]] = []
        self.reasons: dict[bytes, str] = {}
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def answer(self, data: bytes) -> int:
        with self.lock:
            status = (self.answers.get(data) or [204]).pop(0)
            self.deliveries.append((data, status))
            return status


class _Handler(BaseHTTPRequestHandler):
    server: Function

    def do_POST(self) -> None:
        data = base64.b64decode(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["message"]["data"])
        self.send_response(self.server.answer(data))
        if data in self.server.reasons:
            self.send_header(REASON, quote(self.server.reasons[data]))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing in the output of the tests."""


@pytest.fixture
def function() -> Iterator[Function]:
    with Function() as function:
        threading.Thread(target=function.serve_forever, args=(0.05,), daemon=True).start()
        yield function
        function.shutdown()


@pytest.fixture
def shown() -> list[str]:
    return []


@contextmanager
def serving(function: Function, shown: list[str]) -> Iterator[str]:
    topics = {"rows": PushTopic("rows", function.url), "changes": PushTopic("changes")}
    with topics_server(topics, free_port(), shown.append) as address:
        yield address


@pytest.fixture
def publisher(function: Function, shown: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[PubSub]:
    monkeypatch.setattr("onefold_lab.topics._REDELIVERY", Backoff(first=0.01, longest=0.01))
    with serving(function, shown) as address:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", address)
        yield PubSub("local")


def test_each_message_is_confirmed_and_delivered_to_the_function_of_its_topic(publisher: PubSub, function: Function) -> None:
    identifiers = publisher.publish("rows", [Message(b"one"), Message(b"two")])
    assert len(set(identifiers)) == 2
    eventually(lambda: len(function.deliveries) == 2)
    assert sorted(function.deliveries) == [(b"one", 204), (b"two", 204)]


@pytest.mark.parametrize("status", [500, 400])
def test_a_message_is_delivered_until_its_function_accepts_it_and_others_do_not_wait(
    publisher: PubSub, function: Function, shown: list[str], status: int
) -> None:
    function.answers[b"wrong"] = [status] * 10_000
    publisher.publish("rows", [Message(b"wrong")])
    eventually(lambda: len(function.deliveries) > 5)
    publisher.publish("rows", [Message(b"right")])
    eventually(lambda: (b"right", 204) in function.deliveries)
    assert "rows, message 1: delivered again in 0.01 s, because the function does not accept it" in shown[0]
    function.answers[b"wrong"] = []
    eventually(lambda: (b"wrong", 204) in function.deliveries)


def test_a_message_that_its_function_acknowledges_and_does_not_handle_is_delivered_once(
    publisher: PubSub, function: Function, shown: list[str]
) -> None:
    function.reasons[b"wrong"] = "unknown table “größe”"
    publisher.publish("rows", [Message(b"wrong")])
    eventually(lambda: shown)
    assert shown == ["rows, message 1: its function acknowledges it and does not handle it: unknown table “größe”"]
    publisher.publish("rows", [Message(b"right")])
    eventually(lambda: (b"right", 204) in function.deliveries)
    assert function.deliveries == [(b"wrong", 204), (b"right", 204)]
    assert len(shown) == 1


def test_messages_of_a_topic_without_a_function_are_shown(publisher: PubSub, shown: list[str]) -> None:
    publisher.publish("changes", [Message(b'{"table": "customer"}'), Message(b"x" * 2_000)])
    assert shown == ['changes: {"table": "customer"}', f"changes: {'x' * 1_000}…"]


def test_an_unknown_topic_is_an_error_that_names_the_known_ones(publisher: PubSub) -> None:
    with pytest.raises(Rejected, match=r"projects/local/topics/rws is not a topic; known are rows, changes"):
        publisher.publish("rws", [Message(b"one")])
    assert publisher.topic_problems("rows", "me") == []
    assert "does not exist" in publisher.topic_problems("rws", "me")[0]


def test_jobs_publish_over_rest_to_the_same_topics(
    function: Function, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    topics = {"rows": PushTopic("rows", function.url), "changes": PushTopic("changes")}
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", f"127.0.0.1:{port}")
    with topics_server(topics, free_port(), shown.append, port):
        publisher = RestPublisher("local")
        identifiers = publisher.publish("rows", [Message("größe".encode()), Message(b"\xff")])
        assert len(set(identifiers)) == 2
        eventually(lambda: len(function.deliveries) == 2)
        assert sorted(data for data, _ in function.deliveries) == ["größe".encode(), b"\xff"]
        publisher.publish("projects/local/topics/changes", [Message(b"changed")])
        assert shown == ["changes: changed"]
        with pytest.raises(Rejected, match=r"404 .*rws is not a topic"):
            publisher.publish("rws", [Message(b"one")])
    with pytest.raises(TryAgain):  # nobody listens any more
        publisher.publish("rows", [Message(b"late")])


def test_nothing_is_delivered_after_the_end(function: Function, shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onefold_lab.topics._REDELIVERY", Backoff(first=0.2, longest=0.2))
    function.answers[b"wrong"] = [500] * 10_000
    with serving(function, shown) as address:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", address)
        PubSub("local").publish("rows", [Message(b"wrong")])
        eventually(lambda: function.deliveries)
    before = list(function.deliveries)
    waiting = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    for timer in waiting:
        timer.join()
    assert function.deliveries == before
