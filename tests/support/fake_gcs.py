"""A stand-in for Cloud Storage, as far as it is asked here: small objects with generations, written on a condition.

It lists the folders right below a prefix, one on a page, and the objects right below it on the last one.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import unquote

import pytest
from support.rest import Answer, HttpRequest, page_of, serving


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

    def answer(self, request: HttpRequest) -> Answer:
        """A listing, or an object's metadata, or with `alt=media` what is in it."""
        status, content = self._answer(request)
        return self.status or status, content

    def _answer(self, request: HttpRequest) -> Answer:
        bucket, _, rest = request.path.rpartition("/b/")[2].partition("/o")
        name = f"{bucket}/{unquote(rest.removeprefix('/'))}"
        if request.method == "POST":
            return self._create(bucket, request)
        if not rest and not request.path.endswith("/o"):
            return 404, {}  # the client looks for the bucket, in a thread of its own, and does without it
        if not rest:
            return self._list(f"{bucket}/{request.query.get('prefix', '')}", request.query)
        if request.method == "DELETE":
            condition = request.query.get("ifGenerationMatch")
            return self._delete(name, None if condition is None else int(condition))
        if refused := self._refused(name, "storage.objects.get"):
            return refused
        if name not in self.objects:
            return 403 if "storage.objects.list" in self.lacks else 404, {}
        return 200, self.objects[name][0] if request.query.get("alt") == "media" else self.metadata(name)

    def _list(self, start: str, query: Mapping[str, str]) -> Answer:
        """The folders and objects right below a prefix; without a delimiter all objects below it."""
        if refused := self._refused(start, "storage.objects.list"):
            return refused
        below = [name.removeprefix(start) for name in self.objects if name.startswith(start)]
        if "delimiter" not in query:
            names, more = page_of(below, query, 1)
            return 200, {"items": [{"name": f"{query.get('prefix', '')}{name}"} for name in names], **more}
        assert query["delimiter"] == "/"
        folders = sorted({name.split("/")[0] for name in below if "/" in name})
        page, more = page_of(folders, query, 1)
        last = {"items": [{"name": name} for name in below if "/" not in name]}
        return 200, {"prefixes": [f"{query.get('prefix', '')}{name}/" for name in page], **(more or last)}

    def _create(self, bucket: str, request: HttpRequest) -> Answer:
        """Metadata and content in one request."""
        headers = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
        whole = BytesParser(EmailMessage, policy=HTTP).parsebytes(headers + request.body)
        described, content = (part.get_content() for part in whole.iter_parts())
        name = f"{bucket}/{json.loads(described)['name']}"
        condition = request.query.get("ifGenerationMatch")
        refused = self._refused(name, "storage.objects.create")
        return refused or self.write(name, content, None if condition is None else int(condition))

    def _delete(self, name: str, generation: int | None) -> Answer:
        if refused := self._refused(name, "storage.objects.delete"):
            return refused
        if name not in self.objects:
            return 404, {}
        if generation not in (None, self.objects[name][1]):
            return 412, {}
        del self.objects[name]
        return 204, None

    def _refused(self, name: str, right: str) -> Answer | None:
        """The answer because of a bucket or a right, if there is one: before anything else is looked at."""
        if self.buckets is not None and name.split("/")[0] not in self.buckets:
            return 404, {}
        return (403, {}) if right in self.lacks else None


@pytest.fixture
def object_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    store = ObjectStore()
    with serving(store.answer) as address:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        yield store
