"""REST as fakes answer it: over HTTP, or at the transport of a client of BigQuery. A fake is a function of the request."""

from __future__ import annotations

import json
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import requests
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery
from requests.structures import CaseInsensitiveDict

PROJECT = "my-project"
Resource = dict[str, Any]


@dataclass(frozen=True)
class HttpRequest:
    """A request as it came, its path without the query."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else {}


Answer = tuple[int, Any]
"""A status and the body: bytes, None for an empty one, or what is written as JSON."""


def asked(method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpRequest:
    parts = urlsplit(url)
    return HttpRequest(method, parts.path, dict(parse_qsl(parts.query)), CaseInsensitiveDict(headers), body)


def bytes_of(content: Any) -> bytes:
    return content if isinstance(content, bytes) else b"" if content is None else json.dumps(content).encode()


def error(status: int, reason: str, message: str = "as the test wanted") -> Answer:
    """Return an error in the form of Google's APIs."""
    return status, {"error": {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}}


def page_of(items: Sequence[Any], query: Mapping[str, str], size: int = 2) -> tuple[list[Any], dict[str, str]]:
    """Return the page that a request asks for, and the token of the next one where there is one."""
    start = int(query.get("pageToken", 0))
    more = {"nextPageToken": str(start + size)} if start + size < len(items) else {}
    return list(items[start : start + size]), more


@dataclass
class RestError(Exception):
    """An answer that ends the work on a request."""

    status: int
    reason: str
    message: str


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about a client that has gone away: tests end clients in the midst of requests."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(answer: Callable[[HttpRequest], Answer]) -> Iterator[str]:
    """Serve on a free port of this machine. Yields the address, as `http://127.0.0.1:1234`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: the second one would wait 40 ms
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, content = answer(asked(self.command, self.path, dict(self.headers), body))
            data = bytes_of(content)
            self.send_response(status)
            if not isinstance(content, bytes):
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 the server calls these names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class RestSession(ABC):
    """What `google.cloud.bigquery.Client(_http=...)` sends its requests through."""

    is_mtls = False

    @abstractmethod
    def answer(self, request: HttpRequest) -> Answer:
        """Return the answer to a request."""

    def client(self) -> bigquery.Client:
        credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]
        return bigquery.Client(project=PROJECT, credentials=credentials, _http=cast(requests.Session, self))

    def request(
        self, method: str, url: str, data: str | None = None, headers: Mapping[str, str] | None = None, **_: object
    ) -> requests.Response:
        response = requests.Response()
        response.status_code, content = self.answer(asked(method, url, headers or {}, (data or "").encode()))
        response._content = bytes_of(content)
        response.headers["Content-Type"] = "application/json"
        response.request = requests.PreparedRequest()
        response.request.method, response.request.url = method, url
        return response

    def close(self) -> None:  # noqa: B027 the client calls it
        """Keep no connection."""
