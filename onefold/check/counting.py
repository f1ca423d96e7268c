"""Counts of rows on both sides that do not depend on what has been written within the padding.

Where a modification time is the watermark, the view is frozen first: its keys go into a temporary table. One consistent read
of the source then counts the older rows, and reads the keys of all others, which are left out on both sides. So a row that
changes meanwhile is left out, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass

import pymysql

from onefold.check.counts import RowCounts
from onefold.check.exact import ChunkComparer
from onefold.check.join import expiring, mark_of, recent
from onefold.check.request import CheckedTable
from onefold.core.errors import TryAgain
from onefold.core.names import TableId, quote, quote_text
from onefold.mysql.connection import query, quoted
from onefold.mysql.grants import table_sql
from onefold.pull.load.run_log import LOG_TABLE
from onefold.pull.read.part import FileDestination, PartResult, write_part
from onefold.pull.read.plan import KeyRange, TablePlan
from onefold.pull.read.python_reader import read_part
from onefold.pull.read.watermark import Watermark

_SNAPSHOT = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
_TRIES = 3
"""How often a full table is counted where another load ends meanwhile."""


@dataclass(frozen=True)
class RowCounter:
    """Counts the rows of tables.

    Attributes:
        connect: opens a connection to the source.
        to: where files of keys go.
        comparer: holds temporary tables.
    """

    connect: Callable[[], pymysql.Connection]
    to: FileDestination
    comparer: ChunkComparer

    def count(self, table: CheckedTable) -> RowCounts | None:
        """Return the numbers of rows; of a captured table and of a plain one all that there are now.

        Such a table has no time by which rows under way could be left out: a difference counts only where both numbers stay.

        Raises:
            TryAgain: full loads of the table end all the time.
        """
        if table.request.captured:
            return self._now(table)
        if table.watermark is None:
            return self._of_load(table)
        return self._by_time(table) if table.watermark.is_time else self._by_key(table, table.watermark)

    def _now(self, table: CheckedTable) -> RowCounts:
        with closing(self.connect()) as connection:
            ((source,),) = query(connection, f"SELECT COUNT(*) FROM {table_sql(table.name)}")
        return RowCounts(
            "now", source, self._number(f"SELECT COUNT(*) AS n FROM {table.view.quoted} AS v WHERE {table.tenant}")
        )

    def _of_load(self, table: CheckedTable) -> RowCounts | None:
        for _ in range(_TRIES):
            before = self._newest_load(table)
            if before is None:
                return None
            found = self._number(f"SELECT COUNT(*) AS n FROM {table.view.quoted} AS v WHERE {table.tenant}")
            if self._newest_load(table) == before:
                return RowCounts("load", before[1], found)
        raise TryAgain(f"{table.base}: {_TRIES} loads ended while its rows were counted: the next check counts them")

    def _newest_load(self, table: CheckedTable) -> tuple[str, int] | None:
        """Return the newest full load and the rows that the source counted while it read; what it read, where none did."""
        rows = self.comparer.warehouse.fetch(
            "SELECT l.load_id, COALESCE(l.rows_at_source, l.rows_loaded) AS found\n"
            f"FROM {table.base.sibling(LOG_TABLE).quoted} AS l\n"
            f"WHERE l.state = 'loaded' AND l.table_name = {quote_text(table.base.table)} AND l.replaces AND l.days IS NULL\n"
            "ORDER BY l.begun_at DESC, l.logged_at DESC LIMIT 1"
        )
        return (rows[0]["load_id"], rows[0]["found"]) if rows else None

    def _by_key(self, table: CheckedTable, watermark: Watermark) -> RowCounts:
        older = f"NOT {recent(table, 'v', landed=False, unknown='TRUE')}"
        view = self._number(f"SELECT COUNT(*) AS n FROM {table.view.quoted} AS v WHERE {table.tenant} AND {older}")
        with closing(self.connect()) as connection:
            sql = f"SELECT COUNT(*) FROM {table_sql(table.name)} WHERE {quoted(watermark.column)} <= {table.border}"
            ((source,),) = query(connection, sql)
        return RowCounts("key", source, view)

    def _by_time(self, table: CheckedTable) -> RowCounts:
        plan = table.plan(KeyRange(), low=table.border)
        with self.comparer.temporary(table.base) as frozen:
            # Rows without a watermark are counted unless the source has none for the key, either.
            items = (
                f"{mark_of(table, 'v', landed=False)} AS mark, {recent(table, 'v', landed=False, unknown='FALSE')} AS recent"
            )
            view = f"SELECT {items} FROM {table.view.quoted} AS v WHERE {table.tenant}"
            self.comparer.warehouse.execute(expiring(frozen, view))
            source, read = self._source(table, plan)
            keys = [one.landed for one in table.key_columns]
            with self.comparer.loaded(table, read.files, keys) as left_out:
                return RowCounts("time", source, self._older(table, frozen, left_out))

    def _source(self, table: CheckedTable, plan: TablePlan) -> tuple[int, PartResult]:
        """Return the number of older rows, and the files of the others, from one consistent read."""
        watermark = plan.watermark
        condition = plan.range.condition(watermark) if watermark else "TRUE"
        with closing(self.connect()) as connection:
            run(connection, _SNAPSHOT)
            ((count,),) = query(connection, f"SELECT COUNT(*) FROM {table_sql(table.name)} WHERE NOT ({condition})")
            return count, write_part(plan, 0, read_part(connection, plan, 0), self.to)

    def _older(self, table: CheckedTable, frozen: TableId, left_out: TableId) -> int:
        keys = f"SELECT DISTINCT {mark_of(table, 'k', landed=True)} AS mark FROM {left_out.quoted} AS k"
        return self._number(
            f"SELECT COUNT(*) AS n FROM {frozen.quoted} AS f LEFT JOIN ({keys}) AS r ON r.{quote('mark')} = f.mark\n"
            "WHERE r.mark IS NULL AND NOT f.recent"
        )

    def _number(self, sql: str) -> int:
        return int(self.comparer.warehouse.fetch(sql)[0]["n"])


def run(connection: pymysql.Connection, statements: Iterable[str]) -> None:
    """Run statements one after the other."""
    for statement in statements:
        query(connection, statement)
