"""The function `schema_registry` on the real server, for tests of its API."""

from __future__ import annotations

import http.client
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pytest
from support.registries import folder_store, history

from onefold.events.registry.api_keys import Access, stored_key
from onefold_lab.processes import function_server

# Not made at random: the workers of pytest have to see the same parameters.
READER = "6f1c1b1e-3f0e-4a53-9d5e-0c9a3f1d7b21"
WRITER = "b0a4c3de-7a1f-4c7b-8b55-52f3f0a9e6c4"
OTHER = "e2d7f9a8-14c6-4d0b-a3e1-9b8c7d6e5f40"
UNKNOWN = "0d9e8c7b-6a5f-4e3d-8c2b-1a0f9e8d7c6b"
"""A key that the file of keys does not have."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Api:
    """The function with a registry in a folder: com.acme is private, org.open is public."""

    url: str
    folder: Path
    keys: Path
    log: IO[bytes]

    def ask(self, method: str, path: str, body: bytes | None = None, key: str | None = None, **headers: str) -> Answer:
        """Send a request as it is: no client normalises its path."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=300)
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in {**headers, **({"apikey": key} if key else {})}.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        read = Answer(answer.status, answer.read(), dict(answer.headers))
        connection.close()
        return read

    def add(self, schema: dict[str, Any], key: str | None = WRITER) -> Answer:
        return self.ask("POST", "/api/schemas", json.dumps(schema).encode(), key)


def write_keys(path: Path) -> None:
    keys = [
        stored_key("reader", READER, ["com.acme"], Access.READ),
        stored_key("writer", WRITER, ["com.acme", "org.open"], Access.WRITE),
        stored_key("other", OTHER, ["com.acmeother"], Access.WRITE),
    ]
    path.write_text(json.dumps({"keys": keys}))


@pytest.fixture(scope="session")
def started_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder, keys = tmp_path_factory.mktemp("registry"), tmp_path_factory.mktemp("keys") / "keys.json"
    write_keys(keys)
    environ = {
        "ONEFOLD_REGISTRY": str(folder),
        "ONEFOLD_REGISTRY_KEYS": str(keys),
        "ONEFOLD_REGISTRY_PUBLIC": "org.open",
    }
    with tempfile.TemporaryFile() as log, function_server("schema_registry", environ, log) as url:
        yield Api(url, folder, keys, log)


@pytest.fixture
def api(started_api: Api) -> Api:
    """The server with two private schemas and a public one, whatever other tests have added."""
    for one in history(additions=2):
        folder_store(started_api.folder).add(one)
    folder_store(started_api.folder).add(next(history(name="open", vendor="org.open")))
    return started_api
