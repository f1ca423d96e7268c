"""Repairs in a warehouse in memory: which lines are written, and that each wins against the last change of its key."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from support.load_scene import NOON, LoadScene
from support.memory_loads import PROJECT, files_of
from support.pulled_source import BASE, CHANGED_AT, CLUSTER, DATABASE, STRUCTURE, Operation

from onefold.changelog.position import Position
from onefold.check.chunks import ChunkResult, compare_chunk
from onefold.check.exact import ComparedChunk, FoundRow
from onefold.check.repair import Repairer, sequence_above
from onefold.check.request import CheckedTable, CheckRequest
from onefold.core.names import TableId
from onefold.ports.load_jobs import LoadJobs
from onefold.ports.warehouse import BaseWarehouse
from onefold.pull.load.deletion_files import StoredDeletions
from onefold.pull.load.run import TableLoads
from onefold.pull.read.clock import micros
from onefold.pull.read.part import PartResult
from onefold.pull.read.plan import KeyRange
from onefold.pull.read.pulled_table import pulled_table
from onefold.schema.columns import Schema
from onefold.schema.versions import Version
from onefold.settings.sources import TableLoad

LATER = NOON + timedelta(hours=3)
_SECTION = st.integers(0, 2**65)


@dataclass
class Changes:
    """The last change of each key of a world, as the query of a repair returns it; a mark is the key."""

    scene: LoadScene

    def read_versions(self, base: TableId) -> tuple[Version, ...]:
        return self.scene.world.versions(base)

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        assert f"`{PROJECT}.{BASE.dataset}.{next(iter(self.scene.world.tables))}`" in sql
        last: dict[int, dict[str, Any]] = {}
        for name, rows in self.scene.world.tables.items():
            for row in rows:
                metadata = row["datastream_metadata"]
                key, sequence = str(row["id"]), metadata["change_sequence_number"]
                found = {
                    "mark": key, "version": name.rpartition("_")[2], "sequence": sequence, "v0": key,
                    "deleted": metadata["change_type"] == "DELETE", "day": date.fromisoformat(row["_day"]),
                }  # fmt: skip
                known = last.get(row["id"])
                if known is None or str(Position(found["sequence"])) > str(Position(known["sequence"])):
                    last[row["id"]] = found
        return list(last.values())


def table(scene: LoadScene) -> CheckedTable:
    target = pulled_table(STRUCTURE)
    shown = Schema(target.columns).only(target.source_names)
    base = TableId(PROJECT, BASE.dataset, BASE.table)
    state = scene.process().state_of(BASE, "dq")
    return CheckedTable(
        CheckRequest(CLUSTER, DATABASE, at=LATER), base, STRUCTURE, target, TableLoad("incremental"), ("id",), CHANGED_AT,
        base, shown, state, micros(LATER), micros(LATER),
    )  # fmt: skip


def compared(scene: LoadScene, now: datetime) -> tuple[CheckedTable, ComparedChunk, TableLoads]:
    """The chunk of all rows, of which every row that differs was found."""
    checked, loads = table(scene), scene.process()
    scene.now = now
    plan = replace(checked, now=micros(now)).plan(KeyRange("id"))
    loads.begin(plan)
    pulled = scene.puller.read(plan, now)
    lines = {row["id"]: row for row in scene.world.files.rows(pulled.files)}
    source = {key: str(row["name"]) for key, row in lines.items()}
    view = scene.view
    keys = sorted(key for key in source.keys() | view.keys() if source.get(key) != view.get(key))
    rows = tuple(
        FoundRow(
            str(key), lines[key]["datastream_metadata"]["change_sequence_number"] if key in lines else None, (str(key),)
        )
        for key in keys
    )
    sides = [[{"id": key, "name": side[key]} for key in keys if key in side] for side in (source, view)]
    result = compare_chunk(sides[0], sides[1], ["id"])
    chunk = ComparedChunk(plan, PartResult(pulled.files), BASE, rows, len(rows), result)
    return checked, chunk, loads


def repair(scene: LoadScene, now: datetime, chosen: Callable[[ChunkResult], ChunkResult] = lambda result: result) -> int:
    checked, chunk, loads = compared(scene, now)
    jobs: LoadJobs = loads.jobs
    to = files_of(scene.world)
    return Repairer(
        cast("BaseWarehouse", Changes(scene)), loads, jobs, StoredDeletions(to), to, scene.puller.present(now)
    ).repair(checked, chunk, chosen(chunk.result))


def spoiled_scene() -> LoadScene:
    """A view in which rows are missing, wrong, too many, and newer than the source says."""
    scene = LoadScene()
    for key in range(1, 9):
        scene.source.put(key, f'n{key} "change_sequence_number":"0/0/0/0"', NOON - timedelta(days=key))
    scene.pull("15m", NOON)
    (name,) = scene.world.tables
    scene.world.tables[name] = [row for row in scene.world.tables[name] if row["id"] != 1]
    for row in scene.world.tables[name]:
        row["name"] = "spoiled" if row["id"] == 2 else row["name"]
    scene.source.put(3, None, NOON)
    # The modification time goes back.
    scene.source.operations.append(Operation(4, "older", NOON, NOON, watermark=NOON - timedelta(days=400)))
    return scene


def source_of(scene: LoadScene, now: datetime) -> dict[int, str]:
    return {key: str(one.name) for key, one in scene.source.rows(now).items()}


def test_after_a_repair_the_view_is_the_source() -> None:
    scene = spoiled_scene()
    assert repair(scene, LATER) == 4
    assert scene.view == source_of(scene, LATER)
    assert repair(scene, LATER + timedelta(minutes=1)) == 0
    kinds = [row["datastream_metadata"]["change_type"] for rows in scene.world.tables.values() for row in rows]
    assert kinds.count("DELETE") == 1


def test_a_repaired_row_loses_to_its_next_change_and_a_deleted_key_comes_back() -> None:
    scene = spoiled_scene()
    repair(scene, LATER)
    scene.source.put(2, "changed", LATER + timedelta(minutes=1))
    scene.source.put(3, "is back", LATER + timedelta(minutes=1))
    scene.pull("15m", LATER + timedelta(minutes=15))
    assert scene.view == source_of(scene, LATER + timedelta(minutes=15))


def test_only_the_rows_of_confirmed_findings_are_written() -> None:
    scene = spoiled_scene()
    before = scene.view

    def one(result: ChunkResult) -> ChunkResult:
        return ChunkResult(tuple(finding for finding in result.findings if finding.key["id"] == "1"))

    assert repair(scene, LATER, one) == 1
    assert scene.view == {**before, 1: source_of(scene, LATER)[1]}
    assert repair(scene, LATER, lambda _: ChunkResult()) == 0


def test_a_repair_does_not_move_the_watermark_of_the_next_pull() -> None:
    scene = spoiled_scene()
    before = scene.process().state_of(BASE, "15m")
    repair(scene, LATER)
    after = scene.process().state_of(BASE, "15m")
    assert (after.watermark, after.version) == (before.watermark, before.version)
    assert [row["pull_window"] for row in scene.world.loaded] == ["15m", "dq"]


def test_a_tombstone_that_was_wrong_is_repaired() -> None:
    scene = LoadScene()
    scene.source.put(1, "Ada", NOON)
    scene.pull("15m", NOON)
    (rows,) = scene.world.tables.values()
    metadata = rows[0]["datastream_metadata"]
    watermark, read, *_ = metadata["change_sequence_number"].split("/")
    number = f"{watermark}/{int(read, 16) + 9:X}/0/0"
    rows.append({**rows[0], "datastream_metadata": {**metadata, "change_type": "DELETE", "change_sequence_number": number}})
    assert scene.view == {}
    assert repair(scene, LATER) == 1
    assert scene.view == {1: "Ada"}
    assert json.loads(scene.world.log[-1]["files"][0].join(['"', '"'])).count("/dq/") == 1


@given(st.tuples(_SECTION, _SECTION), st.tuples(_SECTION, _SECTION), st.integers(0, 10_000))
def test_a_sequence_above_wins_against_both(own: tuple[int, int], replaced: tuple[int, int], number: int) -> None:
    texts = [f"{watermark:X}/{read:X}/{2**31:X}/{2**31:X}" for watermark, read in (own, replaced)]
    above = str(Position(sequence_above(texts[0], texts[1], number)))
    assert all(above > str(Position(text)) for text in texts)
