"""The stand-in for Pub/Sub over REST, as Spark jobs publish: the method `publish` of topics, and no other."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_PATH = re.compile(r"/v1/projects/[^/]+/topics/(?P<topic>[^/:]+):publish")

Publish = Callable[[str, Sequence[bytes]], list[str] | None]
"""Takes messages of a topic and returns their identifiers; None where there is no such topic."""


@contextlib.contextmanager
def rest_server(publish: Publish, port: int) -> Iterator[None]:
    """Serve topics until the block ends.

    Args:
        publish: takes the messages, perhaps in several threads.
        port: the port.
    """
    server = _Server(("127.0.0.1", port), _Handler)
    server.publish = publish
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    publish: Publish


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        match = _PATH.fullmatch(self.path)
        if match is None:
            self._answer(404, {"error": {"message": f"{self.path} is no method of this stand-in"}})
            return
        messages = [base64.b64decode(message.get("data", "")) for message in json.loads(body)["messages"]]
        identifiers = self.server.publish(match["topic"], messages)
        if identifiers is None:
            self._answer(404, {"error": {"message": f"{match['topic']} is not a topic"}})
        else:
            self._answer(200, {"messageIds": identifiers})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing: the terminal is for messages."""
