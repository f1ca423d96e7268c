"""The commands on a registry, as a person and a program run them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
import pytest
from support.cli import Run
from support.fake_gcs import ObjectStore
from support.registries import document, folder_store, history, schema

AD_CLICK = [f"iglu:com.acme/ad_click/jsonschema/1-0-{number}" for number in range(3)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with three versions, in files of any name."""
    folder = tmp_path / "new"
    folder.mkdir()
    for number, one in enumerate(history()):
        (folder / f"{9 - number}.json").write_text(json.dumps(one.json))
    return folder


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """A registry whose order of addition is not that of the numbers."""
    folder = tmp_path / "registry"
    for number in ("1-0-0", "1-1-0", "1-0-1"):
        folder_store(folder).add(schema(number))
    folder_store(folder).add(schema(name="größe".replace("ö", "oe").replace("ß", "ss"), vendor="org.other"))
    return folder


def test_schemas_are_added_listed_and_shown(run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "registry"
    monkeypatch.setenv("COLUMNS", "20")  # lines are for other programs, too: they are not wrapped
    added = run("schema", "add", files, "--registry", folder)
    assert (added.code, added.out.splitlines()) == (0, [f"added {uri}" for uri in AD_CLICK])
    again = run("schema", "add", files / "9.json", "--registry", folder, "--json")
    assert (again.code, [row["outcome"] for row in again.results]) == (0, ["unchanged"])
    assert run("schema", "list", "--registry", folder).out.splitlines() == AD_CLICK
    shown = run("schema", "show", "com.acme/ad_click/jsonschema/1-0-1", "--registry", folder)
    assert json.loads(shown.out) == json.loads((files / "8.json").read_text())
    as_json = run("schema", "show", "com.acme/ad_click/jsonschema/1-0-1", "--registry", folder, "--json")
    assert as_json.result == {"schema": AD_CLICK[1], "json": json.loads(shown.out)}


def test_a_schema_that_is_refused_is_told_with_all_reasons_and_does_not_stop_the_others(
    run: Run, files: Path, tmp_path: Path
) -> None:
    wrong = {**document("1-0-7", "other"), "type": 7}
    (files / "0.json").write_text(json.dumps({**wrong, "maxLength": -1}))
    (files / "1.json").write_text("{")
    done = run("schema", "add", files, "--registry", tmp_path / "registry", "--json")
    assert done.code == 1
    outcomes = {Path(row["file"]).name: (row["outcome"], len(row["errors"])) for row in done.results}
    assert outcomes == {
        **dict.fromkeys(("9.json", "8.json", "7.json"), ("added", 0)),
        "0.json": ("failed", 2),
        "1.json": ("failed", 1),
    }
    told = run("schema", "add", files / "0.json", "--registry", tmp_path / "registry")
    assert (told.code, told.err.count("Error: ")) == (1, 2)


def test_settings_name_the_registry_and_its_rules(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = run("schema", "list")
    assert (missing.code, "ONEFOLD_REGISTRY" in missing.err) == (1, True)
    monkeypatch.setenv("ONEFOLD_REGISTRY", str(tmp_path / "registry"))
    monkeypatch.setenv("ONEFOLD_REGISTRY_ORDER", "sequential")
    assert run("schema", "add", files).code == 0
    late = tmp_path / "late.json"
    for number, code in (("1-1-0", 0), ("1-0-3", 1)):
        late.write_text(json.dumps(document(number)))
        assert run("schema", "add", late).code == code
    late.write_text(json.dumps({**document("1-1-0"), "description": "another"}))
    assert run("schema", "add", late).code == 1
    monkeypatch.setenv("ONEFOLD_REGISTRY_PATCHES", "allowed")
    assert run("schema", "add", late).out == "patched iglu:com.acme/ad_click/jsonschema/1-1-0\n"
    assert json.loads(run("schema", "show", "com.acme/ad_click/jsonschema/1-1-0").out)["description"] == "another"
    # A patch of an early version stays at its place, and is still what its number claims.
    late.write_text(json.dumps({**document("1-0-0"), "description": "another"}))
    assert run("schema", "add", late).out == "patched iglu:com.acme/ad_click/jsonschema/1-0-0\n"
    late.write_text(json.dumps(document("1-0-1", id={"type": "string"})))
    refused = run("schema", "add", late)
    assert (refused.code, "1-0-1 claims ADDITION" in refused.err) == (1, True)
    assert [uri.rpartition("/")[2] for uri in run("schema", "list").out.splitlines()] == ["1-0-0", "1-0-1", "1-0-2", "1-1-0"]


def test_a_list_has_the_order_of_addition_and_takes_a_prefix(run: Run, registry: Path) -> None:
    everything = [row["schema"] for row in run("schema", "list", "--registry", registry, "--json").results]
    assert [uri.rpartition("/")[2] for uri in everything[:3]] == ["1-0-0", "1-1-0", "1-0-1"]
    for prefix in ("com.acme", "com.acme/ad_click", "com.acme/ad_click/jsonschema/", "iglu:com.acme/ad_click/jsonschema/1"):
        assert run("schema", "list", prefix, "--registry", registry).out.splitlines() == everything[:3]
    assert run("schema", "list", "org.other", "--registry", registry).out.splitlines() == everything[3:]
    for prefix in ("com", "../x", "com.acme/ad_click/jsonschema/2", "a/b/c/1/2"):
        assert run("schema", "list", prefix, "--registry", registry).code == 1


def test_a_schema_that_is_missing_is_told_with_those_that_are_there(run: Run, registry: Path) -> None:
    missing = run("schema", "show", "com.acme/ad_click/jsonschema/1-5-0", "--registry", registry)
    assert (missing.code, "it has 1-0-0, 1-1-0, 1-0-1" in missing.err) == (1, True)
    assert run("schema", "show", "com.acme/ad_click/other/1-0-0", "--registry", registry).code == 1


# Export, and every place from which a registry is read.


def test_an_export_has_the_order_of_addition_and_grows(run: Run, registry: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert run("schema", "export", "--registry", registry, "--into", copy).code == 0
    everything = run("schema", "list", "--registry", registry).out
    assert run("schema", "list", "--registry", copy).out == everything
    folder_store(registry).add(schema("1-2-0"))
    assert run("schema", "export", "--registry", registry, "--into", copy, "--json").results[-1]["schema"].endswith("1-2-0")
    assert run("schema", "list", "--registry", copy).out == run("schema", "list", "--registry", registry).out
    assert run("schema", "list", "com.acme/ad_click/jsonschema/1", "--registry", copy).out.count("\n") == 4
    # A copy is a registry, too: what it has alone is never overwritten.
    folder_store(copy).add(schema("1-3-0"))
    refused = run("schema", "export", "--registry", registry, "--into", copy)
    assert (refused.code, "1-3-0" in refused.err, "export to a new folder" in refused.err) == (1, True, True)
    assert run("schema", "export", "--registry", registry, "--into", f"{registry}/.").code == 1


def test_a_part_is_exported(run: Run, registry: Path, tmp_path: Path) -> None:
    assert run("schema", "export", "org.other", "--registry", registry, "--into", tmp_path / "copy").code == 0
    assert run("schema", "list", "--registry", tmp_path / "copy").out.count("\n") == 1


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def served(folder: Path, handler: type[SimpleHTTPRequestHandler]) -> Iterator[str]:
    """Serve the files of a folder; yields the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def web(registry: Path) -> Iterator[str]:
    with served(registry, Quiet) as address:
        yield address


@pytest.fixture
def s3(registry: Path, s3_server: str) -> str:  # noqa: ARG001 the server has to run
    """The registry as objects of S3."""
    client = boto3.client("s3")
    client.create_bucket(Bucket="schemas")
    for path in registry.rglob("*"):
        if path.is_file():
            client.put_object(Bucket="schemas", Key=f"iglu/{path.relative_to(registry)}", Body=path.read_bytes())
    return "s3://schemas/iglu"


@pytest.mark.parametrize("place", ["web", "s3"])
def test_a_copy_elsewhere_is_read_and_never_written(
    run: Run, registry: Path, files: Path, place: str, request: pytest.FixtureRequest
) -> None:
    address = request.getfixturevalue(place)
    assert run("schema", "list", "--registry", address).out == run("schema", "list", "--registry", registry).out
    key = "com.acme/ad_click/jsonschema/1-1-0"
    ddl = ("schema", "ddl", "com.acme/ad_click/jsonschema/1", "--target", "redshift", "--json", "--registry")
    assert run(*ddl, address).json == run(*ddl, registry).json
    shown = run("schema", "show", key, "--registry", address)
    assert shown.out == run("schema", "show", key, "--registry", registry).out
    refused = run("schema", "add", files, "--registry", address)
    assert (refused.code, "others are read only" in refused.err) == (1, True)


class OnlyWithKey(Quiet):
    """Serves files to those who send the key `k`."""

    def do_GET(self) -> None:
        if self.headers["apikey"] == "k":
            super().do_GET()
        else:
            self.send_error(401)


def test_the_key_of_a_server_is_named_as_any_password(run: Run, registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(registry, OnlyWithKey) as address:
        words = ("schema", "list", "--registry", address)
        assert run(*words).code == 1
        monkeypatch.setenv("KEY", "k")
        Path("key").write_text("k\n")
        for reference in ("env:KEY", "file:key"):
            listed = run(*words, "--password-from", reference)
            assert (listed.code, AD_CLICK[0] in listed.out) == (0, True), listed.err
        monkeypatch.setenv("ONEFOLD_REGISTRY_APIKEY", "k")
        assert run(*words).code == 0
        refused = run(*words, "--password-from", "k1")
        assert (refused.code, "write env:NAME, file:PATH" in refused.err, "k1" in refused.err) == (1, True, False)


@pytest.mark.usefixtures("object_store")
def test_a_registry_in_a_bucket_is_written_read_and_copied(run: Run, files: Path, tmp_path: Path) -> None:
    assert run("schema", "add", files, "--registry", "gs://bucket/iglu/").code == 0
    assert run("schema", "list", "--registry", "gs://bucket/iglu").out.splitlines() == AD_CLICK
    assert run("schema", "export", "--registry", "gs://bucket/iglu", "--into", tmp_path / "copy").code == 0
    assert run("schema", "export", "--registry", tmp_path / "copy", "--into", "gs://other/copy").code == 0
    assert run("schema", "list", "--registry", "gs://other/copy").out.splitlines() == AD_CLICK


def test_a_bucket_that_does_not_exist_is_an_error(run: Run, files: Path, object_store: ObjectStore) -> None:
    object_store.lacks = {"storage.objects.get"}
    refused = run("schema", "add", files, "--registry", "gs://bucket/iglu")
    assert (refused.code, "gs://bucket/iglu" in refused.err) == (1, True)


def test_static_files_without_an_index_are_read_only_where_the_order_is_certain(
    run: Run, registry: Path, web: str, files: Path, tmp_path: Path
) -> None:
    (registry / "schemas" / "index.json").unlink()
    model = "com.acme/ad_click/jsonschema/1"
    for address in (registry, web):
        uncertain = run("schema", "list", model, "--registry", address)
        assert (uncertain.code, "--order 1-0-0,1-0-1,1-1-0" in uncertain.err) == (1, True)
        ordered = run("schema", "list", model, "--registry", address, "--order", "1-0-0,1-1-0,1-0-1")
        assert [line.rpartition("/")[2] for line in ordered.out.splitlines()] == ["1-0-0", "1-1-0", "1-0-1"]
        wrong = run("schema", "list", model, "--registry", address, "--order", "1-0-0,1-1-0")
        assert (wrong.code, "the order lacks 1-0-1" in wrong.err) == (1, True)
    (registry / "schemas" / "com.acme/ad_click/jsonschema/1-1-0").unlink()
    for address in (registry, web):
        assert run("schema", "list", model, "--registry", address).out.splitlines() == AD_CLICK[:2]
    assert run("schema", "list", "--registry", web).code == 1
    refused = run("schema", "add", files, "--registry", registry)
    assert (refused.code, "onefold schema export" in refused.err) == (1, True)
    assert run("schema", "export", "--registry", registry, "--into", tmp_path / "indexed").code == 0
    assert run("schema", "add", files, "--registry", tmp_path / "indexed").code == 1  # 1-0-1 is another schema there


@pytest.mark.parametrize("place", ["registry", "web", "s3"])
def test_an_order_is_refused_where_an_index_has_it(run: Run, place: str, request: pytest.FixtureRequest) -> None:
    words = ("com.acme/ad_click/jsonschema/1", "--registry", request.getfixturevalue(place), "--order", "1-0-0,1-0-1,1-1-0")
    for command in (("list",), ("ddl", "--to", "redshift")):
        refused = run("schema", *command, *words)
        assert (refused.code, "knows the order of addition: leave --order out" in refused.err) == (1, True)


def test_a_part_of_static_files_is_read_whatever_the_rest_is(run: Run, registry: Path, tmp_path: Path) -> None:
    (registry / "schemas" / "index.json").unlink()
    (registry / "schemas" / "org.broken" / "x" / "jsonschema").mkdir(parents=True)
    (registry / "schemas" / "org.broken" / "x" / "jsonschema" / "1-0-0").write_text("{")
    listed = run("schema", "list", "--registry", registry)
    assert (listed.code, listed.out) == (0, "iglu:org.other/groesse/jsonschema/1-0-0\n")
    left_out = [line.split()[1] for line in listed.err.splitlines() if line.startswith("Warning: ")]
    uncertain = [AD_CLICK[0].replace("1-0-0", version) for version in ("1-0-0", "1-0-1", "1-1-0")]
    assert left_out == ["iglu:org.broken/x/jsonschema/1-0-0", *uncertain]
    for prefix in ("org.other", "org.other/groesse", "org.other/groesse/jsonschema"):
        assert run("schema", "list", prefix, "--registry", registry).out == "iglu:org.other/groesse/jsonschema/1-0-0\n"
    assert run("schema", "list", "org.nobody", "--registry", registry).err.count("no schemas of org.nobody") == 1
    assert run("schema", "export", "org.other", "--registry", registry, "--into", tmp_path / "copy").code == 0
