"""A stand-in for the buckets of Cloud Storage's JSON API, as far as Terraform's provider asks for one.

Honoured: create (409 for a name that is taken), read, change, and delete a bucket; 404 for one that is not there. The
location is answered in capitals, as Google does. Objects and rights are not known.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class Buckets(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.stored: dict[str, dict[str, Any]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/storage/v1/"


class _Handler(BaseHTTPRequestHandler):
    server: Buckets

    def do_GET(self) -> None:
        self._answer(self._found())

    def do_POST(self) -> None:
        bucket = self._body()
        if bucket["name"] in self.server.stored:
            self._answer(None, 409)
            return
        whole = {"projectNumber": "1", "selfLink": f"{self.server.url}b/{bucket['name']}", "storageClass": "STANDARD"}
        self.server.stored[bucket["name"]] = {
            **whole,
            **bucket,
            "id": bucket["name"],
            "location": bucket["location"].upper(),
        }
        self._answer(self.server.stored[bucket["name"]])

    def do_PATCH(self) -> None:
        bucket = self._found()
        if bucket is not None:
            bucket.update(self._body())
        self._answer(bucket)

    def do_DELETE(self) -> None:
        self._answer(self.server.stored.pop(self._name(), None), 204)

    def _name(self) -> str:
        return urlsplit(self.path).path.rpartition("/b/")[2].split("/")[0]

    def _found(self) -> dict[str, Any] | None:
        return self.server.stored.get(self._name())

    def _body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def _answer(self, content: dict[str, Any] | None, status: int = 200) -> None:
        status = 404 if content is None and status != 409 else status
        body = b"" if status == 204 else json.dumps(content or {"error": {"code": status, "message": "no"}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def bucket_server() -> Iterator[Buckets]:
    server = Buckets()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
