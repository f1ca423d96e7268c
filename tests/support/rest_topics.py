"""A server that answers as Pub/Sub's REST API does, and keeps what is published."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Topics(ThreadingHTTPServer):
    """Keeps what is published; `status` is its answer to everything."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.published: list[tuple[str, dict[str, Any]]] = []

    @property
    def address(self) -> str:
        """The value for PUBSUB_EMULATOR_HOST."""
        return f"127.0.0.1:{self.server_port}"

    def contents(self, topic: str) -> list[bytes]:
        """The data of the messages of a topic, by the last part of its name."""
        found = (message for path, message in self.published if path.endswith(f"/topics/{topic}:publish"))
        return [base64.b64decode(message["data"]) for message in found]


class _Handler(BaseHTTPRequestHandler):
    server: Topics

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = (
            {"error": {"code": self.server.status, "message": "that\ncannot be"}}  # the form of Google's APIs
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


@contextmanager
def rest_topics() -> Iterator[Topics]:
    """A server on a free port of this machine."""
    server = Topics()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
