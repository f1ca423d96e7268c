"""Registries on a real web server: slow, then down, then back; static files, and a server with a key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.registries import KeptOrders, folder_store, schema
from support.web_registry import WebRegistry, web_registry

from onefold.adapters.folder_objects import FolderObjects
from onefold.adapters.http_objects import HttpObjects
from onefold.core.errors import Rejected, TryAgain
from onefold.events.registry.copies import RegistryCopy
from onefold.events.registry.frozen import freeze
from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.reading import PatientObjects, RegistryAt
from onefold.events.registry.registry import Registry
from onefold.events.registry.resolver import ListedRegistry, RegistryList
from onefold.events.registry.schema_key import SchemaKey
from onefold.ports.objects import StoredObject

CLICK = schema("1-0-0", "click")
VIEW = schema("1-0-0", "view", "com.central")
NEWER = schema("1-0-1", "view", "com.central")
SHORT = 0.3
"""Seconds after which a client gives up a server that does not answer."""


@pytest.fixture
def web() -> Iterator[WebRegistry]:
    with web_registry(VIEW) as server:
        yield server


@dataclass
class Runs(KeptOrders):
    """Runs with a folder of this machine and a registry of the web."""

    own: Path
    central: str
    key: str | None = None
    copies: dict[str, RegistryCopy] = field(default_factory=dict)
    pauses: list[float] = field(default_factory=list)

    def find(self, registry: str) -> RegistryCopy | None:
        return self.copies.get(registry)

    def save(self, copy: RegistryCopy) -> None:
        self.copies[copy.registry] = copy

    def run(self, *wanted: SchemaKey) -> Registry:
        registries = RegistryList((ListedRegistry(str(self.own)), ListedRegistry(self.central, api_key=self.key)))
        return freeze(registries, self._open, lambda: frozenset(wanted), self, datetime.now(UTC))

    def _open(self, one: ListedRegistry) -> RegistryAt:
        if one.address == str(self.own):
            return RegistryAt(one.address, FolderObjects(self.own))
        return RegistryAt(one.address, PatientObjects(HttpObjects(one.api_key, SHORT), self.pauses.append))


@pytest.fixture
def runs(tmp_path: Path, web: WebRegistry) -> Runs:
    folder_store(tmp_path / "own").add(CLICK)
    return Runs(tmp_path / "own", web.address)


def test_slow_then_down_then_back(runs: Runs, web: WebRegistry) -> None:
    first = runs.run(CLICK.key, VIEW.key)
    assert first.origins == {CLICK.key: str(runs.own), VIEW.key: web.address}
    web.mode = "slow"
    slow = runs.run(CLICK.key, VIEW.key)
    assert slow.models == first.models
    assert list(slow.stale) == [web.address]
    web.mode = "down"
    down = runs.run(CLICK.key, VIEW.key)
    assert down.models == first.models
    assert "the server answers 503" in down.stale[web.address]
    with pytest.raises(TryAgain, match=rf"{web.address} does not answer.*view/jsonschema/1-0-1"):
        runs.run(NEWER.key)
    web.mode = "well"
    web.schemas.append(NEWER)
    back = runs.run(NEWER.key)
    assert back.stale == {}
    assert NEWER.key in back.origins


def test_a_registry_that_was_never_read_stops_the_run_that_needs_it(runs: Runs, web: WebRegistry) -> None:
    web.mode = "down"
    assert runs.run(CLICK.key).origins == {CLICK.key: str(runs.own)}
    with pytest.raises(TryAgain, match=f"{web.address} does not answer"):
        runs.run(CLICK.key, VIEW.key)


def test_a_registry_is_asked_three_times_and_then_no_more_in_this_run(runs: Runs, web: WebRegistry) -> None:
    web.mode = "down"
    with pytest.raises(TryAgain):
        runs.run(VIEW.key)
    assert len(web.asked()) == 3
    assert runs.pauses == [1.0, 2.0]


def test_a_registry_that_is_busy_for_a_moment_is_asked_again() -> None:
    class Busy:
        left = 2

        def find(self, address: str) -> StoredObject | None:
            self.left -= 1
            if self.left >= 0:
                raise TryAgain(f"{address} is busy")
            return StoredObject(b"{}", 1)

    assert PatientObjects(Busy(), lambda _: None).find("https://a.example") == StoredObject(b"{}", 1)


def test_static_files_are_asked_for_the_versions_of_the_models_that_are_named(runs: Runs, web: WebRegistry) -> None:
    other = schema("1-0-0", "other", "com.central")
    web.schemas += [NEWER, schema("1-1-0", "view", "com.central"), other]
    found = runs.run(VIEW.key)
    assert [str(one.key.version) for one in found.models[VIEW.key.model_key]] == ["1-0-0", "1-0-1", "1-1-0"]
    assert other.key not in found.origins
    assert not web.asked_for(other.key)


def test_a_version_behind_a_gap_is_found_by_its_name(runs: Runs, web: WebRegistry) -> None:
    behind = schema("1-0-7", "view", "com.central")
    web.schemas.append(behind)
    assert behind.key in runs.run(behind.key).origins


def test_what_cannot_be_used_is_left_out_by_name(runs: Runs, web: WebRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    web.schemas += [NEWER, schema("1-0-2", "view", "com.central")]
    answer = web.answer
    monkeypatch.setattr(web, "answer", lambda path: b'{"self": 1}' if path.endswith("1-0-1") else answer(path))
    found = runs.run(VIEW.key, NEWER.key)
    assert [str(one.key.version) for one in found.models[VIEW.key.model_key]] == ["1-0-0", "1-0-2"]
    assert list(found.unusable) == [NEWER.key.uri]


def test_a_web_server_that_answers_every_path_is_no_registry(
    runs: Runs, web: WebRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "answer", lambda path: None if path.endswith("index.json") else b"<html>Welcome</html>")
    with pytest.raises(Rejected, match=f"{web.address}: no version of com.central/view/jsonschema/1 can be used"):
        runs.run(VIEW.key)


def test_a_server_is_listed_with_its_key(runs: Runs, web: WebRegistry) -> None:
    runs.central, runs.key = f"{web.address}/api", "secret-key"
    assert runs.run().origins == {CLICK.key: str(runs.own), VIEW.key: runs.central}
    assert {key for _, key in web.requests} == {"secret-key"}
    assert "secret-key" not in runs.copies[runs.central].to_json()


def test_what_a_server_lists_and_cannot_be_used_stops_nothing_else(runs: Runs, web: WebRegistry) -> None:
    runs.central = f"{web.address}/api"
    avro = {**VIEW.json, "self": {**VIEW.json["self"], "format": "avro"}}
    other = parse_schema(VIEW.json)
    object.__setattr__(other, "key", SchemaKey.parse("com.central/view/avro/1-0-0"))
    object.__setattr__(other, "json", avro)
    web.schemas.append(other)
    found = runs.run()
    assert VIEW.key in found.origins
    assert list(found.unusable) == ["iglu:com.central/view/avro/1-0-0"]


def test_a_server_that_knows_no_list_of_all_schemas_is_asked_for_each(
    runs: Runs, web: WebRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = web.answer
    monkeypatch.setattr(web, "answer", lambda path: None if "?repr=uri" in path else answer(path))
    runs.central = f"{web.address}/api"
    assert runs.run(VIEW.key).origins == {CLICK.key: str(runs.own), VIEW.key: runs.central}


def of_order(version: str, *names: str) -> JsonSchema:
    own = {"vendor": "com.central", "name": "order", "format": "jsonschema", "version": version}
    return parse_schema({"self": own, "type": "object", "properties": {name: {"type": "integer"} for name in names}})


A, Z, B = of_order("1-0-0", "a"), of_order("1-0-1", "a", "z"), of_order("1-0-2", "a", "z", "b")
LATE = of_order("1-1-0", "a", "c")


def versions(found: Registry) -> list[str]:
    return [str(one.key.version) for one in found.models.get(A.key.model_key, ())]


@pytest.mark.parametrize("page", [b"<html>maintenance</html>", b"", b'{"self": {"vendor": "com.cen', b"\xff"])
def test_a_version_that_is_no_json_leaves_its_model_out_until_it_can_be_read(
    runs: Runs, web: WebRegistry, monkeypatch: pytest.MonkeyPatch, page: bytes
) -> None:
    web.schemas += [A, Z, B]
    answer = web.answer
    monkeypatch.setattr(web, "answer", lambda path: page if path.endswith("order/jsonschema/1-0-1") else answer(path))
    found = runs.run(B.key, VIEW.key)
    assert versions(found) == []
    assert VIEW.key in found.origins
    assert sorted(found.unusable) == [A.key.uri, Z.key.uri, B.key.uri]
    assert f"{web.address}/schemas/com.central/order/jsonschema/1-0-1 is not a schema" in found.unusable[B.key.uri]
    assert A.key.model_key not in runs.copies[web.address].asked_at
    monkeypatch.undo()
    again = runs.run(B.key)
    assert (versions(again), dict(again.unusable)) == (["1-0-0", "1-0-1", "1-0-2"], {})


def test_a_model_that_was_read_before_is_taken_from_the_copy_where_a_version_is_no_json(
    runs: Runs, web: WebRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.schemas += [A, Z]
    assert versions(runs.run(A.key)) == ["1-0-0", "1-0-1"]
    web.schemas.append(B)
    answer = web.answer
    monkeypatch.setattr(web, "answer", lambda path: b"<html>" if path.endswith("order/jsonschema/1-0-1") else answer(path))
    found = runs.run(B.key, A.key)
    assert versions(found) == ["1-0-0", "1-0-1"]
    assert list(found.unusable) == [B.key.uri]
    monkeypatch.undo()
    assert versions(runs.run(B.key)) == ["1-0-0", "1-0-1", "1-0-2"]


def test_a_version_that_is_published_late_comes_behind_those_that_a_run_has_used(runs: Runs, web: WebRegistry) -> None:
    web.schemas += [A, LATE]
    assert versions(runs.run(A.key)) == ["1-0-0", "1-1-0"]
    web.schemas.append(Z)
    assert versions(runs.run(A.key)) == versions(runs.run(Z.key)) == ["1-0-0", "1-1-0", "1-0-1"]


def test_a_version_that_a_run_has_used_stays_where_the_registry_does_not_answer_it_any_more(
    runs: Runs, web: WebRegistry
) -> None:
    web.schemas += [A, Z, B]
    runs.run(A.key)
    web.schemas.remove(Z)
    assert versions(runs.run(B.key)) == ["1-0-0", "1-0-1", "1-0-2"]


PAGE = b"<html>maintenance</html>"


def test_a_list_that_is_a_page_is_that_of_a_server_that_is_down(
    runs: Runs, web: WebRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.central = f"{web.address}/api"
    answer = web.answer
    monkeypatch.setattr(web, "answer", lambda path: PAGE if "?repr=uri" in path else answer(path))
    with pytest.raises(TryAgain, match="is answered with what is no JSON"):
        runs.run(VIEW.key)
    monkeypatch.undo()
    first = runs.run(VIEW.key)
    monkeypatch.setattr(web, "answer", lambda _: PAGE)
    page = runs.run(VIEW.key)
    assert (page.models, list(page.stale)) == (first.models, [runs.central])
    monkeypatch.undo()
    web.schemas.append(NEWER)
    assert NEWER.key in runs.run(NEWER.key).origins


@pytest.mark.parametrize("page_at", ["index.json", "view/jsonschema/1-0-0"])
def test_a_page_in_place_of_an_index_or_of_what_it_lists_is_that_of_a_server_that_is_down(
    runs: Runs, web: WebRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page_at: str
) -> None:
    for one in (VIEW, NEWER):  # the index itself has the text of the last one
        folder_store(tmp_path / "central").add(one)

    def file_at(path: str) -> bytes | None:
        file = tmp_path / "central" / path.strip("/")
        return file.read_bytes() if file.is_file() else None

    monkeypatch.setattr(web, "answer", file_at)
    first = runs.run(VIEW.key)
    assert first.origins[VIEW.key] == web.address
    monkeypatch.setattr(web, "answer", lambda path: PAGE if path.endswith(page_at) else file_at(path))
    page = runs.run(VIEW.key)
    assert (page.models, list(page.stale)) == (first.models, [web.address])


def test_a_page_in_place_of_a_schema_that_a_server_lists_leaves_its_model_to_the_copy(
    runs: Runs, web: WebRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.central = f"{web.address}/api"
    web.schemas += [A, Z]
    answer = web.answer
    monkeypatch.setattr(web, "answer", lambda path: PAGE if path.endswith("order/jsonschema/1-0-0") else answer(path))
    never = runs.run(VIEW.key)
    assert (versions(never), sorted(never.unusable)) == ([], [A.key.uri, Z.key.uri])
    assert VIEW.key in never.origins
    assert runs.central not in runs.copies
    monkeypatch.undo()
    assert versions(runs.run()) == ["1-0-0", "1-0-1"]
    web.schemas.append(B)
    monkeypatch.setattr(web, "answer", lambda path: PAGE if path.endswith("order/jsonschema/1-0-0") else answer(path))
    found = runs.run()
    assert (versions(found), list(found.unusable)) == (["1-0-0", "1-0-1"], [B.key.uri])
    monkeypatch.undo()
    assert versions(runs.run()) == ["1-0-0", "1-0-1", "1-0-2"]
