"""A stand-in for Cloud Storage, as far as it is asked here: small objects with generations, written on a condition.

It lists the folders right below a prefix, one on a page, and the objects right below it on the last one.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest


@dataclass
class ObjectStore:
    objects: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    """By bucket and name, with the generation."""
    lose_answers: int = 0
    """So many writes are done, and then answered by 503."""
    lacks: set[str] = field(default_factory=set)
    """Of `storage.objects.get`, `.create`, `.delete` and `.list`, those rights that the account does not have: 403. Without
    the last one, an object that is read and not there is answered by 403, too."""
    buckets: set[str] | None = None
    """Those that are there; by default all."""
    status: int | None = None
    """What every request is answered with."""
    generations: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    writing: threading.Lock = field(default_factory=threading.Lock)

    def write(self, name: str, data: bytes, condition: int | None) -> tuple[int, dict[str, Any]]:
        with self.writing:  # requests come in threads, and the condition has to hold at the moment of the write
            if condition is not None and condition != self.objects.get(name, (b"", 0))[1]:
                return 412, {}
            self.objects[name] = (data, next(self.generations))
        if self.lose_answers:
            self.lose_answers -= 1
            return 503, {}
        return 200, self.metadata(name)

    def metadata(self, name: str) -> dict[str, Any]:
        data, generation = self.objects[name]
        return {"name": name, "size": str(len(data)), "generation": str(generation)}


class _Server(ThreadingHTTPServer):
    store: ObjectStore

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about a client that has gone away: the tests end capture in the midst of requests."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two packets: the second one would wait 40 ms

    def do_GET(self) -> None:
        """An object's metadata, or with `alt=media` what is in it."""
        store, (path, asked) = self.server.store, self._asked()
        if path.endswith("/o"):
            self._list(path, asked)
            return
        if "/o/" not in path:  # the client looks for the bucket, in a thread of its own, and does without it
            self._answer(404, b"{}")
            return
        bucket, name = path.rpartition("/b/")[2].split("/o/")
        name = f"{bucket}/{unquote(name)}"
        if self._refused(name, "storage.objects.get"):
            return
        if name not in store.objects:
            self._answer(403 if "storage.objects.list" in store.lacks else 404, b"{}")
        elif asked.get("alt") == "media":
            self._answer(200, store.objects[name][0])
        else:
            self._answer(200, json.dumps(store.metadata(name)).encode())

    def _list(self, path: str, asked: dict[str, str]) -> None:
        """The folders and objects right below a prefix."""
        assert asked["delimiter"] == "/"
        start = f"{path.rpartition('/b/')[2].removesuffix('/o')}/{asked.get('prefix', '')}"
        if self._refused(start, "storage.objects.list"):
            return
        below = [name.removeprefix(start) for name in self.server.store.objects if name.startswith(start)]
        folders = sorted({name.split("/")[0] for name in below if "/" in name})
        place = int(asked.get("pageToken", "0"))
        page = {"prefixes": [f"{asked.get('prefix', '')}{name}/" for name in folders[place : place + 1]]}
        last = {"items": [{"name": name} for name in below if "/" not in name]}
        more = {"nextPageToken": str(place + 1)} if place + 1 < len(folders) else last
        self._answer(200, json.dumps({**page, **more}).encode())

    def do_POST(self) -> None:
        """Metadata and content in one request."""
        path, asked = self._asked()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        whole = BytesParser(EmailMessage, policy=HTTP).parsebytes(headers + body)
        described, content = (part.get_content() for part in whole.iter_parts())
        name = f"{path.rpartition('/b/')[2].removesuffix('/o')}/{json.loads(described)['name']}"
        if self._refused(name, "storage.objects.create"):
            return
        condition = int(asked["ifGenerationMatch"]) if "ifGenerationMatch" in asked else None
        status, answer = self.server.store.write(name, content, condition)
        self._answer(status, json.dumps(answer).encode())

    def do_DELETE(self) -> None:
        store, (path, asked) = self.server.store, self._asked()
        bucket, name = path.rpartition("/b/")[2].split("/o/")
        name = f"{bucket}/{unquote(name)}"
        if self._refused(name, "storage.objects.delete"):
            return
        if name not in store.objects:
            self._answer(404, b"{}")
        elif int(asked["ifGenerationMatch"]) != store.objects[name][1]:
            self._answer(412, b"{}")
        else:
            del store.objects[name]
            self._answer(204, b"")

    def _refused(self, name: str, right: str) -> bool:
        """Whether a request was answered because of its bucket or of a right: before anything else is looked at."""
        store = self.server.store
        missing = store.buckets is not None and name.split("/")[0] not in store.buckets
        if missing or right in store.lacks:
            self._answer(404 if missing else 403, b"{}")
        return missing or right in store.lacks

    def _asked(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        return parts.path, {key: values[0] for key, values in parse_qs(parts.query).items()}

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(self.server.store.status or status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def object_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.store = ObjectStore()
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server.server_port}")
        yield server.store
        server.shutdown()
