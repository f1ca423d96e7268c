"""Webhooks: what is posted, what counts as taken, and that an address, which is a secret, is in no text."""

from __future__ import annotations

import logging
import socket
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from support.rest import Answer, HttpRequest, serving

from onefold.adapters import webhooks
from onefold.adapters.webhooks import Webhook
from onefold.core.errors import OnefoldError, Rejected, TryAgain

SECRET = "T0xB0xSECRET"


def text_of(error: BaseException) -> str:
    """All that `--verbose` prints of an error."""
    return "".join(traceback.format_exception(error))


def test_a_message_is_posted_as_json_in_utf_8(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    taken: list[HttpRequest] = []

    def answer(request: HttpRequest) -> Answer:
        taken.append(request)
        return 204, None

    with serving(answer) as address:
        Webhook(f"{address}/{SECRET}?a=b").post({"text": "größe"})
    (request,) = taken
    assert (request.method, request.path, request.query) == ("POST", f"/{SECRET}", {"a": "b"})
    assert (request.headers["content-type"], request.json) == ("application/json", {"text": "größe"})
    assert SECRET not in caplog.text


@pytest.mark.parametrize("status", [302, 400, 404, 429, 500])
def test_any_other_status_than_2xx_is_an_error_without_the_address(status: int) -> None:
    with serving(lambda request: (status, request.path.encode())) as address, pytest.raises(TryAgain) as raised:
        Webhook(f"{address}/{SECRET}").post({})
    assert f"its webhook answers {status}" in str(raised.value)
    assert SECRET not in text_of(raised.value)


def test_a_redirection_is_not_followed() -> None:
    class Redirecting(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(307)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    asked: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with pytest.raises(TryAgain, match="its webhook answers 307"):
            Webhook(f"http://127.0.0.1:{server.server_port}/hook").post({})
        server.shutdown()
    assert asked == ["/hook"]


def test_a_server_that_is_away_is_an_error_without_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for address in (f"http://127.0.0.1:{port}/{SECRET}", f"https://{SECRET}.invalid/", f"https://[{SECRET}/"):
        with pytest.raises(TryAgain, match="does not answer") as raised:
            Webhook(address).post({})
        assert SECRET not in text_of(raised.value)
        assert str(port) not in text_of(raised.value)


def test_an_answer_that_comes_byte_by_byte_ends_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "_TIMEOUT", 1)
    monkeypatch.setattr(webhooks, "_LONGER", 0)
    done = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-A: ")
            while not done.wait(0.1):
                connection.sendall(b"a")

    with socket.create_server(("127.0.0.1", 0)) as server:
        dripping = threading.Thread(target=drip, args=(server,), daemon=True)
        dripping.start()
        with pytest.raises(TryAgain, match=r"does not answer \(no answer in time\)"):
            Webhook(f"http://127.0.0.1:{server.getsockname()[1]}/{SECRET}").post({})
        done.set()
        dripping.join()


@pytest.mark.parametrize(
    "address", [f"http://hooks.example.org/{SECRET}", f"ftp://{SECRET}", SECRET, f"https://a b/{SECRET}", ""]
)
def test_what_is_no_address_of_https_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(Rejected, match="the webhook in env:HOOK is no address that begins with https://") as raised:
        Webhook.of("env:HOOK", {"HOOK": address})
    assert SECRET not in text_of(raised.value)


def test_an_address_is_read_from_a_variable_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "hook"
    path.write_text(f"https://hooks.example.org/{SECRET}\n")
    read = [Webhook.of(f"file:{path}", {}), Webhook.of("env:HOOK", {"HOOK": f"https://hooks.example.org/{SECRET}"})]
    assert [one.address for one in read] == [f"https://hooks.example.org/{SECRET}"] * 2
    assert SECRET not in repr(read)


def test_a_file_that_is_no_text_is_an_error_of_the_project(tmp_path: Path) -> None:
    path = tmp_path / "hook"
    path.write_bytes(b"\xff" + SECRET.encode())
    with pytest.raises(OnefoldError) as raised:
        Webhook.of(f"file:{path}", {})
    assert SECRET not in text_of(raised.value)
