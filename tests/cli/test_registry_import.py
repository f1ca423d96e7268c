"""The command `schema import`: from folders, buckets, other servers and static files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from support.cli import Run
from support.fake_gcs import ObjectStore
from support.registries import document, folder_store, schema
from support.rest import HttpRequest, serving
from support.web_registry import web_registry

KEYS = [f"com.acme/ad_click/jsonschema/{version}" for version in ("1-0-0", "1-0-1", "1-1-0")]
TWICE = json.dumps(document(name="twice"))[:-1] + ', "type": "object"}'
WIDE: dict[str, Any] = {"größe": {"type": "string", "maxLength": 200}}
FILES = {
    **{f"schemas/{key}": json.dumps(document(key.rpartition("/")[2])) for key in KEYS[:2]},
    f"schemas/{KEYS[2]}": json.dumps(document("1-1-0", **WIDE)),
    "schemas/org.other/page/jsonschema/2-0-1": json.dumps(document("2-0-1", "page", "org.other")),
    "schemas/com.acme/twice/jsonschema/1-0-0": TWICE,
    "schemas/com.acme/payload/thrift/1-0-0": "struct Payload {}",
    "schemas/com.acme/foreign/jsonschema/1-0-0": json.dumps(document(name="foreign", a={"$ref": "http://acme.com/a.json"})),
    "schemas/com.acme/visit/jsonschema/1-0-0": json.dumps(document(name="visit", a={"$ref": "iglu:a.b/c/jsonschema/1-0-0"})),
    "schemas/com.acme/README.md": "read me",
    "schemas/com.acme/ad_click/jsonschema/.1-0-0.swp": "",
}
LEFT_OUT = [
    "com.acme/README.md",
    *(
        f"iglu:com.acme/{name}/1-0-0"
        for name in ("foreign/jsonschema", "payload/thrift", "twice/jsonschema", "visit/jsonschema")
    ),
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "source" / name).write_text(text)
    return tmp_path / "source"


def in_folder(source: Path, request: pytest.FixtureRequest) -> str:  # noqa: ARG001 as the others
    return str(source)


def in_bucket(source: Path, request: pytest.FixtureRequest) -> str:  # noqa: ARG001 as the others
    store: ObjectStore = request.getfixturevalue("object_store")
    store.objects = {f"acme/central/{name}": (text.encode(), 1) for name, text in FILES.items()}
    return "gs://acme/central"


def in_s3(source: Path, request: pytest.FixtureRequest) -> str:  # noqa: ARG001 as the others
    request.getfixturevalue("s3_server")
    client = boto3.client("s3")
    client.create_bucket(Bucket="acme")
    for name, text in FILES.items():
        client.put_object(Bucket="acme", Key=f"central/{name}", Body=text.encode())
    return "s3://acme/central"


@pytest.mark.parametrize("place", [in_folder, in_bucket, in_s3])
def test_a_tree_is_imported_by_version_and_what_cannot_be_used_is_named(
    run: Run, source: Path, tmp_path: Path, place: Callable[..., str], request: pytest.FixtureRequest
) -> None:
    address = place(source, request)
    registry = tmp_path / "registry"
    done = run("schema", "import", address, "--registry", registry, "--json")
    assert done.code == 2
    added = [result for result in done.results if result["outcome"] == "added"]
    assert [result["schema"] for result in added] == [f"iglu:{key}" for key in (*KEYS, "org.other/page/jsonschema/2-0-1")]
    assert {result["order"] for result in added} == {"version"}
    assert sorted(result["schema"] for result in done.results if result["outcome"] == "left out") == LEFT_OUT
    assert run("schema", "list", "--registry", registry).out.splitlines() == [result["schema"] for result in added]
    again = run("schema", "import", address, "--registry", registry)
    assert (again.code, again.out.splitlines()[-1][:50]) == (2, "0 schemas added, 4 unchanged, 5 left out; 0 claim ")


def test_a_change_that_is_more_than_its_number_claims_is_reported_and_recorded(
    run: Run, source: Path, tmp_path: Path
) -> None:
    (source / "schemas" / KEYS[1]).write_text(json.dumps(document("1-0-1", **WIDE)))
    done = run("schema", "import", source, "--registry", tmp_path / "registry", "--vendor", "com.acme")
    assert "added iglu:com.acme/ad_click/jsonschema/1-0-1\n  REVISION, and its number claims ADDITION: " in done.out
    assert done.out.splitlines()[-1] == "3 schemas added, 0 unchanged, 5 left out; 1 claim less than their change is"
    assert "Warning: left out iglu:com.acme/payload/thrift/1-0-0: the format thrift is not known" in done.err
    index: dict[str, Any] = json.loads((tmp_path / "registry" / "schemas" / "index.json").read_text())
    assert [one.get("class") for one in index["schemas"]] == [None, "REVISION", "ADDITION"]


def test_an_export_keeps_what_an_import_has_recorded(run: Run, source: Path, tmp_path: Path) -> None:
    run("schema", "import", source, "--registry", tmp_path / "registry")
    assert run("schema", "export", "--registry", tmp_path / "registry", "--into", tmp_path / "copy").code == 0
    indexes = [json.loads((tmp_path / name / "schemas" / "index.json").read_text()) for name in ("registry", "copy")]
    assert indexes[0]["schemas"] == indexes[1]["schemas"]
    assert {one["order"] for one in indexes[1]["schemas"]} == {"version"}


def test_a_vendor_that_is_complete_ends_with_0_and_one_that_is_missing_is_an_error(
    run: Run, source: Path, tmp_path: Path
) -> None:
    command = ("schema", "import", source, "--registry", tmp_path / "registry", "--vendor")
    assert run(*command, "org.other").code == 0
    missing = run(*command, "org.nobody")
    assert (missing.code, "no schemas of org.nobody: it has com.acme, org.other" in missing.err) == (1, True)
    nothing = run("schema", "import", tmp_path, "--registry", tmp_path / "other")
    assert (nothing.code, "has no folder schemas" in nothing.err) == (1, True)


def test_a_dry_run_writes_nothing(run: Run, source: Path, tmp_path: Path) -> None:
    done = run("schema", "import", source, "--registry", tmp_path / "registry", "--dry-run")
    assert "4 schemas would be added, 0 unchanged, 5 left out" in done.out
    assert not (tmp_path / "registry").exists()


def test_the_order_of_another_registry_is_kept(run: Run, tmp_path: Path) -> None:
    for version in ("1-0-0", "1-1-0", "1-0-1"):
        folder_store(tmp_path / "source").add(schema(version))
    done = run("schema", "import", tmp_path / "source", "--registry", tmp_path / "registry", "--json")
    assert (done.code, {result["order"] for result in done.results}) == (0, {"addition"})
    listed = run("schema", "list", "--registry", tmp_path / "registry").out.splitlines()
    assert [line.rpartition("/")[2] for line in listed] == ["1-0-0", "1-1-0", "1-0-1"]


def test_a_server_is_imported_in_its_order_with_a_key(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [f"iglu:{key}" for key in (KEYS[0], KEYS[2], KEYS[1], "com.acme/twice/jsonschema/1-0-0")]

    def answer(request: HttpRequest) -> tuple[int, Any]:
        if request.headers.get("apikey") != "5e0b0a1c-3f0e-4a53-9d5e-0c9a3f1d7b21":
            return 403, {}
        if request.path == "/api/schemas":
            return 200, listed
        text = FILES.get(request.path.removeprefix("/api/"))
        return (200, text.encode()) if text else (404, {})

    monkeypatch.setenv("ONEFOLD_REGISTRY_APIKEY", "5e0b0a1c-3f0e-4a53-9d5e-0c9a3f1d7b21")
    with serving(answer) as address:
        done = run("schema", "import", f"{address}/api", "--registry", tmp_path / "registry", "--json")
    assert [(result["schema"], result["outcome"]) for result in done.results] == [
        *((uri, "added") for uri in listed[:3]), (listed[3], "left out"),
    ]  # fmt: skip


def test_the_file_of_a_resolver_is_no_source(run: Run, tmp_path: Path) -> None:
    refused = run("schema", "import", tmp_path / "resolver.json", "--registry", tmp_path / "registry")
    assert (refused.code, "import each of them by its address" in refused.err) == (1, True)


def test_static_files_that_nobody_lists_are_an_error(run: Run, tmp_path: Path) -> None:
    with serving(lambda _: (404, {})) as address:
        refused = run("schema", "import", address, "--registry", tmp_path / "registry")
    assert (refused.code, "without an index schemas cannot be listed" in refused.err) == (1, True)


URIS = """# what our events name
iglu:com.acme/ad_click/jsonschema/1-1-0   # the newest
iglu:com.acme/ad_click/jsonschema/1-0-1

iglu:com.acme/ad_click/jsonschema/1-0-0
iglu:com.acme/ad_click/jsonschema/1-0-0
iglu:com.acme/gone/jsonschema/1-0-0
com.acme/ad_click
"""
VERSIONS = tuple(schema(version) for version in ("1-0-0", "1-0-1", "1-1-0"))
MISSING = "Warning: left out iglu:com.acme/gone/jsonschema/1-0-0: the registry does not have it"


@pytest.mark.parametrize("is_piped", [True, False])
def test_static_files_that_nobody_lists_are_asked_for_the_uris_of_a_file(run: Run, tmp_path: Path, is_piped: bool) -> None:
    (tmp_path / "uris.txt").write_text(URIS)
    named, stdin = ("-", URIS) if is_piped else (tmp_path / "uris.txt", "")
    with web_registry(*VERSIONS, schema(name="never")) as web:
        done = run("schema", "import", web.address, "--registry", tmp_path / "mine", "--uris", named, stdin=stdin)
        assert not web.asked_for(schema(name="never").key)
    assert (done.code, done.out.splitlines()[-1][:50]) == (2, "3 schemas added, 0 unchanged, 2 left out; 0 claim ")
    assert MISSING in done.err
    assert "Warning: left out line 8, 'com.acme/ad_click': " in done.err
    index = json.loads((tmp_path / "mine" / "schemas" / "index.json").read_text())
    assert [one["key"] for one in index["schemas"]] == [one.key.path for one in VERSIONS]
    assert [one["order"] for one in index["schemas"]] == ["version"] * 3


def test_uris_take_a_part_of_a_source_that_has_an_order_and_keep_it(run: Run, tmp_path: Path) -> None:
    for one in (VERSIONS[0], VERSIONS[2], VERSIONS[1], schema(name="other")):
        folder_store(tmp_path / "source").add(one)
    (tmp_path / "uris.txt").write_text(URIS)
    words = ("schema", "import", tmp_path / "source", "--registry", tmp_path / "mine", "--uris", tmp_path / "uris.txt")
    done = run(*words, "--json")
    assert [one["schema"][-5:] for one in done.results if one["outcome"] == "added"] == ["1-0-0", "1-1-0", "1-0-1"]
    assert {one["order"] for one in done.results if one["outcome"] == "added"} == {"addition"}
    assert [one["schema"] for one in done.results if one["outcome"] == "left out"] == [
        "line 8, 'com.acme/ad_click'", "iglu:com.acme/gone/jsonschema/1-0-0",
    ]  # fmt: skip


@pytest.mark.parametrize(("content", "told"), [(b"# nothing\n", "got none"), (b"\xff\xfe", "expected text in UTF-8")])
def test_a_file_without_uris_is_an_error(run: Run, tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "uris.txt").write_bytes(content)
    folder_store(tmp_path / "source").add(VERSIONS[0])
    words = ("schema", "import", tmp_path / "source", "--registry", tmp_path / "mine", "--uris", tmp_path / "uris.txt")
    refused = run(*words)
    assert (refused.code, "--uris: " in refused.err, told in refused.err) == (1, True, True)
