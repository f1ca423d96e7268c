"""A warehouse of pulled tables in memory, written from the documentation, whose every step can be the last one.

It honours: load jobs that take all files or none, once for the same files; the label of pulled tables, without which nothing
is replaced; partitions by `_day`, which take no rows of another day; the log, of which each row may be read back at once.
Each call of a port is one step: `turns.Turns` decides which thread makes the next one, and which process dies before it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, cast

from support.in_memory import MemoryPublisher
from support.memory_files import MemoryFiles
from support.memory_log import MemoryLog

from onefold.core.errors import Rejected
from onefold.core.names import TableId, versioned_name
from onefold.ports.load_jobs import PULLED_LABEL, LoadedJob, LoadFile, NotPulled
from onefold.ports.rows import Row
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.pull.load.day_rows import Since
from onefold.pull.load.deletion_files import StoredDeletions
from onefold.pull.load.missing_keys import LOOKED_UP, KeyColumns, Landed
from onefold.pull.load.run import TableLoads
from onefold.pull.load.tables import Announcements
from onefold.pull.read.part import FileDestination
from onefold.pull.read.pulled import PulledFile, PulledFiles
from onefold.pull.read.watermark import NO_DAY
from onefold.schema.columns import Column
from onefold.schema.versions import Version

PROJECT, TOPIC = "my-project", "table-created"


@dataclass
class MemoryWorld:
    """All that outlives a process."""

    files: MemoryFiles = field(default_factory=MemoryFiles)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The rows of the versioned tables, by name."""
    stored: dict[str, tuple[tuple[Column, ...], Mapping[str, str]]] = field(default_factory=dict)
    """Their columns and labels."""
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The keys that they declare."""
    log: list[Row] = field(default_factory=list)
    jobs: dict[tuple[object, ...], LoadedJob] = field(default_factory=dict)
    publisher: MemoryPublisher = field(default_factory=MemoryPublisher)

    def process(self, now: Callable[[], datetime], step: Callable[[], object] = lambda: None) -> TableLoads:
        """The loads of a process, which calls `step` before each of its steps."""
        announcements = Announcements(cast("BaseWarehouse", _Warehouse(self, step)), self.publisher, TOPIC)
        deletions = StoredDeletions(FileDestination(self.files, "gs://pulled"))
        log = MemoryLog(self.log, step)
        return TableLoads(announcements, _Jobs(self, step), log, lambda base: _Days(self, step, base), deletions, now)

    @property
    def loaded(self) -> list[Row]:
        """The rows of the log of loads that are done."""
        return [row for row in self.log if row["state"] == "loaded"]

    def versions(self, base: TableId) -> tuple[Version, ...]:
        prefix = f"{base.table}_v_"
        found = ((name.removeprefix(prefix), columns) for name, (columns, _) in self.stored.items())
        return tuple(Version(id_, columns) for id_, columns in found)


@dataclass
class _Warehouse:
    world: MemoryWorld
    step: Callable[[], object]
    project: str = PROJECT

    def read_table(self, id_: TableId) -> StoredTable | None:
        found = self.world.stored.get(id_.table)
        return (
            StoredTable(found[0], datetime(2026, 1, 1, tzinfo=UTC), (), self.world.keys.get(id_.table, ()))
            if found
            else None
        )

    def create_table(
        self,
        id_: TableId,
        columns: Sequence[Column],
        clustering: Sequence[str] = (),
        partition: str | None = None,
        primary_key: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.step()
        assert partition == "_day"
        self.world.stored.setdefault(id_.table, (tuple(columns), dict(labels or {})))
        self.world.tables.setdefault(id_.table, [])
        self.world.keys.setdefault(id_.table, tuple(primary_key))

    def read_versions(self, base: TableId) -> tuple[Version, ...]:
        self.step()
        return self.world.versions(base)

    def list_labels(self, dataset: str) -> Mapping[str, Mapping[str, str]]:
        self.step()
        return {name: labels for name, (_, labels) in self.world.stored.items()}


@dataclass
class _Jobs:
    world: MemoryWorld
    step: Callable[[], object]

    def append(self, table: TableId, files: Sequence[LoadFile]) -> LoadedJob:
        self.step()
        return self._once(table, "append", files, lambda kept: kept)

    def replace(self, table: TableId, files: Sequence[LoadFile], day: date | None = None) -> LoadedJob | None:
        self.step()
        if PULLED_LABEL not in self.world.stored[table.table][1]:
            raise NotPulled(str(table))
        rows = self.world.files.rows(files)
        if day and any(row["_day"] != day.isoformat() for row in rows):
            raise Rejected(f"{table}: rows of other days than {day}")

        def kept(present: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [row for row in present if day and row["_day"] != day.isoformat()]

        if not files:
            self.world.tables[table.table] = kept(self.world.tables[table.table])
            return None
        return self._once(table, f"replace {day}", files, kept)

    def since(self, at: datetime) -> _Jobs:  # no row of this log is ever deleted
        return self

    def load_keys(self, table: TableId, files: Sequence[LoadFile]) -> None:
        raise AssertionError("the days of this warehouse read the files")

    def _once(
        self,
        table: TableId,
        kind: str,
        files: Sequence[LoadFile],
        kept: Callable[[list[dict[str, Any]]], list[dict[str, Any]]],
    ) -> LoadedJob:
        id_ = (str(table), kind, frozenset((file.name, file.checksum) for file in files))
        if id_ not in self.world.jobs:
            rows = self.world.files.rows(files)
            self.world.tables[table.table] = [*kept(self.world.tables[table.table]), *rows]
            self.world.jobs[id_] = LoadedJob(f"job-{len(self.world.jobs)}", len(rows))
        return self.world.jobs[id_]


@dataclass
class _Days:
    world: MemoryWorld
    step: Callable[[], object]
    base: TableId

    @contextlib.contextmanager
    def read_keys(self, pulled: PulledFiles, keys: KeyColumns) -> Iterator[TableId]:
        self.step()
        self._read: dict[int, list[int]] = {}
        for row in self.world.files.rows(pulled.files):
            watermark, *_ = _place(row["datastream_metadata"]["change_sequence_number"])
            self._read.setdefault(row["id"], []).append(watermark)
        yield self.base.sibling("onefold_tmp_keys")

    def count(self, versions: Sequence[Version], day: date) -> Mapping[str, int]:
        self.step()
        return {version.id: len(self._of_day(version, day)) for version in versions}

    def missing(self, read: TableId, landed: Sequence[Landed], keys: KeyColumns, day: date) -> Iterator[Mapping[str, Any]]:
        self.step()
        yield from (
            one for one in self._last(landed, lambda row: row["_day"] == str(day)) if int(one["k0"]) not in self._read
        )

    def above(self, read: TableId, landed: Sequence[Landed], keys: KeyColumns, since: Since) -> Iterator[Mapping[str, Any]]:
        self.step()
        days = (str(since.first), str(NO_DAY))
        for one in self._last(landed, lambda row: since.everywhere or row["_day"] >= days[0] or row["_day"] == days[1]):
            read_watermark = max(self._read.get(int(one["k0"]), []), default=None)
            if read_watermark is not None and _place(one["sequence"])[0] > read_watermark:
                yield {**one, "day": one["day"] if read_watermark else NO_DAY}

    def ahead(self, read: TableId, landed: Sequence[Landed], keys: KeyColumns, after: date) -> Iterator[Mapping[str, Any]]:
        self.step()
        for one in self._last(landed, lambda row: row["_day"] > str(after)):
            if int(one["k0"]) not in self._read and not one["deleted"] and _place(one["sequence"])[2] != LOOKED_UP:
                yield one

    def marks(self, files: Sequence[PulledFile], keys: KeyColumns) -> Mapping[str, str]:
        self.step()
        return {row["datastream_metadata"]["change_sequence_number"]: str(row["id"]) for row in self.world.files.rows(files)}

    def _last(self, landed: Sequence[Landed], is_chosen: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        last: dict[int, tuple[tuple[int, ...], dict[str, Any]]] = {}
        for one in landed:
            for row in self.world.tables[versioned_name(self.base.table, one.version.id)]:
                if is_chosen(row):
                    metadata, key = row["datastream_metadata"], row["id"]
                    sequence, deleted = metadata["change_sequence_number"], metadata["change_type"] == "DELETE"
                    change = {
                        "version": one.target.id, "sequence": sequence, "deleted": deleted, "v0": str(key), "k0": str(key),
                        "mark": str(key), "day": date.fromisoformat(row["_day"]),
                    }  # fmt: skip
                    last[key] = max(last.get(key, ((), {})), (_place(sequence), change), key=lambda found: found[0])
        return [change for _, change in last.values()]

    def _of_day(self, version: Version, day: date) -> list[dict[str, Any]]:
        rows = self.world.tables[versioned_name(self.base.table, version.id)]
        return [row for row in rows if row["_day"] == day.isoformat()]


def _place(sequence: str) -> tuple[int, ...]:
    return tuple(int(section, 16) for section in sequence.split("/"))


def files_of(world: MemoryWorld) -> FileDestination:
    """Where the pulls of a world write."""
    return FileDestination(world.files, "gs://pulled")
