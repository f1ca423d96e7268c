"""Several loaders at once over runs of any states of a table, each killed at any step: the rows are there once."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.memory_events import MemoryTables, MemoryWarehouse
from support.seeding import examples
from support.shredded_runs import ENVELOPE, manifest_of
from support.turns import Killed, Turns, any_order

from onefold.core.errors import TryAgain
from onefold.events.load.load import Loader
from onefold.events.load.runs import FolderRuns
from onefold.events.shred.manifest import MANIFEST, RunManifest, ShreddedFile, ShreddedTable
from onefold.ports.event_tables import Columns, EventTable, FoundTable
from onefold.ports.objects import StoredObject

START = datetime(2026, 11, 23, 8, tzinfo=UTC)
_TYPES = st.sampled_from(["INT64", "STRING", "ARRAY<DATE>", "STRUCT<a INT64>", "ARRAY<STRUCT<a INT64, b STRUCT<c DATE>>>"])
TABLES = ("com_acme_click_1", "com_acme_click_2", "events")
ADOPTED: dict[str, Columns] = {TABLES[1]: (("mine", "DATE"), ("id", "INT64"), *reversed(ENVELOPE), ("old", "STRING"))}
"""A table of another loader: its columns are in another order, and no schema has some of them."""


class Folder:
    """A folder of runs in memory: a run is listed at once, and complete when its manifest is written."""

    def __init__(self) -> None:
        self.manifests: dict[str, bytes] = {}

    def list_folders(self, address: str) -> list[str]:
        assert address == "/runs"
        return list(self.manifests)

    def find(self, address: str) -> StoredObject | None:
        run = Path(address).parent.name
        assert Path(address).name == MANIFEST
        return StoredObject(self.manifests[run], 1)


def next_state(draw: st.DataObject, state: Columns) -> Columns:
    """A later state of a table: some structs have one field more, and columns follow at the end."""
    grown = tuple((name, _wider(draw, type_)) for name, type_ in state)
    new = draw.draw(st.lists(_TYPES, max_size=2))
    return (*grown, *((f"c{len(grown) + number}", type_) for number, type_ in enumerate(new)))


def _wider(draw: st.DataObject, type_: str) -> str:
    if "STRUCT" not in type_ or not draw.draw(st.booleans()):
        return type_
    closing = type_[len(type_.rstrip(">")) :]
    return type_.removesuffix(closing) + ">" * (len(closing) - 1) + f", f{len(type_)} STRING>" if closing == ">" else type_


def manifest(
    number: int, states: dict[str, Columns], rows: dict[str, int], adopted: dict[str, Columns] | None = None
) -> RunManifest:
    at = START + timedelta(seconds=number)
    tables = tuple(
        ShreddedTable(
            name, "com_acme_click", name[-1] if name != "events" else "",
            f"iglu:com.acme/click/jsonschema/1-0-{number}" if name != "events" else "",
            (*ENVELOPE, *columns), f"name={name}", (ShreddedFile("part-1.parquet", rows[name], 10),),
            (adopted or {}).get(name, ()),
        )
        for name, columns in states.items()
        if rows[name]
    )  # fmt: skip
    return manifest_of(at.strftime("%Y-%m-%d-%H-%M-%S"), tables)


def loader(folder: Folder, warehouse: MemoryWarehouse) -> Loader:
    return Loader(FolderRuns("file:///runs", folder), warehouse)


def load_again_and_again(folder: Folder, state: MemoryTables, step: Any) -> None:
    """As a function does whose message is delivered until it is acknowledged."""
    for _ in range(20):
        step()
        try:
            reports = list(loader(folder, MemoryWarehouse(state, step)).load())
        except TryAgain:
            continue
        if not any(report.errors for report in reports):
            return
    raise AssertionError("the loaders never come to an end")


@settings(max_examples=examples(100))
@given(st.data())
def test_whatever_loaders_do_at_once_the_rows_of_each_run_are_there_once(draw: st.DataObject) -> None:
    states: list[dict[str, Columns]] = [dict.fromkeys(TABLES, (("id", "INT64"),))]
    for _ in range(draw.draw(st.integers(0, 3))):
        states.append({name: next_state(draw, columns) for name, columns in states[-1].items()})
    counts = st.fixed_dictionaries(dict.fromkeys(TABLES, st.integers(0, 2)))
    adopted = ADOPTED if draw.draw(st.booleans()) else {}
    runs = [manifest(number, state, draw.draw(counts), adopted) for number, state in enumerate(states)]
    order = draw.draw(st.permutations(range(len(runs))))
    folder, tables = Folder(), MemoryTables({name: FoundTable(columns) for name, columns in adopted.items()})

    def shred(step: Any) -> None:
        for number in order:
            step()
            folder.manifests[runs[number].folder] = runs[number].to_json().encode()

    works = [shred, *2 * [lambda step: load_again_and_again(folder, tables, step)]]
    kills = [None, *draw.draw(st.lists(st.none() | st.integers(0, 60), min_size=2, max_size=2))]
    ends = Turns(any_order(draw)).run(works, kills)
    assert all(end is None or isinstance(end, Killed) for end in ends), ends
    load_again_and_again(folder, tables, lambda: None)

    for name in TABLES:
        loaded = {f"file:///runs/{run.folder}": rows for run in runs if (rows := _rows(run, name))}
        assert tables.rows.get(name, Counter()) == loaded
        with_rows = [number for number, run in enumerate(runs) if _rows(run, name)]
        if not with_rows:
            assert (name in tables.tables) is (name in adopted)  # nothing is created for rows that never came
            continue
        last = with_rows[-1]
        if name in adopted:
            assert tables.tables[name].columns == (*adopted[name], *states[last][name][1:])  # all but id
        else:
            assert tables.tables[name].columns == (*ENVELOPE, *states[last][name])
        assert tables.tables[name].uri in ("", f"iglu:com.acme/click/jsonschema/1-0-{last}")


def _rows(run: RunManifest, name: str) -> int:
    return sum(table.rows for table in run.tables if table.name == name)


def test_a_schema_that_is_added_while_runs_are_loaded_is_migrated_with_its_own_rows_only() -> None:
    folder, tables = Folder(), MemoryTables()
    one: dict[str, Columns] = {TABLES[0]: (("id", "INT64"),)}
    two: dict[str, Columns] = {TABLES[0]: (("id", "INT64"), ("zip", "STRING"))}
    first, second = manifest(0, one, {TABLES[0]: 1}), manifest(1, two, {TABLES[0]: 1})
    folder.manifests[first.folder] = first.to_json().encode()
    # zip is in the registry by now, and the shredder that knows it has not finished.
    list(loader(folder, MemoryWarehouse(tables)).load())
    assert tables.tables[TABLES[0]].columns == (*ENVELOPE, *one[TABLES[0]])
    folder.manifests[second.folder] = second.to_json().encode()
    list(loader(folder, MemoryWarehouse(tables)).load())
    assert tables.tables[TABLES[0]].columns == (*ENVELOPE, *two[TABLES[0]])


def test_a_second_loader_creates_the_table_between_the_look_and_the_creation() -> None:
    folder, tables = Folder(), MemoryTables()
    states: list[Columns] = [(("id", "INT64"),), (("id", "INT64"), ("zip", "STRING"))]
    older, newer = (manifest(number, {TABLES[0]: state}, {TABLES[0]: 1}) for number, state in enumerate(states))
    folder.manifests[older.folder] = older.to_json().encode()
    later = Folder()
    later.manifests[newer.folder] = newer.to_json().encode()

    class Overtaken(MemoryWarehouse):
        def create(self, table: EventTable) -> None:
            """Another loader is faster."""
            list(loader(later, MemoryWarehouse(tables)).load())
            super().create(table)

    list(loader(folder, Overtaken(tables)).load())
    assert tables.tables[TABLES[0]].columns == (*ENVELOPE, *states[1])
    assert sum(tables.rows[TABLES[0]].values()) == 2
