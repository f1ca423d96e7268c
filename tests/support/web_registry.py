"""A registry on a real web server in a thread, which can be slow, down and back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from support.rest import Answer, HttpRequest, serving

from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.schema_key import SchemaKey


@dataclass
class WebRegistry:
    """Static files without an index, or a server with Iglu's API below /api.

    Attributes:
        schemas: what the registry has.
        mode: `slow` answers no request before `released` is set; `down` answers each with 503.
        requests: the paths that were asked for, each with its key.
    """

    schemas: list[JsonSchema]
    address: str = ""
    mode: Literal["well", "slow", "down"] = "well"
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

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

    def serve(self, request: HttpRequest) -> Answer:
        path = "?".join([request.path, *(f"{name}={value}" for name, value in request.query.items())])
        self.requests.append((path, request.headers.get("apikey")))
        if self.mode == "slow":
            self.released.wait()
        if self.mode == "down":
            return 503, b"busy"
        body = self.answer(path)
        return (404, b"") if body is None else (200, body)


@contextmanager
def web_registry(*schemas: JsonSchema) -> Iterator[WebRegistry]:
    """A registry at a free port of this machine."""
    web = WebRegistry(list(schemas))
    with serving(web.serve) as web.address:
        yield web
        web.released.set()
