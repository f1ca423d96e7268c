"""What `onefold schema add` and `import` and the API record in the ledger: each schema once, before the registry has it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import schema_registry
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.ledgers import StoredLedger
from support.registries import document, folder_store

from onefold.events.registry.api_keys import Access, stored_key
from onefold.events.registry.http import ApiRequest


@pytest.fixture
def stored(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch, run: Run) -> StoredLedger:
    found = StoredLedger(dataset)
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", found.name)
    assert run("changes", "create").code == 0
    return found


def file_of(folder: Path, version: str, **properties: Any) -> str:
    path = folder / f"{version}.json"
    path.write_text(json.dumps(document(version, **properties)), "utf-8")
    return str(path)


def found(stored: StoredLedger, registry: str = "registry") -> list[tuple[str, str, str, set[str]]]:
    entries = [one for one in stored.entries("ad_click") if one.tenant == registry]
    assert {(one.origin, one.dataset, one.decision) for one in entries} <= {("registry", "com.acme", "shown")}
    return [
        (one.version_before, one.version_after, one.severity.name, {change.path for change in one.operations})
        for one in entries
    ]


def test_each_added_schema_is_an_entry_with_the_columns_of_its_table(run: Run, stored: StoredLedger, tmp_path: Path) -> None:
    first = file_of(tmp_path, "1-0-0")
    second = file_of(tmp_path, "1-0-1", colour={"type": "string"})
    for _ in range(2):
        assert run("schema", "add", first, second, "--registry", "registry").code == 0
    (before, after, _, columns), added = found(stored)
    assert (before, after) == ("", "1-0-0")
    assert columns
    assert added == ("1-0-0", "1-0-1", "INFO", {"colour"})
    assert stored.count() == 2


def test_what_is_refused_and_a_dry_run_are_no_entries(run: Run, stored: StoredLedger, tmp_path: Path) -> None:
    assert run("schema", "add", file_of(tmp_path, "1-0-0"), "--registry", "registry", "--dry-run").code == 0
    assert run("schema", "add", file_of(tmp_path, "1-0-7"), "--registry", "registry").code == 1
    assert stored.count() == 0


def test_imported_schemas_are_entries_in_their_order(run: Run, stored: StoredLedger, tmp_path: Path) -> None:
    files = [file_of(tmp_path, "1-0-0"), file_of(tmp_path, "1-0-1", colour={"type": "string"})]
    assert run("schema", "add", files[0], "--registry", "published").code == 0
    assert run("schema", "add", files[1], "--registry", "published").code == 0
    for _ in range(2):
        assert run("schema", "import", "published", "--registry", "own").code == 0
    assert found(stored, "own") == found(stored, "published")
    assert [after for _, after, *_ in found(stored, "own")] == ["1-0-0", "1-0-1"]
    assert stored.count() == 4
    assert run("schema", "list", "--registry", "own", "--json").results[-1]["version"] == "1-0-1"


def test_who_may_not_record_is_told_so_and_the_schema_is_added(
    run: Run, stored: StoredLedger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", "nowhere")
    added = run("schema", "add", file_of(tmp_path, "1-0-0"), "--registry", "registry")
    assert added.code == 0
    assert "a change of com.acme/ad_click is not recorded: there is no table" in added.err
    assert [one["version"] for one in run("schema", "list", "--registry", "registry", "--json").results] == ["1-0-0"]
    assert stored.count() == 0


KEY = "b0a4c3de-7a1f-4c7b-8b55-52f3f0a9e6c4"


def test_what_the_api_adds_is_an_entry_where_a_ledger_is_set(
    stored: StoredLedger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, keys = tmp_path / "served", tmp_path / "keys.json"
    folder_store(folder)
    keys.write_text(json.dumps({"keys": [stored_key("ci", KEY, ["*"], Access.WRITE)]}), "utf-8")
    monkeypatch.setenv("ONEFOLD_REGISTRY", str(folder))
    monkeypatch.setenv("ONEFOLD_REGISTRY_KEYS", str(keys))

    def add(*versions: str) -> list[int]:
        handler = schema_registry.registry.__wrapped__()
        bodies = [json.dumps(document(version)).encode() for version in versions]
        posts = [ApiRequest("POST", "/api/schemas", api_key=KEY, read_body=io.BytesIO(body).read) for body in bodies]
        return [handler.answer(one).status for one in posts]

    assert add("1-0-0", "1-0-0", "1-0-7") == [201, 200, 400]
    assert [(before, after) for before, after, *_ in found(stored, str(folder))] == [("", "1-0-0")]
    assert stored.count() == 1
    monkeypatch.delenv("ONEFOLD_CHANGES_DATASET")
    assert (add("1-0-1"), stored.count()) == ([201], 1)
