"""The function `schema_registry` on the real server: statuses, keys, sizes, paths, and what existing tools ask for."""

from __future__ import annotations

import http.client
import json
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pytest
from support.registries import document, folder_store, history

from onefold.adapters.http_objects import HttpObjects
from onefold.local.processes import function_server
from onefold.registry.api_keys import Access, create_key, stored_key
from onefold.registry.schema_key import ModelKey
from onefold.registry.sources import ServerSource, open_source

READER, WRITER, OTHER = create_key(), create_key(), create_key()
URI = "iglu:com.acme/ad_click/jsonschema/1-0-0"
PATH = "/api/schemas/com.acme/ad_click/jsonschema/1-0-0"


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Server:
    """The function with a registry in a folder: com.acme is private, org.open is public."""

    url: str
    folder: Path
    keys: Path
    log: IO[bytes]

    def ask(self, method: str, path: str, body: bytes | None = None, key: str | None = None, **headers: str) -> Answer:
        """Send a request as it is: no client normalises its path."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
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


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, keys = tmp_path_factory.mktemp("registry"), tmp_path_factory.mktemp("keys") / "keys.json"
    write_keys(keys)
    environ = {
        "ONEFOLD_REGISTRY": str(folder),
        "ONEFOLD_REGISTRY_KEYS": str(keys),
        "ONEFOLD_REGISTRY_PUBLIC": "org.open",
    }
    with tempfile.TemporaryFile() as log, function_server("schema_registry", environ, log) as url:
        yield Server(url, folder, keys, log)


@pytest.fixture
def server(started: Server) -> Server:
    """The server with two private schemas and a public one, whatever other tests have added."""
    for one in history(additions=2):
        folder_store(started.folder).add(one)
    folder_store(started.folder).add(next(history(name="open", vendor="org.open")))
    return started


def test_a_schema_is_added_and_read_back(server: Server) -> None:
    schema = document(name="added", ünïcode={"type": "string"})
    added = server.add(schema)
    assert (added.status, added.json["location"]) == (201, "iglu:com.acme/added/jsonschema/1-0-0")
    read = server.ask("GET", "/api/schemas/com.acme/added/jsonschema/1-0-0", key=READER)
    assert (read.status, read.json, read.headers["Content-Type"]) == (200, schema, "application/json")
    assert json.loads((server.folder / "schemas/com.acme/added/jsonschema/1-0-0").read_text()) == schema


def test_the_same_schema_again_is_200_and_another_one_under_its_key_409(server: Server) -> None:
    schema = document(name="twice")
    assert [server.add(schema).status, server.add(schema).status] == [201, 200]
    refused = server.add(document(name="twice", more={"type": "null"}))
    assert refused.status == 409
    assert "another schema under this key" in refused.json["message"]


def test_a_schema_is_put_at_its_own_path_only(server: Server) -> None:
    body, path = json.dumps(document(name="put")).encode(), "/api/schemas/com.acme/put/jsonschema/1-0-0"
    assert server.ask("PUT", path, body, WRITER).status == 201
    wrong = server.ask("PUT", path.replace("put", "other"), body, WRITER)
    assert (wrong.status, "send the schema to its own path" in wrong.json["message"]) == (400, True)


def test_all_reasons_come_at_once(server: Server) -> None:
    schema = document(bad={"type": "text", "maxLength": -1, "$ref": "http://example.com/x"})
    schema["self"]["name"] = "../name"
    refused = server.add(schema)
    assert refused.status == 400
    assert {reason["path"] for reason in refused.json["report"]} >= {
        "/self/name",
        "/properties/bad/type",
        "/properties/bad/maxLength",
    }
    assert all(reason["allowed"] for reason in refused.json["report"])
    gap = server.add(document("1-0-7"))
    assert (gap.status, len(gap.json["report"])) == (400, 1)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff", b'{"self": 1}', b'{"self": {}, "self": {}}', b"[" * 100_000]
)
def test_a_body_that_is_no_schema_is_400(server: Server, body: bytes) -> None:
    assert server.ask("POST", "/api/schemas", body, WRITER).status == 400


def test_a_check_tells_what_an_addition_would_and_adds_nothing(server: Server) -> None:
    check = "/api/schemas/validation/schema/jsonschema"
    schema = document(name="checked")
    assert server.ask("POST", check, json.dumps(schema).encode(), READER).status == 200
    assert server.ask("POST", check, json.dumps({**schema, "type": 7}).encode(), READER).status == 400
    assert server.ask("POST", check, json.dumps(document(more={"type": "null"})).encode(), READER).status == 409
    assert server.ask("POST", check, json.dumps(schema).encode()).status == 401
    assert server.ask("GET", "/api/schemas/com.acme/checked", key=READER).status == 404


# Lists and representations.


def test_lists_are_in_the_order_of_addition(server: Server) -> None:
    numbers = ["1-0-0", "1-1-0", "1-0-1", "2-0-0"]
    for number in numbers:
        assert server.add(document(number, name="ordered")).status == 201
    uris = [f"iglu:com.acme/ordered/jsonschema/{number}" for number in numbers]
    path = "/api/schemas/com.acme/ordered/jsonschema"
    for listed in (path, f"{path}/", f"{path}?repr=uri", "/api/schemas/com.acme/ordered"):
        assert server.ask("GET", listed, key=READER).json == uris
    assert server.ask("GET", f"{path}/1", key=READER).json == uris[:3]
    documents = [document(number, name="ordered") for number in numbers]
    assert server.ask("GET", f"{path}?repr=canonical", key=READER).json == documents
    meta = server.ask("GET", f"{path}?repr=meta", key=READER).json
    assert [{key: value for key, value in one.items() if key != "metadata"} for one in meta] == documents
    assert {frozenset(one["metadata"]) for one in meta} == {frozenset({"createdAt", "isPublic", "sha256"})}
    assert server.ask("GET", f"{PATH}?repr=uri", key=READER).json == URI
    assert server.ask("GET", f"{PATH}?repr=xml", key=READER).status == 400


def test_another_registry_is_read_through_the_api(server: Server) -> None:
    source = open_source(f"{server.url}api", HttpObjects(READER))
    assert isinstance(source, ServerSource)
    keys = source.versions(ModelKey.parse("com.acme/ad_click/jsonschema/1"))
    assert [source.find(key) for key in keys] == list(history(additions=2))
    assert source.versions(ModelKey.parse("com.acme/no/jsonschema/1")) == ()
    assert set(keys) <= set(source.list_keys())


# Keys.


@pytest.mark.parametrize(
    ("key", "path", "status"),
    [
        (None, PATH, 401),
        ("wrong", PATH, 401),
        (create_key(), PATH, 401),
        ("x" * 1_000, PATH, 401),
        (OTHER, PATH, 403),
        (READER, PATH, 200),
        (READER.upper(), PATH, 200),
        (WRITER, PATH, 200),
        (None, "/api/schemas/org.open/open/jsonschema/1-0-0", 200),
        ("wrong", "/api/schemas/org.open/open/jsonschema/1-0-0", 401),
        (None, "/api/schemas/com.acme/no/jsonschema/1-0-0", 401),
        (READER, "/api/schemas/com.acme/no/jsonschema/1-0-0", 404),
        (READER, "/api/schemas/com.acmeother/no/jsonschema/1-0-0", 403),
        (None, "/api/schemas/com.acme", 401),
        (OTHER, "/api/schemas/com.acme", 403),
    ],
)
def test_who_may_read(server: Server, key: str | None, path: str, status: int) -> None:
    assert server.ask("GET", path, key=key).status == status


def test_a_list_of_everything_has_what_the_key_may_read(server: Server) -> None:
    assert server.ask("GET", "/api/schemas").json == ["iglu:org.open/open/jsonschema/1-0-0"]
    read = server.ask("GET", "/api/schemas", key=READER).json
    assert URI in read
    assert server.ask("GET", "/api/schemas", key=OTHER).json == ["iglu:org.open/open/jsonschema/1-0-0"]


@pytest.mark.parametrize(("key", "status"), [(None, 401), ("wrong", 401), (READER, 403), (OTHER, 403)])
def test_who_may_not_add(server: Server, key: str | None, status: int) -> None:
    before = server.ask("GET", "/api/schemas", key=WRITER).json
    body = json.dumps(document(name="forbidden")).encode()
    assert server.ask("POST", "/api/schemas", body, key).status == status
    assert server.ask("PUT", "/api/schemas/com.acme/forbidden/jsonschema/1-0-0", body, key).status == status
    assert server.ask("GET", "/api/schemas", key=WRITER).json == before


def test_a_key_that_is_revoked_is_refused_at_once(server: Server) -> None:
    text = server.keys.read_text()
    try:
        server.keys.write_text('{"keys": []}')
        assert server.ask("GET", PATH, key=READER).status == 401
        server.keys.write_text("{")
        assert server.ask("GET", PATH, key=READER).status == 503
    finally:
        server.keys.write_text(text)
    assert server.ask("GET", PATH, key=READER).status == 200


def test_no_answer_and_no_log_shows_a_key(server: Server) -> None:
    answers = [server.ask("GET", PATH, key=key) for key in (OTHER, READER, "wrong-secret")]
    server.log.seek(0)
    shown = server.log.read() + b"".join(answer.body for answer in answers)
    for secret in (OTHER, READER, WRITER, "wrong-secret"):
        assert secret.encode() not in shown


# What a server has to bear.


def test_an_etag_saves_the_body(server: Server) -> None:
    for path in (PATH, "/api/schemas/com.acme/ad_click"):
        tag = server.ask("GET", path, key=READER).headers["ETag"]
        for header in (tag, f'"x", W/{tag}', "*"):
            again = server.ask("GET", path, key=READER, If_None_Match=header)
            assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)
        assert server.ask("GET", path, key=READER, If_None_Match='"other"').status == 200
        assert server.ask("GET", path, If_None_Match=tag).status == 401


def test_a_body_of_ten_megabytes_is_413_and_the_server_goes_on(server: Server) -> None:
    big = document(name="big", note={"type": "string", "description": "x" * 10_000_000})
    refused = server.add(big)
    assert (refused.status, "more than 1,000,000 bytes" in refused.json["message"]) == (413, True)
    fits = document(name="big", note={"type": "string", "description": "x" * 900_000})
    assert server.add(fits).status == 201


def test_a_body_without_a_length_is_413_as_well(server: Server) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    pieces = (b"x" * 100_000 for _ in range(30))
    connection.request("POST", "/api/schemas", pieces, {"apikey": WRITER}, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", PATH, "GET, HEAD, PUT"),
        ("POST", PATH, "GET, HEAD, PUT"),
        ("PATCH", PATH, "GET, HEAD, PUT"),
        ("PUT", "/api/schemas", "GET, HEAD, POST"),
        ("DELETE", "/api/schemas", "GET, HEAD, POST"),
        ("POST", "/api/schemas/com.acme", "GET, HEAD"),
        ("GET", "/api/schemas/validation/schema/jsonschema", "POST"),
        ("POST", "/api/meta/health", "GET, HEAD"),
    ],
)
def test_another_method_is_405_with_those_that_are_allowed(server: Server, method: str, path: str, allowed: str) -> None:
    refused = server.ask(method, path, b"", WRITER)
    assert (refused.status, refused.headers["Allow"]) == (405, allowed)
    assert server.ask("GET", PATH, key=READER).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/api/schemas/../../../../etc/passwd",
        "/api/schemas/..%2f..%2f..%2fetc%2fpasswd",
        "/api/schemas/%2e%2e/%2e%2e/keys.json/1-0-0",
        "/api/schemas/com.acme/ad_click/jsonschema/1-0-0%00",
        "/api/schemas/com.acme/ad_click/jsonschema/%001-0-0",
        "/api/schemas/com.acme/ad_click/jsonschema/1-0-0/x",
        "/api/schemas/com.acme/ad_click/jsonschema/01-0-0",
        "/api/schemas/com.acme/ad_click/jsonschema/1-0-0%0a",
        "/api/schemas/com.acme/ad_click/jsonschema/1-0-99999999999",
        "/api/schemas/com.acme//jsonschema/1-0-0",
        "/api/schemas/com.acme/ad_click/jsonschema/\\1-0-0",
        "/api/schemas/com.acme/.lock/jsonschema/1-0-0",
        "/api/schemas/com..acme/ad_click/jsonschema/1-0-0",
        "/api/schemas/index.json/x/y/z",
        "/api/schemas/" + "a" * 4_000,
        "/api/schemas/%E2%82%AC/a/jsonschema/1-0-0",
        "/api/schemas/%FF/a/jsonschema/1-0-0",
        "/schemas/index.json",
        "/api",
        "/",
        "/.onefold-lock",
    ],
)
def test_a_path_that_can_be_no_schema_is_404_and_nothing_is_read(server: Server, path: str) -> None:
    refused = server.ask("GET", path, key=WRITER)
    assert refused.status == 404
    assert b"root:" not in refused.body
    assert b"sha256" not in refused.body


def test_the_health_is_told_to_everybody(server: Server) -> None:
    assert server.ask("GET", "/api/meta/health").body == b"OK"
    assert server.ask("HEAD", "/api/meta/health").status == 200


def test_requests_at_once_add_every_schema_once(server: Server) -> None:
    barrier = threading.Barrier(16)

    def add(number: int) -> int:
        barrier.wait()
        return server.add(document(name=f"many{number // 2}")).status

    with ThreadPoolExecutor(16) as pool:
        statuses = sorted(pool.map(add, range(16)))
    assert statuses == [200] * 8 + [201] * 8


def test_a_registry_that_does_not_work_is_503_and_the_log_says_why(server: Server) -> None:
    index = server.folder / "schemas" / "index.json"
    data = index.read_bytes()
    try:
        index.write_bytes(b"{")
        assert server.ask("GET", PATH, key=READER).status == 503
        assert server.add(document(name="later")).status == 503
        assert index.read_bytes() == b"{"
    finally:
        index.write_bytes(data)
    server.log.seek(0)
    assert b'"event": "registry_failed"' in server.log.read()
