"""The function `schema_registry` on the real server: statuses, keys, sizes, paths, and what existing tools ask for."""

from __future__ import annotations

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from support.registries import document, history
from support.registry_server import OTHER, READER, UNKNOWN, WRITER, Api

from onefold.adapters.http_objects import HttpObjects
from onefold.core.errors import InvalidInput, Rejected
from onefold.events.registry.schema_key import ModelKey
from onefold.events.registry.sources import ServerSource, open_source

URI = "iglu:com.acme/ad_click/jsonschema/1-0-0"
PATH = "/api/schemas/com.acme/ad_click/jsonschema/1-0-0"


def test_a_schema_is_added_and_read_back(api: Api) -> None:
    schema = document(name="added", ünïcode={"type": "string"})
    added = api.add(schema)
    assert (added.status, added.json["location"]) == (201, "iglu:com.acme/added/jsonschema/1-0-0")
    read = api.ask("GET", "/api/schemas/com.acme/added/jsonschema/1-0-0", key=READER)
    assert (read.status, read.json, read.headers["Content-Type"]) == (200, schema, "application/json")
    assert json.loads((api.folder / "schemas/com.acme/added/jsonschema/1-0-0").read_text()) == schema


def test_the_same_schema_again_is_200_and_another_one_under_its_key_409(api: Api) -> None:
    schema = document(name="twice")
    assert [api.add(schema).status, api.add(schema).status] == [201, 200]
    refused = api.add(document(name="twice", more={"type": "null"}))
    assert refused.status == 409
    assert "another schema under this key" in refused.json["message"]


def test_a_schema_is_put_at_its_own_path_only(api: Api) -> None:
    body, path = json.dumps(document(name="put")).encode(), "/api/schemas/com.acme/put/jsonschema/1-0-0"
    assert api.ask("PUT", path, body, WRITER).status == 201
    wrong = api.ask("PUT", path.replace("put", "other"), body, WRITER)
    assert (wrong.status, "send the schema to its own path" in wrong.json["message"]) == (400, True)


def test_all_reasons_come_at_once(api: Api) -> None:
    schema = document(bad={"type": "text", "maxLength": -1, "$ref": "http://example.com/x"})
    schema["self"]["name"] = "../name"
    refused = api.add(schema)
    assert refused.status == 400
    assert {reason["path"] for reason in refused.json["report"]} >= {
        "/self/name",
        "/properties/bad/type",
        "/properties/bad/maxLength",
    }
    assert all(reason["allowed"] for reason in refused.json["report"])
    gap = api.add(document("1-0-7"))
    assert (gap.status, len(gap.json["report"])) == (400, 1)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff", b'{"self": 1}', b'{"self": {}, "self": {}}', b"[" * 100_000]
)
def test_a_body_that_is_no_schema_is_400(api: Api, body: bytes) -> None:
    assert api.ask("POST", "/api/schemas", body, WRITER).status == 400


def test_a_check_tells_what_an_addition_would_and_adds_nothing(api: Api) -> None:
    check = "/api/schemas/validation/schema/jsonschema"
    schema = document(name="checked")
    assert api.ask("POST", check, json.dumps(schema).encode(), READER).status == 200
    assert api.ask("POST", check, json.dumps({**schema, "type": 7}).encode(), READER).status == 400
    assert api.ask("POST", check, json.dumps(document(more={"type": "null"})).encode(), READER).status == 409
    assert api.ask("POST", check, json.dumps(schema).encode()).status == 401
    assert api.ask("GET", "/api/schemas/com.acme/checked", key=READER).status == 404


# Lists and representations.


def test_lists_are_in_the_order_of_addition(api: Api) -> None:
    numbers = ["1-0-0", "1-1-0", "1-0-1", "2-0-0"]
    for number in numbers:
        assert api.add(document(number, name="ordered")).status == 201
    uris = [f"iglu:com.acme/ordered/jsonschema/{number}" for number in numbers]
    path = "/api/schemas/com.acme/ordered/jsonschema"
    for listed in (path, f"{path}/", f"{path}?repr=uri", "/api/schemas/com.acme/ordered"):
        assert api.ask("GET", listed, key=READER).json == uris
    assert api.ask("GET", f"{path}/1", key=READER).json == uris[:3]
    documents = [document(number, name="ordered") for number in numbers]
    assert api.ask("GET", f"{path}?repr=canonical", key=READER).json == documents
    meta = api.ask("GET", f"{path}?repr=meta", key=READER).json
    assert [{key: value for key, value in one.items() if key != "metadata"} for one in meta] == documents
    assert {frozenset(one["metadata"]) for one in meta} == {frozenset({"createdAt", "isPublic", "sha256"})}
    assert api.ask("GET", f"{PATH}?repr=uri", key=READER).json == URI
    assert api.ask("GET", f"{PATH}?repr=xml", key=READER).status == 400


def test_another_registry_is_read_through_the_api(api: Api) -> None:
    source = open_source(f"{api.url}api", HttpObjects(READER))
    assert isinstance(source, ServerSource)
    keys = source.versions(ModelKey.parse("com.acme/ad_click/jsonschema/1"))
    assert [source.find(key) for key in keys] == list(history(additions=2))
    assert source.versions(ModelKey.parse("com.acme/no/jsonschema/1")) == ()
    assert set(keys) <= set(source.list_keys())
    for below in (("com.acme", "ad_click"), ("com.acme", "ad_click", "jsonschema")):
        assert source.list_keys(below) == keys
    assert {key.vendor for key in source.list_keys(("com.acme",))} == {"com.acme"}
    with pytest.raises(InvalidInput, match="leave --order out"):
        open_source(f"{api.url}api", HttpObjects(READER), [key.version for key in keys])
    without_a_key = open_source(f"{api.url}api", HttpObjects())
    with pytest.raises(Rejected, match="ONEFOLD_REGISTRY_APIKEY"):
        without_a_key.list_keys(("com.acme",))


# Keys.


@pytest.mark.parametrize(
    ("key", "path", "status"),
    [
        (None, PATH, 401),
        ("wrong", PATH, 401),
        (UNKNOWN, PATH, 401),
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
def test_who_may_read(api: Api, key: str | None, path: str, status: int) -> None:
    assert api.ask("GET", path, key=key).status == status


def test_a_list_of_everything_has_what_the_key_may_read(api: Api) -> None:
    assert api.ask("GET", "/api/schemas").json == ["iglu:org.open/open/jsonschema/1-0-0"]
    read = api.ask("GET", "/api/schemas", key=READER).json
    assert URI in read
    assert api.ask("GET", "/api/schemas", key=OTHER).json == ["iglu:org.open/open/jsonschema/1-0-0"]


@pytest.mark.parametrize(("key", "status"), [(None, 401), ("wrong", 401), (READER, 403), (OTHER, 403)])
def test_who_may_not_add(api: Api, key: str | None, status: int) -> None:
    before = api.ask("GET", "/api/schemas", key=WRITER).json
    body = json.dumps(document(name="forbidden")).encode()
    assert api.ask("POST", "/api/schemas", body, key).status == status
    assert api.ask("PUT", "/api/schemas/com.acme/forbidden/jsonschema/1-0-0", body, key).status == status
    assert api.ask("GET", "/api/schemas", key=WRITER).json == before


def test_a_key_that_is_revoked_is_refused_at_once(api: Api) -> None:
    text = api.keys.read_text()
    try:
        api.keys.write_text('{"keys": []}')
        assert api.ask("GET", PATH, key=READER).status == 401
        api.keys.write_text("{")
        assert api.ask("GET", PATH, key=READER).status == 503
    finally:
        api.keys.write_text(text)
    assert api.ask("GET", PATH, key=READER).status == 200


def test_no_answer_and_no_log_shows_a_key(api: Api) -> None:
    answers = [api.ask("GET", PATH, key=key) for key in (OTHER, READER, "wrong-secret")]
    api.log.seek(0)
    shown = api.log.read() + b"".join(answer.body for answer in answers)
    for secret in (OTHER, READER, WRITER, "wrong-secret"):
        assert secret.encode() not in shown


# What a server has to bear.


def test_an_etag_saves_the_body(api: Api) -> None:
    for path in (PATH, "/api/schemas/com.acme/ad_click"):
        tag = api.ask("GET", path, key=READER).headers["ETag"]
        for header in (tag, f'"x", W/{tag}', "*"):
            again = api.ask("GET", path, key=READER, If_None_Match=header)
            assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)
        assert api.ask("GET", path, key=READER, If_None_Match='"other"').status == 200
        assert api.ask("GET", path, If_None_Match=tag).status == 401


def test_a_body_of_ten_megabytes_is_413_and_the_server_goes_on(api: Api) -> None:
    big = document(name="big", note={"type": "string", "description": "x" * 10_000_000})
    refused = api.add(big)
    assert (refused.status, "more than 1,000,000 bytes" in refused.json["message"]) == (413, True)
    fits = document(name="big", note={"type": "string", "description": "x" * 900_000})
    assert api.add(fits).status == 201


def test_a_body_without_a_length_is_413_as_well(api: Api) -> None:
    connection = http.client.HTTPConnection(urlsplit(api.url).netloc, timeout=300)
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
def test_another_method_is_405_with_those_that_are_allowed(api: Api, method: str, path: str, allowed: str) -> None:
    refused = api.ask(method, path, b"", WRITER)
    assert (refused.status, refused.headers["Allow"]) == (405, allowed)
    assert api.ask("GET", PATH, key=READER).status == 200


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
def test_a_path_that_can_be_no_schema_is_404_and_nothing_is_read(api: Api, path: str) -> None:
    refused = api.ask("GET", path, key=WRITER)
    assert refused.status == 404
    assert b"root:" not in refused.body
    assert b"sha256" not in refused.body


def test_the_health_is_told_to_everybody(api: Api) -> None:
    assert api.ask("GET", "/api/meta/health").body == b"OK"
    assert api.ask("HEAD", "/api/meta/health").status == 200


def test_requests_at_once_add_every_schema_once(api: Api) -> None:
    barrier = threading.Barrier(16)

    def add(number: int) -> int:
        barrier.wait()
        return api.add(document(name=f"many{number // 2}")).status

    with ThreadPoolExecutor(16) as pool:
        statuses = sorted(pool.map(add, range(16)))
    assert statuses == [200] * 8 + [201] * 8


def test_a_registry_that_does_not_work_is_503_and_the_log_says_why(api: Api) -> None:
    index = api.folder / "schemas" / "index.json"
    data = index.read_bytes()
    try:
        index.write_bytes(b"{")
        assert api.ask("GET", PATH, key=READER).status == 503
        assert api.add(document(name="later")).status == 503
        assert index.read_bytes() == b"{"
    finally:
        index.write_bytes(data)
    api.log.seek(0)
    assert b'"event": "registry_failed"' in api.log.read()
