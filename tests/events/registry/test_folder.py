"""A folder that is read directly: what cannot be used is named, and stops nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.registries import document

from onefold.core.errors import InvalidInput, NotFound
from onefold.events.registry.folder import read_folder

REPEATED = '{"self": {"vendor": "com.acme", "name": "twice", "format": "jsonschema", "version": "1-0-0"}, "id": 1, "id": 1}'


def put(folder: Path, path: str, text: str | None = None) -> None:
    vendor, name, _, version = path.split("/")
    place = folder / "schemas" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(document(version, name, vendor)) if text is None else text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path, "com.acme/ad_click/jsonschema/1-0-0")
    put(tmp_path, "com.acme/twice/jsonschema/1-0-0", REPEATED)
    put(tmp_path, "com.acme/twice/jsonschema/1-0-1")
    put(tmp_path, "com.acme/payload/thrift/1-0-0", "struct Payload {}")
    put(tmp_path, "com.acme/moved/jsonschema/1-0-0", json.dumps(document(name="other")))
    for version in ("1-0-0", "1-1-0", "1-0-1"):
        put(tmp_path, f"com.acme/page/jsonschema/{version}")
    return tmp_path


def test_what_cannot_be_used_is_named_and_stops_nothing_else(folder: Path) -> None:
    registry = read_folder(folder)
    assert [schema.key.path for schemas in registry.models.values() for schema in schemas] == [
        "com.acme/ad_click/jsonschema/1-0-0", "com.acme/twice/jsonschema/1-0-1",
    ]  # fmt: skip
    reasons = {name.removeprefix("iglu:com.acme/"): reason for name, reason in registry.unusable.items()}
    assert sorted(reasons) == [
        "moved/jsonschema/1-0-0", "page/jsonschema/1-0-0", "page/jsonschema/1-0-1", "page/jsonschema/1-1-0",
        "payload/thrift/1-0-0", "twice/jsonschema/1-0-0",
    ]  # fmt: skip
    assert "'id' stands twice in one object" in reasons["twice/jsonschema/1-0-0"]
    assert reasons["payload/thrift/1-0-0"] == "the format thrift is not known: use jsonschema"
    assert "it describes itself as iglu:com.acme/other/jsonschema/1-0-0" in reasons["moved/jsonschema/1-0-0"]
    assert "--order 1-0-0,1-0-1,1-1-0" in reasons["page/jsonschema/1-0-0"]


def test_of_one_model_what_can_be_used_is_read(folder: Path) -> None:
    model = ("com.acme", "twice", "jsonschema", "1")
    registry = read_folder(folder, model)
    assert [schema.key.path for schema in next(iter(registry.models.values()))] == ["com.acme/twice/jsonschema/1-0-1"]
    assert list(registry.unusable) == ["iglu:com.acme/twice/jsonschema/1-0-0"]


def test_a_model_that_is_asked_for_and_cannot_be_used_is_an_error(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="give the versions in the order"):
        read_folder(folder, ("com.acme", "page", "jsonschema", "1"))
    with pytest.raises(InvalidInput, match="describes itself as"):
        read_folder(folder, ("com.acme", "moved", "jsonschema", "1"))
    with pytest.raises(NotFound, match=r"did you mean com.acme/ad_click/jsonschema/1"):
        read_folder(folder, ("com.acme", "ad_clik", "jsonschema", "1"))
