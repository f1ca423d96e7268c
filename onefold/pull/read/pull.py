"""Pulls the tables of a database: plans each, reads its key ranges, and hands the files to the load.

One table that fails does not stop the others. A table that is altered while it is read is read again: its rows would be of
two structures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Protocol

import pymysql

from onefold.core.errors import NotFound, OnefoldError, TryAgain
from onefold.core.log import LogSeverity, log
from onefold.core.names import TableId, table_name
from onefold.core.text import shown_list
from onefold.mysql.catalog import TableName, describe_one, tables
from onefold.mysql.connection import query
from onefold.mysql.table_filter import of_database
from onefold.pull.read.part import PartResult, finished_part, note_part, pulled_files
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.planner import Planner, Skipped
from onefold.pull.read.present_rows import SourceRows
from onefold.pull.read.pulled import Loads, PulledFiles
from onefold.pull.read.queries import count_query
from onefold.pull.read.report import PullReport, TableReport
from onefold.pull.read.shared_names import check_case, check_name
from onefold.pull.read.table_settings import describes_same

TRIES = 3
"""How often a table is read that is altered while it is read."""
GONE = (
    "it was pulled before, and is not at the source any more, or the user may not see it: grant SELECT, or name it under "
    "`exclude`; its view keeps the rows that were pulled"
)
TRUNCATED = (
    "it was truncated or made anew at the source: all of its rows are read again, and replace those that were there; drop "
    "its base table, if it has one"
)
REKEYED = (
    "its key is another one than at the last load: all of its rows are read again, and replace those that were there; drop "
    "its base table, if it has one"
)
REORDERED = (
    "its rows may be below those of the last load, because its watermark is another one, or the clock of the source was set "
    "back: all of its rows are read again, and replace those that were there; drop its base table, if it has one"
)


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
class Threads:
    """The threads of pulls. Ranges have their own: a table that waits for its ranges must not take the place of one."""

    of_tables: ThreadPoolExecutor
    of_parts: ThreadPoolExecutor


@contextmanager
def started_threads(parallel: int) -> Iterator[Threads]:
    """Start the threads that pull so many tables at the same time, and wait for their end."""
    with ThreadPoolExecutor(parallel, "table") as of_tables, ThreadPoolExecutor(parallel, "part") as of_parts:
        yield Threads(of_tables, of_parts)


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

    def run(self, threads: Threads | None = None) -> PullReport:
        """Pull every table that the request names, several at a time.

        Args:
            threads: those that pulls of several databases share; None for threads of its own.

        Raises:
            NotFound: the database has no table that the request names.
            MySQLError: the source does not answer.
        """
        request = self.planner.request
        with closing(self.connect()) as connection:
            asked = asked_tables(connection, request.database, request.tables, self.loads, request.dataset)
        with nullcontext(threads) if threads else started_threads(request.parallel) as found:
            pulled = tuple(found.of_tables.map(lambda table: self._report(table, asked.seen, found.of_parts), asked.present))
        reports = (*pulled, *self._missing(asked.gone))
        return PullReport(request.dataset, request.window, reports)

    def _missing(self, tables_: Iterable[str]) -> Iterator[TableReport]:
        """Yield a report of each table that was pulled before, is asked for and is not at the source any more."""
        for table in tables_:
            try:
                self.planner.load_of(table)
            except Skipped:
                continue  # onefold.yaml does not ask for it, or this window does not pull it
            report = TableReport(table, "missing", reasons=(GONE,))
            log_table(self.planner.request.dataset, report)
            yield report

    def _report(self, table: str, seen: Collection[str], threads: ThreadPoolExecutor) -> TableReport:
        """Pull a table, and log what became of it. No error leaves this function, or it would stop the other tables."""
        try:
            self._check_name(table, seen)
            report = TableReport.of(table, self.pull(table, threads))
        except Skipped as skipped:
            report = TableReport(table, "skipped", reasons=(str(skipped),))
        except OnefoldError as error:
            report = TableReport(table, "failed", reasons=tuple(str(error).splitlines()))
        except Exception as error:  # noqa: BLE001 Spark, the driver and BigQuery raise errors of many classes
            report = TableReport(table, "failed", reasons=(self.failure(error),))
        log_table(self.planner.request.dataset, report)
        return report

    def _check_name(self, table: str, seen: Collection[str]) -> None:
        """Check that no pattern misses this table by case, and that no other one that is pulled has its name in BigQuery.

        Raises:
            Skipped: the request does not pull the table.
            TableRefused: names the pattern, or both tables.
        """
        name = TableName(self.planner.request.database, table)
        check_case(self.planner.source, name, seen)
        self.planner.load_of(table)
        owner = self.loads.state_of(
            TableId(None, self.planner.request.dataset, table_name(table)), self.planner.request.window
        ).source_table
        check_name(self.planner.source, name, seen, owner)

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
            if plan.truncated:
                log("WARNING", f"{plan.table}: {TRUNCATED}", event="table_truncated", dataset=plan.dataset, table=table)
            if plan.rekeyed:
                log("WARNING", f"{plan.table}: {REKEYED}", event="table_rekeyed", dataset=plan.dataset, table=table)
            if plan.reordered:
                log("WARNING", f"{plan.table}: {REORDERED}", event="table_reordered", dataset=plan.dataset, table=table)
            try:
                pulled = pulled_files(plan, self._read(plan, threads))
            except StructureChanged:
                continue
            self.loads.load(pulled, SourceRows(self.connect))
            return pulled
        raise TryAgain(f"{table} was changed each of {TRIES} times while it was read: pull it again when that is over")

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
            if plan.is_counted and result.counted is None:
                result = replace(result, counted=count_of_empty(connection, plan, part))
        return note_part(plan, part, result, to)


def count_of_empty(connection: pymysql.Connection, plan: TablePlan, part: int) -> int:
    """Return 0 where a key range is empty, as it was read: without a row there is none that has the number of rows.

    Raises:
        StructureChanged: the range has rows by now; it has to be read again.
    """
    ((rows,),) = query(connection, count_query(plan, plan.parts[part]))
    if rows:
        raise StructureChanged(f"{plan.table} has rows where none were read")
    return 0


@dataclass(frozen=True)
class AskedTables:
    """The tables of a database that a request names.

    Attributes:
        present: those that the user sees, in order.
        gone: those that were loaded before, and that the user does not see any more.
        seen: all tables that the user sees, whether the request names them or not.
    """

    present: tuple[str, ...]
    gone: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()


def asked_tables(
    connection: pymysql.Connection, database: str, patterns: tuple[str, ...], loads: Loads | None, dataset: str
) -> AskedTables:
    """Return the tables of a database that patterns name; all without a pattern.

    Args:
        connection: to the source.
        database: the database.
        patterns: names, or patterns of names.
        loads: tells which tables were loaded before; None for tables that are not pulled.
        dataset: the dataset of the tables.

    Raises:
        NotFound: there is none.
    """
    names = sorted(name.table for name in tables(connection, of_database(database), database))
    bases = set(loads.pulled_tables(dataset)) - {table_name(name) for name in names} if loads else set()
    states = [(base, loads.state_of(TableId(None, dataset, base), "15m")) for base in sorted(bases)] if loads else []
    # A first pull that was killed may have landed rows.
    gone = [state.source_table or base for base, state in states if state.version or state.begun]
    found = AskedTables(_named(names, patterns), _named(gone, patterns), tuple(names))
    if not found.present and not found.gone:
        named = f" matches {' or '.join(patterns)}" if patterns else " is visible to the user"
        raise NotFound(f"no table of the database {database}{named}; it has {shown_list(names) or 'none'}")
    return found


def _named(names: Iterable[str], patterns: tuple[str, ...]) -> tuple[str, ...]:
    # A name may have a wildcard in it.
    return tuple(
        name for name in names if not patterns or name in patterns or any(fnmatchcase(name, one) for one in patterns)
    )


def log_table(dataset: str, report: TableReport) -> None:
    """Log what became of a table; alerts match this line.

    Args:
        dataset: the dataset of the table.
        report: of the table.
    """
    severities: dict[str, LogSeverity] = {"failed": "ERROR", "missing": "WARNING"}
    log(severities.get(report.outcome, "INFO"), report.text, event="table_pulled", dataset=dataset, **report.as_dict())
