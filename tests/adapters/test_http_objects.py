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
def web() -> Iterator[_Server]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.answers, server.keys = {}, []
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield server
        server.shutdown()


def url(web: _Server, path: str = "/a") -> str:
    return f"http://127.0.0.1:{web.server_port}{path}"


def test_a_document_is_read_with_the_key(web: _Server) -> None:
    web.answers["/a"] = Answer(body="größe".encode())
    found = HttpObjects("secret").find(url(web))
    assert found
    assert found.data.decode() == "größe"
    assert web.keys == ["secret"]
    assert HttpObjects().find(url(web, "/b")) is None
    assert web.keys[-1] is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, Rejected), (401, Rejected), (403, Rejected), (429, TryAgain), (500, TryAgain), (503, TryAgain)],
)
def test_a_status_is_an_error_that_names_it(web: _Server, status: int, kind: type[OnefoldError]) -> None:
    web.answers["/a"] = Answer(status)
    with pytest.raises(kind, match=f"the server answers {status}"):
        HttpObjects().find(url(web))


def test_a_document_that_is_too_large_is_not_read(web: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.adapters.http_objects, "MAX_BODY", 6)
    web.answers["/a"] = Answer(body=b"1234567")
    with pytest.raises(Rejected, match="more than 6 bytes"):
        HttpObjects().find(url(web))


def test_a_compressed_answer_is_refused_before_it_is_unpacked(web: _Server) -> None:
    web.answers["/a"] = Answer(body=gzip.compress(b" " * 1_000), headers={"Content-Encoding": "gzip"})
    with pytest.raises(Rejected, match="compresses its answer"):
        HttpObjects().find(url(web))


def test_a_server_that_sends_byte_by_byte_is_given_up(web: _Server) -> None:
    web.answers["/a"] = Answer(body=b"x" * 200_000, pause=0.001)
    with pytest.raises(TryAgain, match=r"sends too slowly|does not answer"):
        HttpObjects(seconds=0.3).find(url(web))


def test_a_document_that_breaks_off_is_to_be_read_again(web: _Server) -> None:
    web.answers["/a"] = Answer(body=b"{}", headers={"Content-Length": "3"})
    with pytest.raises(TryAgain, match="does not answer"):
        HttpObjects().find(url(web))


def test_a_document_in_chunks_is_read_whole(web: _Server) -> None:
    web.answers["/a"] = Answer(body=b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", headers={"Transfer-Encoding": "chunked"})
    found = HttpObjects().find(url(web))
    assert found
    assert found.data == b"abcde"


def test_a_redirect_within_the_server_is_followed_and_none_for_ever(web: _Server) -> None:
    web.answers["/a"] = Answer(302, headers={"Location": "/b"})
    web.answers["/b"] = Answer(body=b"content")
    found = HttpObjects("secret").find(url(web))
    assert found
    assert found.data == b"content"
    web.answers["/b"] = Answer(302, headers={"Location": "/a"})
    with pytest.raises(Rejected, match="more than 3 redirects"):
        HttpObjects().find(url(web))


@pytest.mark.parametrize(
    "target", ["http://localhost:{port}/b", "file:///etc/passwd", "http://127.0.0.1:1/b", "ftp://127.0.0.1/"]
)
def test_a_redirect_to_another_server_or_scheme_is_refused_and_the_key_not_sent(web: _Server, target: str) -> None:
    web.answers["/a"] = Answer(302, headers={"Location": target.format(port=web.server_port)})
    web.answers["/b"] = Answer(body=b"content")
    with pytest.raises(Rejected, match="another server"):
        HttpObjects("secret").find(url(web))
    assert web.keys == ["secret"]


def test_a_server_that_is_not_there_raises_try_again() -> None:
    with pytest.raises(TryAgain, match="does not answer"):
        HttpObjects().find("http://127.0.0.1:9/a")


@pytest.mark.parametrize("address", ["https://", "file:///etc/passwd", "ftp://host/a", "https://user:word@host/a"])
def test_an_address_that_is_not_a_web_server_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="is not a registry: write https://HOST/PATH"):
        HttpObjects().find(address)


def test_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(InvalidInput) as caught:
        HttpObjects().find("https://user:word@host/a")
    assert "'https://...@host'" in str(caught.value)
    assert "word" not in str(caught.value)
