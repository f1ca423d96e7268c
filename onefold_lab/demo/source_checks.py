"""Checks in the demo of loads: a change that no watermark tells is found, reported and repaired."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import pymysql
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.check.log import CHECK_TABLE
from onefold.check.report import CheckReport
from onefold.check.request import CheckRequest
from onefold.core.errors import Rejected
from onefold.core.names import TableId
from onefold.pull.read.part import FileDestination
from onefold.pull.read.python_reader import PythonReader
from onefold.settings.environment import Settings
from onefold.spark.check.checks import checks_of
from onefold.spark.pull.loads import loads_of
from onefold_lab.demo.pulled_source import DATABASE, PulledSource
from onefold_lab.demo.pulls import CLUSTER, DATASET
from onefold_lab.pubsub import LocalTopics
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

_COMMAND = f"onefold check {CLUSTER} {DATABASE} --padding-minutes 0"
"""The padding of an hour leaves out what was loaded within it, by the clock of this machine: everything in the demo."""


@dataclass(frozen=True)
class DemoChecks:
    """Checks of the demo's database.

    Attributes:
        console: shows them.
        source: the database.
        settings: those of an installation, with the source and with policies.
        to: the folder of the files.
        topics: take the messages about new versions.
        warehouse: the embedded BigQuery.
    """

    console: Console
    source: PulledSource
    settings: Settings
    to: FileDestination
    topics: LocalTopics
    warehouse: BigQueryWarehouse

    def find(self, now: datetime, expected: int) -> None:
        """Check all tables, and show what is found.

        Args:
            now: the time of the request, and at the source.
            expected: the number of tables that differ.

        Raises:
            Rejected: more or fewer tables differ.
        """
        report = self._run(now, fix=False)
        self._show(report, "", report.summary().splitlines())
        if report.count("different") != expected:
            raise Rejected(f"expected {expected} tables that differ, got the report above: a fault of Onefold")
        self._print(f"The findings are in [bold]{DATASET}.{CHECK_TABLE}[/]:")
        self._quote(self._findings())

    def fix(self, now: datetime, later: datetime) -> None:
        """Repair what differs, and check once more.

        Args:
            now: the time of the repair.
            later: the time of the check after it.

        Raises:
            Rejected: something still differs.
        """
        fixed, after = self._run(now, fix=True), self._run(later, fix=False)
        self._show(fixed, " --fix", fixed.summary().splitlines()[-1:])
        self._show(after, "", after.summary().splitlines()[-1:])
        if after.differs:
            raise Rejected(f"the repair has left differences, a fault of Onefold:\n{after.summary()}")

    def _run(self, now: datetime, *, fix: bool) -> CheckReport:
        """Run a check with the parts that the command uses, at a time of the story."""

        def session() -> pymysql.Connection:
            return self.source.connect(now)

        request, reader = CheckRequest(CLUSTER, DATABASE, fix=fix, padding_minutes=0, at=now), PythonReader(session, self.to)
        loads = loads_of(self.settings, DATASET, self.to, lambda _: self.topics)
        with contextlib.redirect_stdout(io.StringIO()):  # the log, which has the same lines
            return checks_of(request, self.settings, session, reader, self.to, self.warehouse, loads).run()

    def _findings(self) -> list[str]:
        log = TableId(DEFAULT_PROJECT, DATASET, CHECK_TABLE)
        rows = self.warehouse.fetch(f"SELECT findings FROM {log.quoted} ORDER BY table_name")
        return [finding for row in rows for finding in row["findings"]]

    def _show(self, report: CheckReport, option: str, lines: Sequence[str]) -> None:
        """Show lines of a report, and what the command exits with."""
        self._print(f"[bold]{_COMMAND}{option}[/] exits with {2 * report.differs}:")
        self._quote(lines)

    def _print(self, text: str) -> None:
        self.console.print(text, highlight=False)

    def _quote(self, lines: Sequence[str]) -> None:
        """Print what a command prints, indented."""
        for line in lines:
            self.console.print(Padding.indent(Text(line), 2))
