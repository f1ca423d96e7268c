"""A dataset of events in the embedded BigQuery, a folder of runs, and loaders over both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.shredded_runs import Columns, Row, click_table, envelope, write_run

from onefold.adapters.bigquery.event_tables import BigQueryEventTables
from onefold.adapters.connect import connect
from onefold.adapters.folder_objects import FolderObjects
from onefold.load.shredded.load import Loader
from onefold.load.shredded.report import RunReport
from onefold.load.shredded.runs import Runs, runs_address
from onefold.ports.event_tables import EventTable, EventWarehouse

TABLE = "com_acme_click_1"


@dataclass
class EventScene:
    """A dataset and a folder of runs."""

    dataset: EmulatedDataset
    folder: Path
    announced: list[EventTable] = field(default_factory=list)

    @property
    def warehouse(self) -> BigQueryEventTables:
        return BigQueryEventTables(connect(None), self.dataset.name)

    def loader(self, warehouse: EventWarehouse | None = None) -> Loader:
        runs = Runs(runs_address(str(self.folder)), FolderObjects(self.folder))
        return Loader(runs, warehouse or self.warehouse, self.announced.append)

    def load(self) -> list[RunReport]:
        return list(self.loader().load())

    def shred(self, run: str, version: str, columns: Columns, *rows: Row, **fields: Any) -> None:
        """Write a run with rows of one table, whose columns are as they were at the start of the run."""
        full = [{**envelope(f"{run}/{number}"), **row} for number, row in enumerate(rows)]
        write_run(self.folder, run, [(click_table(version, columns), full)], **fields)

    def columns(self, table: str = TABLE) -> list[tuple[str, str]]:
        found = self.warehouse.find(table)
        return [] if found is None else list(found.columns[9:])

    def rows(self, *names: str, table: str = TABLE) -> list[tuple[object, ...]]:
        listed = ", ".join(names)
        return self.dataset.run(f"SELECT {listed} FROM {self.dataset.quoted(table)} ORDER BY root_id")


def states(reports: Sequence[RunReport]) -> list[str]:
    """The state of each run; the errors where there are any, which a failed comparison then shows."""
    return ["; ".join(map(str, report.errors)) or report.state for report in reports]


@pytest.fixture
def events(dataset: EmulatedDataset, tmp_path: Path) -> EventScene:
    return EventScene(dataset, tmp_path / "runs")
