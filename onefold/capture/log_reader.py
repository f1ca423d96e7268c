"""Reading the log: each event goes to its handler until the log ends, breaks off or turns out to be another log."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace

from onefold.capture.cascades import may_change_cascades
from onefold.capture.checkpoint import Progress
from onefold.capture.copy_requests import TransactionCopies
from onefold.capture.freshness import Freshness
from onefold.capture.known_tables import KnownTables
from onefold.capture.message_batcher import MessageBatcher
from onefold.capture.quarantine_guard import QuarantineGuard
from onefold.capture.row_publisher import RowPublisher
from onefold.capture.source import CapturedSource, check_file
from onefold.capture.state import CaptureState
from onefold.capture.statement_effects import EventPublisher, StatementEffects
from onefold.capture.xa_reader import XaReader
from onefold.core.log import log
from onefold.core.shutdown import Stop
from onefold.core.text import shown_list
from onefold.mysql.binlog.events import (
    Committed,
    Idle,
    IncompleteTransaction,
    LogFileStarted,
    LogPosition,
    RolledBack,
    RowEvent,
    Statement,
)
from onefold.mysql.gtid import GtidSet

_MAX_OFFSET = 1 << 32
"""The largest offset from which a server lets reading start: only one transaction can make a file longer."""


@dataclass
class LogReader:
    """Reads the log from `progress` on, each time it is asked to."""

    source: CapturedSource
    state: CaptureState
    batcher: MessageBatcher
    guard: QuarantineGuard
    name: str
    """The name of the source."""
    dataset: str
    publish_event: EventPublisher
    stop: Stop
    progress: Progress
    """Between two transactions: reading goes on here, while rows before the position may be unconfirmed."""
    timestamp: int = 0
    """When the last transaction was committed, in seconds since 1970."""
    begun: bool = False
    """Whether the log has answered at all."""
    known: KnownTables = field(default_factory=KnownTables)
    """The structures of tables, which decide whether an ALTER needs a copy."""
    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    _freshness: Freshness = field(default_factory=Freshness)
    _executed: GtidSet = field(default_factory=GtidSet)
    _may_have_other_cascades: bool = False
    _voids_by_begin: dict[LogPosition, RolledBack] = field(default_factory=dict)
    """Committed transactions after `progress` that are too large to be held, by where they begin, with their parts that
    were rolled back to a savepoint. They are read a second time."""

    def __post_init__(self) -> None:
        """Make the handlers of events."""
        self._copies = TransactionCopies(self.state)
        self._rows = RowPublisher(self.source.patterns, self.state, self.batcher, self.guard, self._copies, self.known)
        self._xa = XaReader(self.source, self.state, self._rows, self.stop)
        self._statements = StatementEffects(
            self.source, self.state, self._copies, self.name, self.dataset, self.publish_event, self.stop, self.known,
            self.guard.announcer.reported,
        )  # fmt: skip

    def read(self, blocking: bool) -> None:
        """Read the log.

        Args:
            blocking: whether to wait for new events at the end of the log, without an end.

        Raises:
            LogLost: the log does not have the position, or not any more.
            TryAgain: the connection was lost.
            Stopped: the process ends.
        """
        while self._read(blocking):
            self._xa.read_unpublished()
        if position := self.progress.position:
            self._freshness = self._freshness.at_end(self.now())
            self._mark(position, self.progress.fingerprint)

    def _read(self, blocking: bool) -> bool:
        """Read from `progress` to the end of the log.

        Returns:
            Whether to read on from `progress`: because other tables are watched, which is fixed when reading starts, or
            because rows have to be read a second time.
        """
        self._read_cascades()
        self._executed, self._xa.prepared = self.progress.executed, self.progress.prepared
        self._copies.tables.clear()
        is_first = True
        events_of_log = self.source.follow(
            self.progress, self.state.epoch, self._rows.cascades, blocking, self._voids_by_begin
        )
        with closing(events_of_log) as events:
            for event in events:
                self.stop.check()
                if isinstance(event, RowEvent):
                    self._rows.publish(event)
                elif isinstance(event, Committed):
                    if not self._commit(event) or (self._may_have_other_cascades and not self._watches_the_same()):
                        return True
                else:
                    self._other(event, is_first)
                    is_first = is_first and not isinstance(event, LogFileStarted)
        return False

    def _other(self, event: Statement | IncompleteTransaction | LogFileStarted | Idle, is_first: bool) -> None:
        if isinstance(event, Statement):
            self.state.rules.apply(event)
            self.guard.statement(event)
            self._statements.apply(event)
            self._may_have_other_cascades |= may_change_cascades(event.text)
        elif isinstance(event, IncompleteTransaction):
            # Transactional tables do not have its rows; tables of other engines do.
            self._copies.request(self._rows.affected(event.tables), event.position, "a transaction without its end")
        elif isinstance(event, LogFileStarted):
            self._start_file(event, is_first)
        elif event.position:
            self._freshness = self._freshness.at_heartbeat(event.position, self.progress.position, self.now())
            self._mark(event.position, self.progress.fingerprint)

    def _commit(self, event: Committed) -> bool:
        """End a transaction.

        Returns:
            False if rows have to be read from the log a second time: the transaction has not ended then.
        """
        if event.two_phase:
            if not self._xa.step(event, event.two_phase, self.progress.position):
                return False
        elif event.unfinished and event.unfinished.begin and event.unfinished.rolled_back is not None:
            self._voids_by_begin[event.unfinished.begin] = event.unfinished.rolled_back
            return False
        elif event.unfinished:
            self._copies.request(self._rows.affected(event.unfinished.tables), event.position, "ROLLBACK TO SAVEPOINT")
        if event.gtid:
            self._executed = self._executed.plus(event.gtid)
        self.timestamp = event.timestamp
        self._freshness = self._freshness.at_commit(event.timestamp, self.now())
        self._copies.tables.clear()
        self._mark(event.position, self.progress.fingerprint, event.position)
        if self.progress.position == event.position:
            self._voids_by_begin = {}
            self._xa.forget_published()
        return True

    def _start_file(self, event: LogFileStarted, is_first: bool) -> None:
        """Check the file in which reading starts, or go on with the next file. No transaction spans two files."""
        position, self.begun = self.progress.position, True
        is_within = is_first and position is not None and position.file == event.position.file
        if is_first:
            check_file(self.progress, event)
        if is_first and position is None:
            self.progress = replace(self.progress, fingerprint=event.fingerprint)
        else:
            self._mark(position if is_within and position else event.position, event.fingerprint)

    def _mark(self, position: LogPosition, fingerprint: str | None, last_commit: LogPosition | None = None) -> None:
        """Note how far the log is read, unless no server lets reading start at the position.

        Args:
            position: between two transactions.
            fingerprint: of the file of the position.
            last_commit: the end of a transaction that has just ended.
        """
        if position.offset < _MAX_OFFSET:
            self.progress = Progress(
                position, self._executed, fingerprint, self._xa.prepared, self._freshness.as_of
            )  # fmt: skip
            self.state.mark_read(self.progress, last_commit)

    def _watches_the_same(self) -> bool:
        """Read the foreign keys again, and tell whether the same tables have to be watched for them."""
        before = self._rows.cascades
        self._read_cascades()
        return before.watched == self._rows.cascades.watched

    def _read_cascades(self) -> None:
        """Read the foreign keys. What a right hides of them is logged."""
        before, self._rows.cascades = self._rows.cascades, self.source.cascades()
        self._may_have_other_cascades = False
        if hidden := sorted(map(str, self._rows.cascades.hidden - before.hidden)):
            log(
                "WARNING", f"the foreign keys of {shown_list(hidden)} cannot be seen: what changes these tables by "
                "cascading foreign keys, and captured tables with them, is not followed; `onefold capture --check` names "
                "the GRANT",
                event="foreign_keys_hidden", tables=hidden,
            )  # fmt: skip
