"""A source in memory whose commits may be late, and pulls of it as the readers make them, without a database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

from onefold.batches.source_arguments import Window
from onefold.core.names import TableId
from onefold.mysql.binlog.rows import Row
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.pull.read.clock import micros
from onefold.pull.read.days import row_day
from onefold.pull.read.part import Block, FileDestination, pulled_files, write_part
from onefold.pull.read.plan import LoadState, PullRequest, TablePlan
from onefold.pull.read.present_rows import Key, PresentRow, PresentRows
from onefold.pull.read.pulled import Loads, PulledFiles
from onefold.pull.read.pulled_table import pulled_table
from onefold.pull.read.ranges import pull_range, whole_range
from onefold.pull.read.rows import json_line
from onefold.pull.read.watermark import PullRange, Watermark
from onefold.settings.sources import TableLoad, dataset_of

CLUSTER, DATABASE, TABLE = "fraud", "models", "score"
DATASET = dataset_of(CLUSTER, DATABASE)
BASE = TableId("my-project", DATASET, TABLE)
CHANGED_AT, ID = Watermark("changed_at", "timestamp", 6), Watermark("id", "key")
INT, TEXT, TIME = SourceType("int"), SourceType("varchar", 60), SourceType("timestamp", 6)
COLUMNS = (SourceColumn("id", INT), SourceColumn("name", TEXT, "utf8mb4"), SourceColumn("changed_at", TIME))
STRUCTURE = Structure(TABLE, COLUMNS, ("id",))
WIDER = Structure(TABLE, (*COLUMNS, SourceColumn("note", TEXT, "utf8mb4")), ("id",))
"""The structure after an ALTER."""
KEYLESS = Structure(TABLE, COLUMNS)


@dataclass(frozen=True)
class Operation:
    """A change of one row: its modification time is that of the statement, and readers see it from the commit on."""

    key: int
    name: str | None
    at: datetime
    """The modification time; a deletion has a name of None."""
    commit: datetime
    watermark: datetime | None = None
    """What the column holds instead of `at`."""
    no_watermark: bool = False

    @property
    def shown(self) -> datetime | None:
        return None if self.no_watermark else self.watermark or self.at


@dataclass
class MemorySource:
    """A table that pulls read."""

    structure: Structure = STRUCTURE
    operations: list[Operation] = field(default_factory=list)

    def put(self, key: int, name: str | None, at: datetime, delay: timedelta = timedelta()) -> None:
        self.operations.append(Operation(key, name, at, at + delay))

    def alter(self) -> None:
        """Add a column, which existing rows have a value of."""
        self.structure = WIDER

    def rows(self, at: datetime) -> dict[int, Operation]:
        """The rows that are committed at a time, by key."""
        committed = sorted((one for one in self.operations if one.commit <= at), key=lambda one: one.commit)
        last = {one.key: one for one in committed}
        return {key: one for key, one in last.items() if one.name is not None}


@dataclass
class Puller:
    """Pulls the table of a source."""

    source: MemorySource
    to: FileDestination
    watermark: Watermark | None = CHANGED_AT
    load: TableLoad = field(default_factory=lambda: TableLoad("incremental"))

    def plan(self, loads: Loads, window: Window, now: datetime, days: Sequence[date] | None = None) -> TablePlan:
        """The plan of a pull at a time; `days` are those that are replaced instead of the ones of the request."""
        target = pulled_table(self.source.structure)
        base = TableId(None, DATASET, target.table)
        state = loads.state_of(base, window)
        request = PullRequest(CLUSTER, DATABASE, window, at=now)
        keys = target.primary_key
        range_ = self._range(window, state, now, days, target.version)
        return TablePlan(
            request, DATASET, self.source.structure, target, self.load, keys, self.watermark, range_, micros(now),
            first=state.version != target.version, previous=state,
        )  # fmt: skip

    def pull(self, loads: Loads, window: Window, now: datetime, days: Sequence[date] | None = None) -> TablePlan:
        """Pull at a time, from the plan to the load."""
        plan = self.plan(loads, window, now, days)
        loads.begin(plan)
        loads.load(self.read(plan, now), self.present(now))
        return plan

    def read(self, plan: TablePlan, now: datetime) -> PulledFiles:
        """Read the rows of a plan, as they are at a time, and write them to files."""
        return pulled_files(plan, [write_part(plan, 0, self._blocks(plan, now), self.to)])

    def present(self, now: datetime) -> PresentRows:
        """Look rows up as they are at a time; one that nobody asked for is given as well."""
        return _MemoryRows(self, now)

    def _range(
        self, window: Window, state: LoadState, now: datetime, days: Sequence[date] | None, version: str
    ) -> PullRange:
        if self.watermark is None:
            return whole_range("full", None, now, None)
        high = micros(now) if self.watermark.is_time else max(self.source.rows(now), default=None)
        is_first = state.version != version
        found = (
            whole_range(window, self.watermark, now, high, self.load.reload_days, state)
            if is_first
            else pull_range(window, self.load, self.watermark, state, now, high)
        )
        if days is None or not found.days:
            return found
        midnight = datetime.combine(days[0], datetime.min.time(), UTC)
        return replace(found, days=tuple(days), low=None if found.low is None else micros(midnight))

    def _blocks(self, plan: TablePlan, now: datetime) -> Iterator[Block]:
        for line, (key, one) in enumerate(self.source.rows(now).items()):
            reading = self.reading(one)
            if self._is_read(plan, reading):
                shown = one.shown
                day = row_day(plan.watermark.kind, reading, f"{shown:%Y-%m-%d}" if shown else None, plan.range.key_days) if (
                    plan.watermark
                ) else date(1, 1, 1)  # fmt: skip
                text = json_line(plan, self.values(plan, key, one), reading, day, (0, line))
                missing = int(plan.watermark is not None and reading is None)
                above = int(reading is not None and plan.border is not None and reading > plan.border)
                replaced = day if day in plan.replaced_days else None
                yield Block(f"{text}\n".encode(), {day: 1}, reading, reading, above, missing, replaced=replaced)

    @staticmethod
    def values(plan: TablePlan, key: int, one: Operation) -> Row:
        shown = one.shown
        values = (key, one.name, shown.isoformat(" ", "microseconds") if shown else None, "?")
        return values[: len(plan.target.source_names)]

    def reading(self, one: Operation) -> int | None:
        if self.watermark is None:
            return None
        if not self.watermark.is_time:
            return one.key
        return None if one.shown is None else micros(one.shown)

    @staticmethod
    def _is_read(plan: TablePlan, reading: int | None) -> bool:
        if plan.watermark is None or plan.range.low is None:
            return True
        return plan.range.with_missing if reading is None else reading >= plan.range.low


@dataclass(frozen=True)
class _MemoryRows:
    puller: Puller
    now: datetime

    def read(self, plan: TablePlan, keys: Sequence[Key]) -> list[PresentRow]:
        rows = self.puller.source.rows(self.now)
        assert all(key is not None for (key,) in keys)
        asked = {int(key) for (key,) in keys if key}
        found = [*(asked & rows.keys()), *sorted(rows.keys() - asked)[:1]]
        return [PresentRow(self.puller.values(plan, key, rows[key]), self.puller.reading(rows[key])) for key in found]


def landed_rows(rows: Mapping[str, Sequence[Mapping[str, object]]]) -> dict[int, str]:
    """The full view, from the definition: of each key the name in the row with the greatest position, but for deletions."""
    last: dict[int, tuple[tuple[int, ...], str, str]] = {}
    for version in rows.values():
        for row in version:
            metadata = row["datastream_metadata"]
            metadata = json.loads(metadata) if isinstance(metadata, str) else metadata
            assert isinstance(metadata, Mapping)
            sections = tuple(int(section, 16) for section in metadata["change_sequence_number"].split("/"))
            position = (*sections, metadata["source_timestamp"], metadata["change_type"] != "DELETE")
            key = int(str(row["id"]))
            last[key] = max(last.get(key, ((), "", "")), (position, metadata["change_type"], str(row.get("name"))))
    return {key: name for key, (_, kind, name) in last.items() if kind != "DELETE"}
