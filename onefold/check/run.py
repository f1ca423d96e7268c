"""Use case: check the tables of a database against their source.

One table that cannot be checked does not stop the others. A difference is reported only if a second read of both sides has
it, too, with the same values, and of a captured table if no change of the row has landed meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pymysql

from onefold.check.arrivals import Arrivals, moved
from onefold.check.by_copy import CopyRepairer
from onefold.check.chunk import can_begin, first_chunk, next_chunk
from onefold.check.chunks import ChunkResult, Disclosure, confirmed
from onefold.check.counting import RowCounter
from onefold.check.counts import RowCounts, is_confirmed
from onefold.check.exact import MOST_FOUND, ChunkComparer, ComparedChunk
from onefold.check.in_memory import ChunkInMemory, MemoryComparer
from onefold.check.inspect import Inspector
from onefold.check.log import CheckLog
from onefold.check.repair import Repairer
from onefold.check.report import CheckReport, ChunkCheck, TableCheck
from onefold.check.request import CheckedTable
from onefold.check.same_chunk import ChunkDigests
from onefold.compare.findings import KINDS
from onefold.core.errors import NotFound, OnefoldError
from onefold.core.hash_key import HashKey
from onefold.core.log import log
from onefold.core.text import counted, cut, shown_list
from onefold.pull.read.plan import KeyRange, TablePlan
from onefold.pull.read.planner import Skipped
from onefold.pull.read.pull import GONE, AskedTables, asked_tables

SENTENCES = 100
"""Findings of a chunk that are kept in words."""


def first_line(error: BaseException) -> str:
    """Return the name of an error that is none of Onefold's, and its first line: its last argument has the words.

    Examples:
        >>> first_line(ConnectionError(2013, "Lost connection"))
        'ConnectionError: Lost connection'
    """
    words = str(error.args[-1] if error.args else "").splitlines()
    return cut(f"{type(error).__name__}: {next(iter(words), 'no text')}")


def _nothing(_: TablePlan) -> None:
    """Do nothing: a chunk that is not repaired is not announced in the log of loads."""


@dataclass(frozen=True)
class Checks:
    """The check of a database's tables.

    Attributes:
        inspector: finds out how a table is checked.
        connect: opens a connection to the source.
        digests: tells which chunks are the same without a look at their rows.
        comparer: compares chunks of tables that Onefold writes.
        plain: compares those of plain change tables.
        counter: counts rows.
        arrivals: tells of which rows changes land meanwhile.
        repairer: repairs chunks.
        log: the log of checks.
        key: the key of the hashes in findings.
        copies: asks the capture of the source for copies of tables.
        sleep: waits for a number of seconds.
        failure: returns an unexpected error of a table as one line.
    """

    inspector: Inspector
    connect: Callable[[], pymysql.Connection]
    digests: ChunkDigests
    comparer: ChunkComparer
    plain: MemoryComparer
    counter: RowCounter
    arrivals: Arrivals
    repairer: Repairer
    log: CheckLog
    key: HashKey
    copies: CopyRepairer = field(default_factory=CopyRepairer)
    sleep: Callable[[float], None] = time.sleep
    failure: Callable[[BaseException], str] = first_line

    def run(self) -> CheckReport:
        """Check every table that the request names, several at a time.

        Raises:
            NotFound: the database has no table that the request names.
            MySQLError: the source does not answer.
        """
        request, asked = self.inspector.request, self._asked()
        gone = [table for table in asked.gone if self.inspector.source.load_of(request.database, table)]
        with ThreadPoolExecutor(request.parallel, "check") as threads:
            found = threads.map(lambda table: self._report(table, self.check), asked.present)
            return CheckReport(request.dataset, (*found, *(self._report(table, _refuse_gone) for table in gone)))

    def look(self) -> CheckReport:
        """Return a report of the tables that would be compared; none is.

        Raises:
            NotFound: the database has no table that the request names.
            MySQLError: the source does not answer.
        """
        would = ("it would be compared, but for --dry-run",)
        present = self._asked().present
        return CheckReport(self.inspector.request.dataset, tuple(TableCheck(table, skipped=would) for table in present))

    def _asked(self) -> AskedTables:
        request = self.inspector.request
        loads = None if request.captured else self.inspector.loads
        with closing(self.connect()) as connection:
            return asked_tables(connection, request.database, request.tables, loads, request.dataset)

    def _report(self, table: str, check_of: Callable[[str], TableCheck]) -> TableCheck:
        """Check a table, and write down what became of it. No error leaves this function, or it would stop other tables."""
        try:
            check = check_of(table)
        except Skipped as skipped:
            check = TableCheck(table, skipped=(str(skipped),))
        except OnefoldError as error:
            check = TableCheck(table, failed=tuple(str(error).splitlines()))
        except Exception as error:  # noqa: BLE001 Spark, the driver and BigQuery raise errors of many classes
            check = TableCheck(table, failed=(self.failure(error),))
        check = self._written(check)
        _log(self.inspector.request.dataset, check)
        return check

    def _written(self, check: TableCheck) -> TableCheck:
        """Append a check to the log of checks, and return it; with the error where the log cannot be written."""
        try:
            if check.outcome != "skipped":
                check = replace(check, log=str(replace(self.log.of(check.table), project=None)))
                self.log.append(check, datetime.now(UTC))
        except OnefoldError as error:
            return replace(check, failed=(*check.failed, *str(error).splitlines()))
        return check

    def check(self, table: str) -> TableCheck:
        """Check one table: the next chunk, or all of them, and then the numbers of rows. A captured one may be copied again.

        Args:
            table: its name at the source.

        Raises:
            Skipped: there is nothing to compare.
            OnefoldError: the table cannot be checked.
        """
        with closing(self.connect()) as connection:
            found = self.inspector.inspect(connection, table)
        # A table that is loaded full has changed at the source since its load.
        is_exact = found.request.captured is not None or found.watermark is not None
        chunks = tuple(self._chunks(found)) if is_exact else ()
        counts, differ = self._counts(found)
        asked = self.copies.repair(found, self.log, differs=differ or any(chunk.total for chunk in chunks))
        return TableCheck(table, chunks, counts, differ, notes=(*_notes(found, chunks, counts, differ=differ), *asked))

    def _counts(self, table: CheckedTable) -> tuple[RowCounts | None, bool]:
        """Return the numbers of rows, and whether they differ for good: no change of the table has landed meanwhile."""
        watches = self.arrivals.watches(table)
        before = self.arrivals.of_table(table) if watches else {}
        first = self.counter.count(table)
        if first is None or first.same:
            return first, False
        self._settle(table)
        second = self.counter.count(table)
        differ = second is not None and is_confirmed(first, second)
        return second, differ and (not watches or self.arrivals.of_table(table) == before)

    def _chunks(self, table: CheckedTable) -> Iterator[ChunkCheck]:
        whole = first_chunk(table)
        after = None if table.request.whole else self.log.next_low(table.name.table, whole)
        if after is not None and not can_begin(table, whole, after):
            after = None
        while True:
            with closing(self.connect()) as connection:
                chunk = next_chunk(connection, table, after)
            yield self._chunk(table, chunk)
            after = chunk.high
            if after is None or not table.request.whole:
                return

    def _chunk(self, table: CheckedTable, chunk: KeyRange) -> ChunkCheck:
        same = self.digests.rows_if_same(table, chunk)
        if same is not None:
            return ChunkCheck(chunk, same)
        with self._compare(table, chunk) as first:
            if not first.result.findings:
                return ChunkCheck(chunk, first.source_rows)
        if isinstance(first, ComparedChunk) and self.arrivals.watches(table):
            return self._watched(table, chunk, first)
        self._settle(table)
        fixes = table.request.fix and not table.request.captured
        begin = self.repairer.loads.begin if fixes else _nothing
        with self._compare(table, chunk, begin) as second:
            result = confirmed(first.result, second.result)
            fixed = self.repairer.repair(table, second, result) if fixes and isinstance(second, ComparedChunk) else 0
            return self._described(table, chunk, second, result, fixed)

    def _watched(self, table: CheckedTable, chunk: KeyRange, first: ComparedChunk) -> ChunkCheck:
        """Compare a chunk again, and keep the findings of rows of which no change lands until they have settled."""
        marks = {row.key: row.mark for row in first.rows}
        before = self.arrivals.of_rows(table, marks.values())
        with self._compare(table, chunk) as second:
            result = confirmed(first.result, second.result)
        if not result.findings:
            return ChunkCheck(chunk, second.source_rows)
        self._settle(table)
        moving = moved(before, self.arrivals.of_rows(table, marks.values()), marks.values())
        settled, left_out = result.without({key for key, mark in marks.items() if mark in moving})
        return replace(self._described(table, chunk, second, settled, 0), moving=left_out)

    def _settle(self, table: CheckedTable) -> None:
        """Wait until changes that are under way have arrived, where others than a pull bring them."""
        if table.request.captured:
            self.sleep(table.request.settle_seconds)

    def _compare(
        self, table: CheckedTable, chunk: KeyRange, begin: Callable[[TablePlan], None] = _nothing
    ) -> AbstractContextManager[ComparedChunk | ChunkInMemory]:
        return self.plain.compare(table, chunk) if table.plain else self.comparer.compare(table, chunk, begin)

    def _described(
        self, table: CheckedTable, chunk: KeyRange, compared: ComparedChunk | ChunkInMemory, result: ChunkResult, fixed: int
    ) -> ChunkCheck:
        shown = Disclosure(table.clear, self.key)
        rows = {tuple(finding.key.values()) for finding in result.findings}
        return ChunkCheck(
            chunk,
            compared.source_rows,
            tuple((kind, result.count(kind)) for kind in KINDS if result.count(kind)),
            result.columns,
            tuple(shown.worded(finding) for finding in result.findings[:SENTENCES]),
            fixed,
            bool(rows) and fixed == len(rows) and compared.total <= MOST_FOUND,
        )


def _refuse_gone(_: str) -> TableCheck:
    """Refuse to check a table that was pulled before.

    Raises:
        NotFound: says what to do.
    """
    raise NotFound(GONE)


def _notes(table: CheckedTable, chunks: Sequence[ChunkCheck], counts: RowCounts | None, *, differ: bool) -> Iterator[str]:
    if table.left_out:
        yield f"columns were left out: {shown_list(table.left_out)}"
    elif table.columns_missing:
        yield f"the view lacks the columns {shown_list(table.columns_missing)}, which were not compared: refresh it"
    if table.columns_hidden:
        yield f"a contract hides the columns {shown_list(table.columns_hidden)}, which were not compared"
    if moving := sum(chunk.moving for chunk in chunks):
        yield f"{counted(moving, 'row')} that differed changed while they were compared: a later check compares them"
    if counts and not counts.same and not differ:
        yield "the numbers of rows changed while they were counted"


def _log(dataset: str, check: TableCheck) -> None:
    """Log what became of a table: one line, CRITICAL unless it equals its source, without any value."""
    severities = {"different": "CRITICAL", "failed": "CRITICAL", "fixed": "WARNING"}
    severity = severities.get(check.outcome, "INFO")
    event = {"different": "check_failed", "failed": "table_unchecked"}.get(check.outcome, "table_checked")
    log(severity, check.text, event=event, dataset=dataset, **check.as_dict())  # type: ignore[arg-type]
