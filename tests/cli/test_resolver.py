"""Commands that read through the configuration of Iglu's resolver."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cli import Run
from support.registries import folder_store, schema
from support.web_registry import WebRegistry, web_registry

CLICK = schema("1-0-0", "click")
VIEW = schema("1-0-0", "view", "com.central")
READ_ONLY = "is a resolver's configuration, which is read only: name the registry to add to"
KEY = "5a1e0c4f-1111-4222-8333-444455556666"


@pytest.fixture
def web() -> Iterator[WebRegistry]:
    with web_registry(VIEW, schema("1-0-1", "view", "com.central"), schema("1-1-0", "view", "com.central")) as server:
        yield server


@pytest.fixture
def resolver(tmp_path: Path, web: WebRegistry) -> str:
    """A folder of one's own, and static files of others without an index."""
    folder_store(tmp_path / "own").add(CLICK)
    central = {"http": {"uri": web.address, "apikey": "env:IGLU"}}
    return write(tmp_path, {"embedded": {"path": str(tmp_path / "own")}}, central)


def write(folder: Path, *connections: object) -> str:
    repositories = [
        {"name": f"r{number}", "priority": 0, "vendorPrefixes": [], "connection": connection}
        for number, connection in enumerate(connections)
    ]
    schema_ = "iglu:com.snowplowanalytics.iglu/resolver-config/jsonschema/1-0-3"
    path = folder / "resolver.json"
    path.write_text(json.dumps({"schema": schema_, "data": {"cacheSize": 500, "repositories": repositories}}))
    return str(path)


def test_a_schema_of_each_registry_is_shown_and_the_key_is_sent(
    run: Run, resolver: str, web: WebRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IGLU", KEY)
    for one in (CLICK, VIEW):
        shown = run("schema", "show", one.key.uri, "--registry", resolver)
        assert (shown.code, json.loads(shown.out)) == (0, one.json), shown.err
    assert {key for _, key in web.requests} == {KEY}


def test_the_columns_of_a_model_are_shown_by_its_numbers(run: Run, resolver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU", KEY)
    found = run("schema", "ddl", "com.central/view/jsonschema/1", "--target", "redshift", "--registry", resolver)
    assert found.code == 0, found.err
    assert "view" in found.out


def test_a_key_that_is_not_there_is_named_and_not_shown(run: Run, resolver: str) -> None:
    refused = run("schema", "show", CLICK.key.uri, "--registry", resolver)
    assert refused.code == 1
    assert "the key of the registry is in the variable IGLU, which is not set" in refused.err


def test_registries_that_can_be_listed_are_listed_as_one(run: Run, tmp_path: Path, web: WebRegistry) -> None:
    folder_store(tmp_path / "own").add(CLICK)
    path = write(tmp_path, {"http": {"uri": f"{web.address}/api"}}, {"embedded": {"path": str(tmp_path / "own")}})
    listed = run("schema", "list", "--registry", path)
    assert listed.out.split() == [*(one.key.uri for one in web.schemas), CLICK.key.uri], listed.err


def test_a_list_with_static_files_cannot_be_listed(run: Run, resolver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU", KEY)
    refused = run("schema", "list", "--registry", resolver)
    assert (refused.code, "without an index schemas cannot be listed" in refused.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("schema", "list", "com.central/view/jsonschema/1", "--order", "1-0-0"), "leave --order out"),
        (("schema", "add", "resolver.json"), "is a resolver's configuration, which is read only"),
        (
            ("schema", "adopt", "events", "--table", "d.events", "--record"),
            "is a resolver's configuration, which is read only",
        ),
    ],
)
def test_what_one_registry_only_can_do_is_refused(
    run: Run, resolver: str, words: tuple[str, ...], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(resolver).parent)
    refused = run(*words, "--registry", resolver)
    assert (refused.code, problem in refused.err) == (1, True), refused.err


def test_a_file_that_does_not_exist_is_named(run: Run) -> None:
    refused = run("schema", "list", "--registry", "nothing/resolver.json")
    assert (refused.code, "nothing/resolver.json does not exist" in refused.err) == (1, True)
