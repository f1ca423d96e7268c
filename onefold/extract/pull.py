"""Pulls the tables of a database: plans each, reads its key ranges, and hands the files to the load.

One table that fails does not stop the others. A table that is altered while it is read is read again: its rows would be of
two structures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

import pymysql

from onefold.core.errors import NotFound, OnefoldError, TryAgain
from onefold.core.log import LogSeverity, log
from onefold.extract.part import PartResult, finished_part, note_part, pulled_files
from onefold.extract.plan import TablePlan
from onefold.extract.planner import Planner, Skipped
from onefold.extract.present_rows import SourceRows
from onefold.extract.pulled import Loads, PulledFiles
from onefold.extract.report import PullReport, TableReport
from onefold.extract.table_settings import describes_same
from onefold.mysql.catalog import BASE, TableName, describe_one, tables
from onefold.mysql.table_filter import TableFilter
from onefold.settings.sources import dataset_of

TRIES = 3
"""How often a table is read that is altered while it is read."""


class StructureChanged(TryAgain):
    """A table was altered while it was read."""


class Reader(Protocol):
    """Reads a key range of a table into files."""

    def read(self, plan: TablePlan, part: int) -> PartResult:
        """Return the files of a range.

        Args:
            plan: of the pull.
            part: the number of the range.
        """


@dataclass(frozen=True)
class Pull:
    """The pull of a database's tables.

    Attributes:
        planner: plans each table.
        connect: opens a connection to the source.
        reader: reads key ranges.
        loads: takes the files.
        failure: returns the text of an error that is none of Onefold's.
    """

    planner: Planner
    connect: Callable[[], pymysql.Connection]
    reader: Reader
    loads: Loads
    failure: Callable[[Exception], str] = repr

    def run(self) -> PullReport:
        """Pull every table that the request names, several at a time.

        Raises:
            NotFound: the database has no table that the request names.
            MySQLError: the source does not answer.
        """
        request = self.planner.request
        with closing(self.connect()) as connection:
            names = chosen_tables(connection, request.database, request.tables)
        # Ranges have threads of their own: a table that waits for its ranges must not take the place of one.
        with (
            ThreadPoolExecutor(request.parallel, "table") as of_tables,
            ThreadPoolExecutor(request.parallel, "part") as of_parts,
        ):
            reports = tuple(of_tables.map(lambda table: self._report(table, of_parts), names))
        return PullReport(self._dataset, request.window, reports)

    @property
    def _dataset(self) -> str:
        return dataset_of(self.planner.request.cluster, self.planner.request.database)

    def _report(self, table: str, threads: ThreadPoolExecutor) -> TableReport:
        """Pull a table, and log what became of it. No error leaves this function, or it would stop the other tables."""
        try:
            report = TableReport.of(table, self.pull(table, threads))
        except Skipped as skipped:
            report = TableReport(table, "skipped", reasons=(str(skipped),))
        except OnefoldError as error:
            report = TableReport(table, "failed", reasons=tuple(str(error).splitlines()))
        except Exception as error:  # noqa: BLE001 Spark, the driver and BigQuery raise errors of many classes
            report = TableReport(table, "failed", reasons=(self.failure(error),))
        log_table(self._dataset, report)
        return report

    def pull(self, table: str, threads: ThreadPoolExecutor) -> PulledFiles:
        """Pull one table and load it.

        Args:
            table: its name at the source.
            threads: read its key ranges.

        Raises:
            Skipped: there is nothing to do.
            TryAgain: the table was altered during each try.
        """
        for _ in range(TRIES):
            with closing(self.connect()) as connection:
                plan = self.planner.plan(connection, table)
            self.loads.begin(plan)
            try:
                pulled = pulled_files(plan, self._read(plan, threads))
            except StructureChanged:
                continue
            self.loads.load(pulled, SourceRows(self.connect))
            return pulled
        raise TryAgain(f"{table} was altered each of {TRIES} times while it was read: pull it again when that is over")

    def _read(self, plan: TablePlan, threads: ThreadPoolExecutor) -> Iterable[PartResult]:
        return list(threads.map(lambda part: self._read_part(plan, part), range(len(plan.parts))))

    def _read_part(self, plan: TablePlan, part: int) -> PartResult:
        to = self.planner.to
        if found := finished_part(plan, part, to):
            return found
        result = self.reader.read(plan, part)
        with closing(self.connect()) as connection:
            present = describe_one(connection, TableName(plan.request.database, plan.structure.table))
        if not describes_same(present, plan.structure, plan.load):
            raise StructureChanged(f"{plan.table} was altered while it was read")
        return note_part(plan, part, result, to)


def chosen_tables(connection: pymysql.Connection, database: str, patterns: tuple[str, ...]) -> list[str]:
    """Return the tables of a database that patterns name, in order; all without a pattern.

    Raises:
        NotFound: there is none.
    """
    kinds = tables(connection, TableFilter((f"{database}.*",), with_ghosts=True), database)
    names = sorted(name.table for name, kind in kinds.items() if kind == BASE)
    found = [name for name in names if not patterns or any(fnmatchcase(name, one) for one in patterns)]
    if not found:
        named = f" matches {' or '.join(patterns)}" if patterns else " is visible to the user"
        raise NotFound(f"no table of the database {database}{named}; it has {', '.join(names[:20]) or 'none'}")
    return found


def log_table(dataset: str, report: TableReport) -> None:
    """Log what became of a table; alerts match this line.

    Args:
        dataset: the dataset of the table.
        report: of the table.
    """
    severity: LogSeverity = "ERROR" if report.outcome == "failed" else "INFO"
    log(severity, report.text, event="table_pulled", dataset=dataset, **report.as_dict())
