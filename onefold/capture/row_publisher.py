"""Publishing the rows of the log, and requests for copies of the tables that follow them by cascading foreign keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from onefold.capture.cascades import Cascades
from onefold.capture.copy_requests import TransactionCopies
from onefold.capture.known_tables import KnownTables
from onefold.capture.message_batcher import MessageBatcher
from onefold.capture.quarantine_guard import QuarantineGuard
from onefold.capture.state import CaptureState, behind
from onefold.mysql.binlog.events import LogPosition, RowEvent, RowsChanged, UnreadableRows
from onefold.mysql.catalog import TableName
from onefold.mysql.table_filter import TableFilter


@dataclass
class RowPublisher:
    """Takes the rows of committed transactions, one event after the other."""

    patterns: TableFilter
    state: CaptureState
    batcher: MessageBatcher
    guard: QuarantineGuard
    copies: TransactionCopies
    known: KnownTables
    cascades: Cascades = field(default_factory=Cascades)
    """Set by the reader each time it begins to read, and after statements that alter foreign keys."""

    def publish(self, event: RowEvent, since: LogPosition | None = None) -> None:
        """Publish rows, or note that they cannot be read.

        Args:
            event: rows of a committed transaction.
            since: the position from which on tables show the rows: copies that replace them are read there or later. None
                for a position just behind the event.
        """
        if isinstance(event, UnreadableRows):
            self._unreadable(event, since or behind(event.position))
        else:
            self._readable(event, since)

    def _readable(self, event: RowsChanged, since: LogPosition | None) -> None:
        if self.cascades.links:
            followers = self.cascades.changed_by(event)
            self.request_copies(followers, since or behind(event.position), "a cascading foreign key")
            if not self.is_captured(TableName(event.database, event.structure.table)):
                return  # the table is only watched for its followers
        if self.known.read(event):
            table = TableName(event.database, event.structure.table)
            reason = "its key or a type is not what its ALTER TABLE says"
            self.request_copies([table], since or behind(event.position), reason)
        if self.guard.passes(event):
            self.batcher.changes(event, self.state.log)

    def _unreadable(self, event: UnreadableRows, since: LogPosition) -> None:
        """Request copies of all followers: which of their rows have changed with the table cannot be read."""
        table = TableName(event.database, event.table)
        followers = set() if event.cascades_logged else self.cascades.followers(table)
        self.request_copies(followers, since, "a cascading foreign key")
        if self.is_captured(table):
            self.guard.unreadable(event)

    def request_copies(self, tables: Iterable[TableName], since: LogPosition, reason: str) -> None:
        """Request copies of those of the tables that are captured.

        Args:
            tables: captured ones and others.
            since: each copy has to be read at this position or later.
            reason: why the log is not enough, for the log line.
        """
        self.copies.request([table for table in tables if self.is_captured(table)], since, reason)

    def affected(self, tables: Iterable[tuple[str, str]]) -> frozenset[TableName]:
        """Return the captured tables that a change of these tables, by database and name, may change."""
        names = [TableName(*table) for table in tables]
        affected = {*names, *(follower for name in names for follower in self.cascades.followers(name))}
        return frozenset(table for table in affected if self.is_captured(table))

    def is_captured(self, table: TableName) -> bool:
        return self.patterns.match(table.database, table.table)
