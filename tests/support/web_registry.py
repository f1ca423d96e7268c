"""A registry on a real web server in a thread, which can be slow, down and back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.schema_key import SchemaKey

Mode = Literal["well", "slow", "down"]


class WebRegistry(ThreadingHTTPServer):
    """Static files without an index, or a server with Iglu's API below /api.

    Attributes:
        schemas: what the registry has.
        mode: `slow` answers no request before `released` is set; `down` answers each with 503.
        requests: the paths that were asked for, each with its key.
    """

    schemas: list[JsonSchema]
    mode: Mode
    requests: list[tuple[str, str | None]]
    released: threading.Event
    daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str) -> bytes | None:
        """The document at a path; None where there is none."""
        path, _, query = path.removeprefix("/api").removeprefix("/schemas").strip("/").partition("?")
        if query == "repr=uri":
            return json.dumps([one.key.uri for one in self.schemas]).encode()
        found = {one.key.path: one for one in self.schemas}.get(path)
        return json.dumps(found.json).encode() if found else None

    def asked(self) -> list[str]:
        """The paths that were asked for since the last call."""
        paths = [path for path, _ in self.requests]
        self.requests.clear()
        return paths

    def asked_for(self, key: SchemaKey) -> bool:
        return any(path.endswith(key.path) for path in self.asked())


class _Handler(BaseHTTPRequestHandler):
    server: WebRegistry

    def do_GET(self) -> None:
        web = self.server
        web.requests.append((self.path, self.headers.get("apikey")))
        if web.mode == "slow":
            web.released.wait()
        body = web.answer(self.path) if web.mode != "down" else b"busy"
        self.send_response(503 if web.mode == "down" else 200 if body is not None else 404)
        self.end_headers()
        try:
            self.wfile.write(body or b"")
        except ConnectionError:  # the client has given up
            return

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def web_registry(*schemas: JsonSchema) -> Iterator[WebRegistry]:
    """A registry at a free port of this machine."""
    with WebRegistry(("127.0.0.1", 0), _Handler) as server:
        server.schemas, server.mode, server.requests, server.released = list(schemas), "well", [], threading.Event()
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
