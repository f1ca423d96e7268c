"""The pulls of the demo of loads, and the comparison of their full views with the source."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pymysql
from rich.console import Console
from rich.markup import escape

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.connect import connect
from onefold.batches.source_arguments import Window
from onefold.compare.findings import Comparison, Key
from onefold.compare.rows import compare_rows
from onefold.core.errors import Rejected
from onefold.core.names import TableId, quote_text, versioned_name
from onefold.core.text import counted
from onefold.ports.warehouse import StoredView
from onefold.pull.load.run_log import LOG_TABLE
from onefold.pull.read.clock import time_of
from onefold.pull.read.part import FileDestination
from onefold.pull.read.plan import PullRequest
from onefold.pull.read.planner import Planner
from onefold.pull.read.pull import Pull
from onefold.pull.read.python_reader import PythonReader
from onefold.pull.read.report import PullReport, TableReport
from onefold.settings.environment import Settings
from onefold.settings.sources import dataset_of, full_view
from onefold.spark.pull.loads import loads_of
from onefold_lab.demo.pulled_source import DATABASE, TABLES, PulledSource
from onefold_lab.pubsub import LocalTopics
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

CLUSTER = "fraud"
DATASET = dataset_of(CLUSTER, DATABASE)
_FIRST_TIME = 10**12
"""Watermarks above it are microseconds, all others keys of the demo's few rows."""


@dataclass
class DemoPulls:
    """Pulls of the demo's database into the embedded BigQuery.

    Attributes:
        console: shows them.
        source: the database.
        settings: those of an installation, with the source.
        to: the folder of the files.
        topics: push the messages about new versions to the function that keeps the views.
    """

    console: Console
    source: PulledSource
    settings: Settings
    to: FileDestination
    topics: LocalTopics
    warehouse: BigQueryWarehouse = field(default_factory=lambda: connect(DEFAULT_PROJECT))
    _skipped: set[str] = field(default_factory=set)

    def pull(self, window: Window, now: datetime, title: str) -> None:
        """Pull and load all tables, and show what became of each.

        Args:
            window: of the pull.
            now: the time of the request, and at the source.
            title: what is special about this pull.

        Raises:
            Rejected: a table failed.
        """
        self.console.rule(f"[bold]{now:%H:%M}[/] {title}", align="left")
        report, lines = self._run(window, now)
        for table in report.tables:
            self._show(table, window)
        if report.count("failed"):
            raise Rejected(f"the demo's pull has failed:\n{report.summary()}\nIts log:\n{lines}")

    def _run(self, window: Window, now: datetime) -> tuple[PullReport, str]:
        """Run a pull. Return its report, and the lines of its log, which are not shown."""
        # Each pull reads the log of loads anew, as each batch does.
        loads = loads_of(self.settings, DATASET, self.to, lambda _: self.topics)
        source, request = self.settings.sources[CLUSTER], PullRequest(CLUSTER, DATABASE, window, at=now)
        planner = Planner(source, request, self.to, lambda table: self.settings.rules_for(table).keys, loads)

        def session() -> pymysql.Connection:
            return self.source.connect(now)

        with contextlib.redirect_stdout(io.StringIO()) as printed:
            report = Pull(planner, session, PythonReader(session, self.to), loads).run()
        return report, printed.getvalue()

    def _show(self, table: TableReport, window: Window) -> None:
        if table.outcome == "loaded":
            loaded = _loaded(table, self._logged(table.table, window))
            text = f"{loaded} -> {versioned_name(table.table, str(table.version))}"
        elif table.table in self._skipped:
            return
        else:
            self._skipped.add(table.table)
            text = "; ".join((table.outcome, *table.reasons))
        self.console.print(f"  {table.table:<10}{escape(text)}", highlight=False, soft_wrap=True)

    def _logged(self, table: str, window: Window) -> Mapping[str, Any]:
        """Return what the log of loads says about the last load of a table."""
        log = TableId(DEFAULT_PROJECT, DATASET, LOG_TABLE)
        where = f"state = 'loaded' AND table_name = {quote_text(table)} AND pull_window = {quote_text(window)}"
        (found,) = self.warehouse.fetch(
            f"SELECT low, rows_deleted FROM {log.quoted} WHERE {where} ORDER BY logged_at DESC LIMIT 1"
        )
        return found

    def compare(self) -> bool:
        """Compare the full view of each table with the source, show the result, and return whether all are the same."""
        results = [self._compared(table) for table in TABLES if self._view(table)]
        return all(results)

    def check(self) -> None:
        """Compare all full views.

        Raises:
            Rejected: a view differs, or is missing.
        """
        missing = [table for table in TABLES if not self._view(table)]
        if missing or not self.compare():
            raise Rejected(f"full views differ from the source, a fault of Onefold; missing: {missing or 'none'}")

    def show_files(self) -> None:
        """Show one of the files that the pulls have written, and where the log of loads is."""
        root = Path(unquote(self.to.root.removeprefix("file://")))
        first = min(path.relative_to(root).as_posix() for path in root.rglob("partition/15m/**/*.json"))
        self.console.print(f"The rows of each pull are in files that are written once, such as\n{first}.", highlight=False)
        self.console.print(f"What was loaded is in the log of loads, {DATASET}.{LOG_TABLE}.", highlight=False)

    def _view(self, table: str) -> StoredView | None:
        return self.warehouse.get_view(full_view(TableId(DEFAULT_PROJECT, DATASET, table)))

    def _compared(self, table: str) -> bool:
        columns, key = TABLES[table]
        view = full_view(TableId(DEFAULT_PROJECT, DATASET, table))
        shown = self.warehouse.fetch(f"SELECT {columns} FROM {view.quoted}")
        found = compare_rows(shown, self.source.rows(table), [key])
        text = f"{counted(found.left_rows, 'row')}, {found.right_rows} in the source: {_result(found)}"
        self.console.print(f"  full view of {table:<10}{text}", highlight=False, soft_wrap=True)
        return found.same


def _loaded(table: TableReport, logged: Mapping[str, Any]) -> str:
    low = logged["low"]
    if table.watermark is None or low is None:
        begin = "of the whole table"
    elif int(low) > _FIRST_TIME:
        begin = f"from {time_of(int(low)):%H:%M} on"
    else:
        begin = f"from key {max(int(low), 1)} on"
    deleted = f", {counted(logged['rows_deleted'], 'deletion')} found" if logged["rows_deleted"] else ""
    return f"{counted(table.rows, 'row')} {begin}{deleted}"


def _result(found: Comparison) -> str:
    if found.same:
        return "the same"
    parts = {
        "in the view alone": found.only_left,
        "in the source alone": found.only_right,
        "with other values": sorted({one.key for one in found.differences}),
    }
    return ", ".join(f"key {' and '.join(map(_key, keys))} {what}" for what, keys in parts.items() if keys)


def _key(key: Key) -> str:
    return "/".join(map(str, key))
