"""Local topics: messages are delivered until their function accepts them, or an error shows its log."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from support.capture import eventually

from onefold.core.errors import Rejected
from onefold.core.retry import Backoff
from onefold.core.shutdown import Stop, Stopped
from onefold.ports.publisher import Message
from onefold_lab.pubsub import Listener, LocalTopics


class _Function(BaseHTTPRequestHandler):
    """A function that answers with the status codes of the server, then with 204."""

    server: _Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing in the output of the tests."""


class _Server(HTTPServer):
    """A server with the status codes of its next answers."""

    answers: list[int]


@contextmanager
def topics(*answers: int, stop: Stop) -> Iterator[tuple[LocalTopics, list[tuple[str, bytes]]]]:
    """Run a function that answers so. Yields topics with the topic `a`, and the accepted messages."""
    accepted: list[tuple[str, bytes]] = []
    with _Server(("127.0.0.1", 0), _Function) as server, tempfile.TemporaryFile() as log:
        log.write(b'{"severity": "ERROR", "message": "the reason"}\n')
        server.answers = list(answers)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made = LocalTopics(
            {"a": Listener(f"http://127.0.0.1:{server.server_port}/", log)}, stop, lambda *pair: accepted.append(pair)
        )
        try:
            yield made, accepted
        finally:
            made.close()
            server.shutdown()


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onefold_lab.pubsub._BETWEEN_DELIVERIES", Backoff(first=0.0, longest=0.0))


@pytest.mark.usefixtures("no_pauses")
def test_a_message_is_delivered_until_its_function_accepts_it() -> None:
    with topics(500, 500, stop=Stop()) as (made, accepted):
        made.publish("a", [Message(b"one")])
        outcomes: list[Exception | None] = []
        made.publish_soon("a", Message(b"two"), outcomes.append)
        eventually(lambda: outcomes)
    assert (accepted, outcomes) == ([("a", b"one"), ("a", b"two")], [None])


@pytest.mark.usefixtures("no_pauses")
def test_a_message_that_is_never_accepted_is_an_error_with_the_log() -> None:
    with topics(*[500] * 14, stop=Stop()) as (made, accepted):
        with pytest.raises(Rejected, match=r"does not accept a message: .*\n.*\n.*the reason"):
            made.publish("a", [Message(b"one")])
        outcomes: list[Exception | None] = []
        made.publish_soon("a", Message(b"two"), outcomes.append)
        assert isinstance(eventually(lambda: outcomes)[0], Rejected)
    assert accepted == []


def test_no_message_is_delivered_after_the_stop() -> None:
    stop = Stop()
    stop.set()
    with topics(stop=stop) as (made, accepted), pytest.raises(Stopped):
        made.publish("a", [Message(b"one")])
    assert accepted == []
