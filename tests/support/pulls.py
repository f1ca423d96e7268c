"""What the tests of pulls stand on: a source in onefold.yaml's terms, a folder for files, and a load that only remembers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from support.source_database import SourceDatabase

from onefold.adapters.pulled_files import FolderFiles
from onefold.batches.source_arguments import Window
from onefold.core.names import TableId
from onefold.mysql.connection import connect
from onefold.pull.read.key_ranges import PART_ROWS
from onefold.pull.read.line_reader import LineReader
from onefold.pull.read.part import FileDestination
from onefold.pull.read.plan import LoadState, PullRequest, TablePlan
from onefold.pull.read.planner import Planner
from onefold.pull.read.present_rows import PresentRows
from onefold.pull.read.pull import Pull, Reader
from onefold.pull.read.pulled import PulledFiles
from onefold.settings.sources import Source, TableLoad, WatermarkColumn

START = datetime(2026, 5, 4, 4, tzinfo=UTC)


@dataclass
class RememberedLoads:
    """Loads that write nothing: they remember what was pulled, and give the state that follows from it."""

    pulled: list[PulledFiles] = field(default_factory=list)

    def state_of(self, table: TableId, window: Window) -> LoadState:
        mine = [one for one in self.pulled if one.table == table]
        if not mine:
            return LoadState()
        same = [one.plan.request.at for one in mine if one.plan.request.window == window]
        last = {one.version: (number, one.plan.load_id) for number, one in enumerate(mine)}
        begun = ((version, id_) for version, (_, id_) in sorted(last.items(), key=lambda one: one[1]))
        return LoadState(
            mine[-1].version, mine[-1].watermark, max(same, default=None), self._keys_of_days(table),
            begun=tuple(begun),
            read_at=mine[-1].read_at, whole_at=mine[0].plan.request.at,
            covered=frozenset(day for one in mine for day in one.plan.range.days),
            source_table=mine[-1].plan.structure.table,
            columns=tuple(column.name for column in mine[-1].plan.structure.columns), dropped=mine[-1].plan.dropped,
            described=mine[-1].plan.described, keys=mine[-1].plan.keys,
        )  # fmt: skip

    def confirmed(self, table: TableId, state: LoadState) -> LoadState:
        return state

    def pulled_tables(self, dataset: str) -> set[str]:
        return {one.table.table for one in self.pulled if one.table.dataset == dataset}

    def _keys_of_days(self, table: TableId) -> tuple[tuple[date, int, int], ...]:
        return tuple(
            (day, one.least, one.greatest)
            for one in self.pulled
            if one.table == table and one.least is not None and one.greatest is not None
            for day in {day for file in one.files for day, _ in file.days}
        )

    def begin(self, plan: TablePlan) -> None:
        assert all(one.plan != plan for one in self.pulled), "a pull begins before it is loaded"

    def load(self, pulled: PulledFiles, present: PresentRows) -> None:
        self.pulled.append(pulled)


def lines(pulled: PulledFiles) -> list[dict[str, Any]]:
    """The rows of all files of a pull."""
    found = []
    for file in pulled.files:
        stored = FolderFiles().find(file.name)
        assert stored
        data = gzip.decompress(stored.data) if file.name.endswith(".gz") else stored.data
        found += [json.loads(line) for line in data.splitlines()]
    return found


@dataclass
class PullScene:
    """A database whose tables are pulled again and again, each time 15 minutes later."""

    database: SourceDatabase
    folder: Path
    tables: dict[str, TableLoad]
    time_zone: str = "UTC"
    loads: RememberedLoads = field(default_factory=RememberedLoads)
    keys: Sequence[str] = ()
    at: datetime = START
    part_rows: int = PART_ROWS
    reader: Callable[[Callable[[], Any], FileDestination], Reader] = LineReader

    def pull(self, window: Window = "15m", **changes: Any) -> Pull:
        self.at += timedelta(minutes=15)
        request = replace(PullRequest("fraud", self.database.name, window, at=self.at), **changes)
        source = Source("fraud", "localhost", databases=(self.database.name,), time_zone=self.time_zone, tables=self.tables)
        to = FileDestination(FolderFiles(), self.folder.as_uri())
        planner = Planner(source, request, to, lambda _: self.keys, self.loads, self.part_rows)
        return Pull(planner, self.connect, self.reader(self.connect, to), self.loads)

    def connect(self) -> Any:
        return connect(self.database.server.address)

    def rows(self, window: Window = "15m", **changes: Any) -> list[dict[str, Any]]:
        """Pull one table, and return its rows."""
        report = self.pull(window, **changes).run()
        (table,) = report.tables
        assert table.outcome == "loaded", table.text
        return lines(self.loads.pulled[-1])


def by(column: str, **more: Any) -> TableLoad:
    """An incremental table."""
    return TableLoad("incremental", WatermarkColumn(column), **more)
