"""Documents of web servers: what is read, and what a server must not do."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import onefold.adapters.http_objects
from onefold.adapters.http_objects import HttpObjects
from onefold.core.errors import InvalidInput, OnefoldError, Rejected, TryAgain


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    """Seconds between two bytes."""


class _Server(ThreadingHTTPServer):
    answers: dict[str, Answer]
    keys: list[str | None]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.server.keys.append(self.headers.get("apikey"))
        answer = self.server.answers.get(self.path, Answer(404))
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for byte in [answer.body] if not answer.pause else [bytes([one]) for one in answer.body]:
            try:
                self.wfile.write(byte)
            except ConnectionError:
                return
            time.sleep(answer.pause)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.answers, server.keys = {}, []
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield server
        server.shutdown()


def url(server: _Server, path: str = "/a") -> str:
    return f"http://127.0.0.1:{server.server_port}{path}"


def test_a_document_is_read_with_the_key(server: _Server) -> None:
    server.answers["/a"] = Answer(body="größe".encode())
    found = HttpObjects("secret").find(url(server))
    assert found
    assert found.data.decode() == "größe"
    assert server.keys == ["secret"]
    assert HttpObjects().find(url(server, "/b")) is None
    assert server.keys[-1] is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, Rejected), (401, Rejected), (403, Rejected), (429, TryAgain), (500, TryAgain), (503, TryAgain)],
)
def test_a_status_is_an_error_that_names_it(server: _Server, status: int, kind: type[OnefoldError]) -> None:
    server.answers["/a"] = Answer(status)
    with pytest.raises(kind, match=f"the server answers {status}"):
        HttpObjects().find(url(server))


def test_a_document_that_is_too_large_is_not_read(server: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.adapters.http_objects, "MAX_BODY", 6)
    server.answers["/a"] = Answer(body=b"1234567")
    with pytest.raises(Rejected, match="more than 6 bytes"):
        HttpObjects().find(url(server))


def test_a_compressed_answer_is_refused_before_it_is_unpacked(server: _Server) -> None:
    server.answers["/a"] = Answer(body=gzip.compress(b" " * 1_000), headers={"Content-Encoding": "gzip"})
    with pytest.raises(Rejected, match="compresses its answer"):
        HttpObjects().find(url(server))


def test_a_server_that_sends_byte_by_byte_is_given_up(server: _Server) -> None:
    server.answers["/a"] = Answer(body=b"x" * 200_000, pause=0.001)
    with pytest.raises(TryAgain, match=r"sends too slowly|does not answer"):
        HttpObjects(seconds=0.3).find(url(server))


def test_a_redirect_within_the_server_is_followed_and_none_for_ever(server: _Server) -> None:
    server.answers["/a"] = Answer(302, headers={"Location": "/b"})
    server.answers["/b"] = Answer(body=b"content")
    found = HttpObjects("secret").find(url(server))
    assert found
    assert found.data == b"content"
    server.answers["/b"] = Answer(302, headers={"Location": "/a"})
    with pytest.raises(Rejected, match="more than 3 redirects"):
        HttpObjects().find(url(server))


@pytest.mark.parametrize(
    "target", ["http://localhost:{port}/b", "file:///etc/passwd", "http://127.0.0.1:1/b", "ftp://127.0.0.1/"]
)
def test_a_redirect_to_another_server_or_scheme_is_refused_and_the_key_not_sent(server: _Server, target: str) -> None:
    server.answers["/a"] = Answer(302, headers={"Location": target.format(port=server.server_port)})
    server.answers["/b"] = Answer(body=b"content")
    with pytest.raises(Rejected, match="another server"):
        HttpObjects("secret").find(url(server))
    assert server.keys == ["secret"]


def test_a_server_that_is_not_there_raises_try_again() -> None:
    with pytest.raises(TryAgain, match="does not answer"):
        HttpObjects().find("http://127.0.0.1:9/a")


@pytest.mark.parametrize("address", ["https://", "file:///etc/passwd", "ftp://host/a", "https://user:word@host/a"])
def test_an_address_that_is_not_a_web_server_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="is not a registry: write https://HOST/PATH"):
        HttpObjects().find(address)
