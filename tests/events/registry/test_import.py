"""An import into a registry: repeated, interrupted, and at the same time as additions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.fake_gcs import ObjectStore
from support.registries import BUCKET, Killed, KilledAt, bucket_store, folder_store, history, schema, store_of

from onefold.adapters.folder_objects import FolderObjects
from onefold.events.registry.ddl import TARGETS
from onefold.events.registry.index import schema_text
from onefold.events.registry.published import Published
from onefold.events.registry.store import RegistryStore

SCHEMAS = (*history(), *history("page", 2))


def offered() -> Published:
    return Published(SCHEMAS, frozenset(), {})


@pytest.mark.parametrize("where", ["folder", "bucket"])
def test_an_import_is_what_others_read_and_may_be_repeated(where: str, tmp_path: Path, object_store: ObjectStore) -> None:
    connect: Callable[[], RegistryStore] = bucket_store if where == "bucket" else lambda: folder_store(tmp_path)
    connect().add(SCHEMAS[0])
    added = [connect().import_all(offered(), TARGETS).added for _ in range(2)]
    assert [len(one) for one in added] == [4, 0]
    store = connect()
    assert store.find_all(store.list_keys()) == list(SCHEMAS)
    assert object_store.objects == {} or all(name.startswith(BUCKET[5:]) for name in object_store.objects)


@pytest.mark.parametrize("write", range(1, 7))
@pytest.mark.parametrize("before", [True, False])
def test_an_import_that_is_killed_at_any_write_is_finished_by_its_repetition(
    write: int, before: bool, tmp_path: Path
) -> None:
    objects = KilledAt(FolderObjects(tmp_path), write, before)
    with pytest.raises(Killed):
        store_of(tmp_path, objects).import_all(offered(), TARGETS)
    listed = folder_store(tmp_path).list_keys()
    assert listed in ((), tuple(one.key for one in SCHEMAS))
    folder_store(tmp_path).import_all(offered(), TARGETS)
    assert folder_store(tmp_path).find_all([one.key for one in SCHEMAS]) == list(SCHEMAS)


def test_an_addition_between_the_read_and_the_write_of_the_index_is_not_lost(tmp_path: Path) -> None:
    class Racing(FolderObjects):
        added = False

        def write(self, address: str, data: bytes, generation: int | None = None) -> int:
            if address.endswith("index.json") and not Racing.added:
                Racing.added = True
                folder_store(tmp_path).add(schema(name="quick"))
            return super().write(address, data, generation)

    store_of(tmp_path, Racing(tmp_path)).import_all(offered(), TARGETS)
    keys = folder_store(tmp_path).list_keys()
    assert [key.name for key in keys] == ["quick", *(one.key.name for one in SCHEMAS)]


def test_a_file_of_another_schema_without_an_entry_leaves_that_schema_out(tmp_path: Path) -> None:
    place = tmp_path / "schemas" / SCHEMAS[-1].key.path
    place.parent.mkdir(parents=True)
    place.write_text(schema_text(schema("1-0-1", "page", other={"type": "integer"})))
    plan = folder_store(tmp_path).import_all(offered(), TARGETS)
    assert [(one.name, one.outcome) for one in plan.results if one.outcome != "added"] == [(SCHEMAS[-1].key.uri, "left out")]
    assert str(place) in plan.results[-1].reasons[0]
