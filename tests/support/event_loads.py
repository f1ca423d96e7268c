"""A dataset of events in the embedded BigQuery, a folder of runs, and loaders over both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from google.cloud.bigquery import SchemaField, Table
from support.bigquery_emulator import EmulatedDataset
from support.shredded_runs import Columns, Row, click_table, envelope, write_run

from onefold.adapters.bigquery.event_tables import BigQueryEventTables
from onefold.adapters.connect import connect
from onefold.adapters.folder_objects import FolderObjects
from onefold.events.load.load import Loader
from onefold.events.load.plan import EventTablePlan
from onefold.events.load.report import RunReport
from onefold.events.load.runs import FolderRuns, runs_address
from onefold.ports.event_tables import EventWarehouse

TABLE = "com_acme_click_1"


@dataclass
class EventScene:
    """A dataset and a folder of runs."""

    dataset: EmulatedDataset
    folder: Path
    announced: list[EventTablePlan] = field(default_factory=list)

    @property
    def warehouse(self) -> BigQueryEventTables:
        return BigQueryEventTables(connect(None), self.dataset.name)

    def loader(self, warehouse: EventWarehouse | None = None) -> Loader:
        runs = FolderRuns(runs_address(str(self.folder)), FolderObjects(self.folder))
        return Loader(runs, warehouse or self.warehouse, self.announced.append)

    def load(self) -> list[RunReport]:
        return list(self.loader().load())

    def shred(self, run: str, version: str, columns: Columns, *rows: Row, table: str = TABLE, **fields: Any) -> None:
        """Write a run with rows of one table, whose columns are as they were at the start of the run."""
        full = [{**envelope(f"{run}/{number}"), **row} for number, row in enumerate(rows)]
        write_run(self.folder, run, [(click_table(version, columns, table), full)], **fields)

    def shred_two(self, run: str, columns: Columns, *rows: Row) -> None:
        """Write a run with the same rows for two tables."""
        full = [{**envelope(f"{run}/{number}"), **row} for number, row in enumerate(rows)]
        click = click_table("1-0-0", columns)
        view = replace(click, name="com_acme_view_1", base="com_acme_view", folder=click.folder.replace("click", "view"))
        write_run(self.folder, run, [(click, full), (view, full)])

    def shred_recovered(self, run: str, columns: Columns, *rows: Row) -> None:
        """Write a run with rows of a version that does not fit into the table of its model."""
        full = [{**envelope(f"{run}/{number}"), **row} for number, row in enumerate(rows)]
        table = click_table("1-0-1", columns, "com_acme_click_1_0_1_recovered_0f0b3ce0")
        write_run(self.folder, run, [(replace(table, version="1r0f0b3ce0"), full)])

    def alter(self, change: Callable[[list[SchemaField]], list[SchemaField]], table: str = TABLE) -> None:
        """Replace a table by one with other columns, as a person may who alters it."""
        found = self.dataset.client.get_table(f"{self.dataset.name}.{table}")
        self.dataset.client.delete_table(found)
        self.dataset.client.create_table(Table(found.reference, change(list(found.schema))))

    def add_column(self, name: str, type_: str) -> None:
        table = self.dataset.client.get_table(f"{self.dataset.name}.{TABLE}")
        table.schema = [*table.schema, SchemaField(name, type_)]
        self.dataset.client.update_table(table, ["schema"])

    def drop_column(self, name: str) -> None:
        self.dataset.run(f"ALTER TABLE {self.dataset.quoted(TABLE)} DROP COLUMN {name}")
        # The emulator's `tables.get` does not know what statements change.
        table = self.dataset.client.get_table(f"{self.dataset.name}.{TABLE}")
        table.schema = [field for field in table.schema if field.name != name]
        self.dataset.client.update_table(table, ["schema"])

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
