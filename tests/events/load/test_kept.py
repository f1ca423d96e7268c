"""Entities that were kept as JSON are shredded later: each once, with the row that an earlier schema would have given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from support.shred_events import parsed, registry_of
from support.shred_scene import CLICK, ID, contexts, enriched

from onefold.adapters.folder_objects import FolderObjects
from onefold.core.shred_options import Unknown
from onefold.events.load.kept import KeptFile, known_schemas, write_kept
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.registry.sources import StaticSource
from onefold.events.shred.plan import plan_shred
from onefold.events.shred.shredder import Shredded, Shredder
from onefold.ports.kept_entities import KeptEntity

USERS = parsed({"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}, name="user")
URI, OTHER = USERS.key.uri, "iglu:com.acme/other/jsonschema/1-0-0"
DATA = '{"name":"a\\t\\"b\\"","price":1.10}'
TIME = datetime(2026, 11, 23, 8, 0, 0, 123_000)
ROW = KeptEntity(ID, TIME, "contexts[0]", DATA)


@dataclass(frozen=True)
class MemoryKept:
    """Rows by run and schema, in their order."""

    rows: dict[tuple[str, str], list[KeptEntity]]

    def schemas(self) -> Sequence[tuple[str, str]]:
        return list(self.rows)

    def page(self, run: str, uri: str, start: int, count: int) -> Sequence[KeptEntity]:
        return self.rows[run, uri][start : start + count]


def written(folder: Path, kept: MemoryKept, *known: str, page: int = 2) -> list[KeptFile]:
    return list(write_kept(kept, f"file://{folder}", known, FolderObjects(folder), page))


def shredded(record: str, *schemas: object, unknown: Unknown = "keep_json") -> Shredded:
    plan = plan_shred(registry_of(CLICK, *schemas), "csv", "enriched-tsv", None, unknown)  # type: ignore[arg-type]
    return Shredder(replace(plan, run="r")).shred(record)


def test_entities_of_known_schemas_are_written_once_in_files_of_fixed_names(tmp_path: Path) -> None:
    run = f"file://{tmp_path}/run=2026-11-23-08-00-00"
    rows = [replace(ROW, place=f"contexts[{number}]") for number in range(5)]
    kept = MemoryKept({(run, URI): rows, (run, OTHER): rows, ("gs://elsewhere/run=1", URI): rows})
    first = written(tmp_path, kept, URI)
    assert [(one.rows, one.new) for one in first] == [(2, True), (2, True), (1, True)]
    assert {one.address.rpartition("/")[0] for one in first} == {f"file://{tmp_path}/kept/run=2026-11-23-08-00-00"}
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert written(tmp_path, kept, URI) == [replace(one, new=False) for one in first]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == before
    assert len(b"".join(before.values()).splitlines()) == 5


def test_a_registry_that_cannot_be_listed_is_asked_for_the_schemas_of_the_table(tmp_path: Path) -> None:
    for uri, text in ((URI, USERS.canonical), (OTHER, "{}")):  # what cannot be used stops nothing else
        file = tmp_path / "schemas" / SchemaKey.parse(uri).path
        file.parent.mkdir(parents=True)
        file.write_text(text)
    kept = MemoryKept({(run, uri): [ROW] for run in ("run=1", "run=2") for uri in (URI, OTHER, CLICK.key.uri)})
    assert known_schemas(kept, StaticSource(str(tmp_path), FolderObjects(tmp_path))) == {URI}


def test_a_look_writes_nothing(tmp_path: Path) -> None:
    kept = MemoryKept({(f"file://{tmp_path}/run=1", URI): [ROW]})
    assert [one.rows for one in write_kept(kept, f"file://{tmp_path}", [URI], None)] == [1]
    assert list(tmp_path.iterdir()) == []


def test_the_row_is_that_of_a_run_that_knew_the_schema(tmp_path: Path) -> None:
    written(tmp_path, MemoryKept({(f"file://{tmp_path}/run=1", URI): [ROW]}), URI)
    (line,) = next(tmp_path.rglob("*.json")).read_text().splitlines()
    event = enriched("enriched-tsv", contexts=contexts({"schema": URI, "data": json.loads(DATA)}))
    assert list(shredded(line, USERS).rows) == list(shredded(event, USERS).rows)[1:]


def test_an_entity_whose_schema_is_unknown_again_is_set_apart_and_not_kept_twice(tmp_path: Path) -> None:
    written(tmp_path, MemoryKept({(f"file://{tmp_path}/run=1", URI): [ROW]}), URI)
    found = shredded(next(tmp_path.rglob("*.json")).read_text().rstrip("\n"))
    assert (found.rows, found.bad, [one.kept for one in found.apart]) == ((), None, [True])
