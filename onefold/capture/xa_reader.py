"""XA transactions of the log: their rows are noted when they are prepared, and published when they are committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field

from onefold.capture.checkpoint import Progress
from onefold.capture.deletes import RETENTION_SECONDS
from onefold.capture.row_publisher import RowPublisher
from onefold.capture.source import CapturedSource, LogLost
from onefold.capture.state import CaptureState, lowest
from onefold.capture.xa import PreparedRows, PreparedTransaction, find, merged_tables, plus, without
from onefold.core.shutdown import Stop
from onefold.mysql.binlog.events import Committed, LogPosition, RolledBack, RowEvent, UnfinishedRows, XaStep
from onefold.mysql.binlog.transactions import decoded
from onefold.mysql.catalog import TableName

_LONG_SECONDS = RETENTION_SECONDS // 2
"""After so many seconds, all tables of a prepared transaction are copied: copies finished since then are forgotten."""


@dataclass
class XaReader:
    """Follows the prepared XA transactions of a log."""

    source: CapturedSource
    state: CaptureState
    publisher: RowPublisher
    stop: Stop
    prepared: tuple[PreparedTransaction, ...] = ()
    """The prepared transactions at the present position of the reader, the oldest first."""
    unpublished: tuple[PreparedTransaction, Committed] | None = None
    """A committed transaction whose rows have to be read a second time, with the event of its commit."""
    _rows: PreparedRows = field(default_factory=PreparedRows)
    _published: set[LogPosition] = field(default_factory=set)
    """The commits since the last stored position whose rows were read a second time."""

    def step(self, event: Committed, step: XaStep, read: LogPosition | None) -> bool:
        """Take one step of an XA transaction.

        Args:
            event: the event that ends the transaction in the log.
            step: what happened to the transaction.
            read: the position of the reader before the event.

        Returns:
            False if the transaction is committed and its rows have to be read from the log a second time: see
            `read_unpublished`. The step is taken then when the event is read again.
        """
        if step.step == "prepared":
            self._prepare(event, step.xid, event.unfinished, read)
            return True
        transaction = find(self.prepared, step.xid)
        if step.step == "committed":
            if transaction and not self._publish(transaction, event):
                self.unpublished = transaction, event
                return False
            lacking = set(self._tables_with_older_copy(event, transaction))
            if not transaction:
                lacking |= merged_tables(self.prepared)
            self.publisher.copies.request(lacking, event.position, "XA COMMIT")
        elif transaction and transaction.published:
            self.publisher.copies.request(transaction.tables, event.position, "XA ROLLBACK")
        self.prepared = without(self.prepared, step.xid)
        self._rows.forget(step.xid)
        return True

    def read_unpublished(self) -> None:
        """Read the rows of the committed transaction `unpublished` a second time, and publish them while reading.

        If the log does not have the rows any more, or does not say which of them count, the tables are copied.
        """
        if self.unpublished is None:
            return
        transaction, event = self.unpublished
        self.unpublished = None
        try:
            is_published = transaction.position.epoch == self.state.epoch and self._read_rows(transaction, event)
        except LogLost:
            is_published = False
        if not is_published:
            self.publisher.copies.request(transaction.tables, event.position, "XA COMMIT")
        self._published.add(event.position)

    def forget_published(self) -> None:
        """Forget which commits were read a second time: their position is stored, and they are not read again."""
        self._published = set()

    def _prepare(self, event: Committed, xid: str, unread: UnfinishedRows | None, read: LogPosition | None) -> None:
        """Note a prepared transaction, with its rows where they fit into memory."""
        begin = (unread and unread.begin) or read or lowest(self.state.epoch)
        tables = self.publisher.affected(unread.tables if unread else ()) | self.publisher.copies.tables
        self.prepared = plus(self.prepared, PreparedTransaction(xid, begin, event.timestamp, tables))
        if unread and unread.rows is not None:
            self._rows.keep(xid, begin, unread.rows, unread.size)

    def _publish(self, transaction: PreparedTransaction, event: Committed) -> bool:
        """Publish the rows of a prepared transaction from memory.

        Returns:
            False if the rows are not in memory and have to be read from the log.
        """
        rows = self._rows.find(transaction)
        if rows is not None:
            for changed in decoded(rows):
                self.publisher.publish(changed, event.position)
            return True
        return transaction.published or not transaction.tables or event.position in self._published

    def _read_rows(self, transaction: PreparedTransaction, event: Committed) -> bool:
        """Read the rows of a transaction from the log, and publish them; tell whether that was possible."""
        ended = self._read_once(transaction.position, event.position, {})
        unread = ended.unfinished if ended and ended.two_phase == XaStep(transaction.xid, "prepared") else None
        if unread is None:
            return False
        if unread.rows is not None:
            for changed in decoded(unread.rows):
                self.publisher.publish(changed, event.position)
            return True
        if unread.begin and unread.rolled_back is not None:
            # The rows are too many to be held: with what was rolled back to savepoints known, they are published at once.
            self._read_once(transaction.position, event.position, {unread.begin: unread.rolled_back})
            return True
        return False

    def _read_once(
        self, begin: LogPosition, since: LogPosition, known: Mapping[LogPosition, RolledBack]
    ) -> Committed | None:
        """Read one transaction, publish those of its rows that come before its end, and return the end."""
        events_of_log = self.source.follow(Progress(begin), self.state.epoch, self.publisher.cascades, False, known)
        with closing(events_of_log) as events:
            for event in events:
                self.stop.check()
                if isinstance(event, RowEvent):
                    self.publisher.publish(event, since)
                elif isinstance(event, Committed):
                    return event
        return None

    def _tables_with_older_copy(self, event: Committed, transaction: PreparedTransaction | None) -> Iterable[TableName]:
        """Return the tables of which a copy ranks above the rows of a transaction, and does not show them.

        If the transaction was prepared before the log was read, that may concern all tables that were ever copied.
        """
        if transaction and event.timestamp - transaction.timestamp > _LONG_SECONDS:
            return transaction.tables
        tables = transaction.tables if transaction else self.source.tables()
        prepared = transaction.position if transaction else None
        return [table for table in tables if self.state.copy_may_lack(table, event.position, prepared)]
