"""Reading the log: each event goes where it belongs, until the log ends, breaks off or turns out to be another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace

from onefold.capture.cascades import Cascades, may_change_cascades
from onefold.capture.checkpoint import Progress
from onefold.capture.deletes import RETENTION_SECONDS
from onefold.capture.isolation import Isolation
from onefold.capture.message_batcher import MessageBatcher
from onefold.capture.records import SourceEventKind, source_event
from onefold.capture.source import LogLost, Source, check_file
from onefold.capture.state import CaptureState, lowest
from onefold.capture.xa import PreparedRows, PreparedTransaction, find, merged, plus, without
from onefold.core.log import log
from onefold.core.retry import retry_until_stopped
from onefold.core.shutdown import Stop
from onefold.mysql.binlog.events import (
    Committed,
    Idle,
    IncompleteTransaction,
    LogFileStarted,
    LogPosition,
    RowEvent,
    RowsChanged,
    Statement,
    UnfinishedRows,
    UnreadableRows,
    RolledBack,
    XaStep,
)
from onefold.mysql.binlog.transactions import decoded
from onefold.mysql.catalog import TableName
from onefold.mysql.ddl.effects import Effect, effects
from onefold.mysql.gtid import GtidSet
from onefold.ports.publisher import Message

_MAX_OFFSET = 1 << 32
"""The largest place from which a server lets reading start: a file grows beyond it by one transaction only."""
_SHOWN = 60
_LONG = RETENTION_SECONDS // 2
"""Seconds after which it is not asked any more which copies a prepared transaction has seen."""

Tell = Callable[[Message], object]
"""Publishes what befell a table at the source."""


@dataclass
class LogReader:
    """Reads on from where it has come, as often as it is asked to."""

    source: Source
    ledger: CaptureState
    stream: MessageBatcher
    name: str
    dataset: str
    tell: Tell
    stop: Stop
    at: Progress
    """Between two transactions: reading goes on here, while what lies before it may still be on its way."""
    isolation: Isolation
    timestamp: int = 0
    """Of the last transaction, in seconds."""
    begun: bool = False
    """Whether the log has answered at all."""
    _cascades: Cascades = field(default_factory=Cascades)
    _altered: bool = False
    _executed: GtidSet = field(default_factory=GtidSet)
    _prepared: tuple[PreparedTransaction, ...] = ()
    _changed: set[tuple[str, str]] = field(default_factory=set)
    """The tables of which the transaction has asked for copies so far."""
    _known: dict[LogPosition, RolledBack] = field(default_factory=dict)
    """Committed transactions behind `at` that are too large to be held, by where they begin, with what of them is void."""
    _kept: PreparedRows = field(default_factory=PreparedRows)
    _ending: tuple[PreparedTransaction, Committed] | None = None
    """An XA transaction that is committed, whose rows have to be read a second time."""
    _published: set[LogPosition] = field(default_factory=set)
    """The ends behind `at` of XA transactions whose rows were read a second time."""

    def read(self, blocking: bool) -> None:
        """Read until the log's end, or for ever.

        Raises:
            LogLost: the log does not have the place (any more).
            TryAgain: the connection was lost.
            Stopped.
        """
        while self._read(blocking):
            if self._ending:
                self._read_prepared(*self._ending)
                self._ending = None

    def _read(self, blocking: bool) -> bool:
        """Whether to read on from `at`: with other tables watched, which is fixed when reading starts; or because rows have
        to be read a second time.
        """
        self._cascades, self._altered = self.source.cascades(), False
        self._executed, self._prepared = self.at.executed, self.at.prepared
        self._changed.clear()
        first = True
        with closing(self.source.follow(self.at, self.ledger.epoch, self._cascades, blocking, self._known)) as events:
            for event in events:
                self.stop.check()
                if isinstance(event, RowEvent):
                    self._rows(event, behind(event.position))
                elif isinstance(event, Committed):
                    if not self._committed(event) or (self._altered and not self._same_cascades()):
                        return True
                else:
                    self._other(event, first)
                    first = first and not isinstance(event, LogFileStarted)
        return False

    def _other(self, event: Statement | IncompleteTransaction | LogFileStarted | Idle, first: bool) -> None:
        if isinstance(event, Statement):
            self._statement(event)
        elif isinstance(event, IncompleteTransaction):
            # Transactional tables do not have its rows, and others do.
            self._want(self._affected(event.tables), event.position, "a transaction without its end")
        elif isinstance(event, LogFileStarted):
            self._file(event, first)
        elif event.position:
            self._reach(event.position, self.at.fingerprint)

    def _rows(self, event: RowEvent, since: LogPosition) -> None:
        """Publish rows, or note that they cannot be read.

        Args:
            event: the rows, of a transaction that is committed.
            since: from there on, tables show them.
        """
        if isinstance(event, UnreadableRows):
            self._unreadable(event, since)
        else:
            self._readable(event, since)

    def _readable(self, event: RowsChanged, since: LogPosition) -> None:
        if self._cascades.links:
            hit = self._cascades.changed_by(event)
            self._want([table for table in hit if self._is_captured(table)], since, "a cascading foreign key")
            if not self._is_captured(TableName(event.database, event.structure.table)):
                return  # only watched
        if self.isolation.passes(event):
            self.stream.changes(event, self.ledger.log)

    def _unreadable(self, event: UnreadableRows, since: LogPosition) -> None:
        """Tables that follow this one may have changed with it, in whatever rows."""
        table = TableName(event.database, event.table)
        hit = set() if event.cascades_logged else self._cascades.followers(table)
        self._want([child for child in hit if self._is_captured(child)], since, "a cascading foreign key")
        if self._is_captured(table):
            self.isolation.unreadable(event)

    def _committed(self, event: Committed) -> bool:
        """End a transaction. False where its rows have to be read from the log a second time: then it has not ended yet."""
        if event.two_phase:
            if not self._take_step(event, event.two_phase):
                return False
        elif event.unfinished and event.unfinished.begin and event.unfinished.rolled_back is not None:
            self._known[event.unfinished.begin] = event.unfinished.rolled_back
            return False
        elif event.unfinished:
            self._want(self._affected(event.unfinished.tables), event.position, "ROLLBACK TO SAVEPOINT")
        if event.gtid:
            self._executed = self._executed.plus(event.gtid)
        self.timestamp = event.timestamp
        self._changed.clear()
        self._reach(event.position, self.at.fingerprint, event.position)
        if self.at.place == event.position:
            self._known, self._published = {}, set()
        return True

    def _affected(self, tables: Iterable[tuple[str, str]]) -> frozenset[TableName]:
        """The captured tables that a change of these tables may change."""
        names = [TableName(*table) for table in tables]
        all_ = {*names, *(follower for name in names for follower in self._cascades.followers(name))}
        return frozenset(table for table in all_ if self._is_captured(table))

    def _take_step(self, event: Committed, step: XaStep) -> bool:
        """Rows of an XA transaction are published when it is committed. False where they have to be read for that."""
        before = self._prepared
        if step.step == "prepared":
            self._prepare(event, step.xid, event.unfinished)
            return True
        one = find(before, step.xid)
        if step.step == "committed":
            if one and not self._publish(one, event):
                self._ending = one, event
                return False
            lacking = self._lacking(event, one)
            self._want(lacking if one else {*lacking, *merged(before)}, event.position, "XA COMMIT")
        elif one and one.published:
            self._want(one.tables, event.position, "XA ROLLBACK")
        self._prepared = without(before, step.xid)
        self._kept.forget(step.xid)
        return True

    def _prepare(self, event: Committed, xid: str, unread: UnfinishedRows | None) -> None:
        """Note a transaction, with its rows where they fit into memory."""
        place = (unread and unread.begin) or self.at.place or lowest(self.ledger.epoch)
        tables = self._affected(unread.tables if unread else ()) | {TableName(*name) for name in self._changed}
        self._prepared = plus(self._prepared, PreparedTransaction(xid, place, event.timestamp, tables))
        if unread and unread.rows is not None:
            self._kept.keep(xid, place, unread.rows, unread.size)

    def _publish(self, one: PreparedTransaction, event: Committed) -> bool:
        """Publish the rows of a prepared transaction; False where they have to be read from the log before."""
        rows = self._kept.find(one)
        if rows is not None:
            for changed in decoded(rows):
                self._rows(changed, event.position)
        return rows is not None or one.published or not one.tables or event.position in self._published

    def _read_prepared(self, one: PreparedTransaction, event: Committed) -> None:
        """Read the rows of a committed XA transaction a second time, and publish them while reading.

        Where the log does not have them any more, or does not tell which ones count, the tables are copied.
        """
        prepared = XaStep(one.xid, "prepared")
        known: dict[LogPosition, RolledBack] = {}
        try:
            ended = self._read_once(one.place, event.position, known) if one.place.epoch == self.ledger.epoch else None
            unread = ended.unfinished if ended and ended.two_phase == prepared else None
            if unread and unread.rows is not None:
                for changed in decoded(unread.rows):
                    self._rows(changed, event.position)
            elif unread and unread.begin and unread.rolled_back is not None:
                known[unread.begin] = unread.rolled_back
                self._read_once(one.place, event.position, known)
            else:
                self._want(one.tables, event.position, "XA COMMIT")
        except LogLost:
            self._want(one.tables, event.position, "XA COMMIT")
        self._published.add(event.position)

    def _read_once(
        self, begin: LogPosition, since: LogPosition, known: Mapping[LogPosition, RolledBack]
    ) -> Committed | None:
        """Read one transaction, and publish those of its rows that come before its end, which is returned."""
        start = Progress(begin)
        with closing(self.source.follow(start, self.ledger.epoch, self._cascades, False, known)) as events:
            for event in events:
                self.stop.check()
                if isinstance(event, RowEvent):
                    self._rows(event, since)
                elif isinstance(event, Committed):
                    return event
        return None

    def _lacking(self, event: Committed, one: PreparedTransaction | None) -> Iterable[TableName]:
        """The tables of a transaction of which a copy stands above its rows, and does not show them.

        Where it was prepared before the log was read, that may be all that were copied at all.
        """
        if one and event.timestamp - one.timestamp > _LONG:
            return one.tables
        tables = one.tables if one else self.source.tables()
        return [table for table in tables if self.ledger.may_lack(table, event.position, one.place if one else None)]

    def _file(self, event: LogFileStarted, first: bool) -> None:
        """The file within which reading starts has to be the one that was read; transactions do not go on in the next."""
        place, self.begun = self.at.place, True
        within = first and place is not None and place.file == event.position.file
        if first:
            check_file(self.at, event)
        if first and place is None:
            self.at = replace(self.at, fingerprint=event.fingerprint)
        else:
            self._reach(place if within and place else event.position, event.fingerprint)

    def _reach(self, place: LogPosition, fingerprint: str | None, last: LogPosition | None = None) -> None:
        if place.offset < _MAX_OFFSET:
            self.at = Progress(place, self._executed, fingerprint, self._prepared)
            self.ledger.reach(self.at, last)

    def _statement(self, event: Statement) -> None:
        self.isolation.statement(event)
        for effect in effects(event.text, event.database, event.grammar):
            self._effect(effect, event)
        self._altered |= may_change_cascades(event.text)

    def _effect(self, effect: Effect, event: Statement) -> None:
        if effect.kind == "dropped":
            self._dropped(effect, event.position)
            return
        tables = self._present(effect)
        if effect.kind == "created":
            # Rows of a former table of that name are to get their tombstones.
            tables = [table for table in tables if self.ledger.was_dropped(table.database, table.table)]
        if effect.kind == "truncated":
            for table in tables:
                self._befell("table truncated", table.database, table.table, event.position)
        # Not the whole statement: it may hold people's data.
        self._want(tables, behind(event.position), " ".join(event.text.split(None, 2)[:2]).upper()[:_SHOWN])

    def _dropped(self, effect: Effect, place: LogPosition) -> None:
        if self._was_captured(effect.database, effect.table):
            self.ledger.drop(effect.database, effect.table)
            self._befell("table dropped", effect.database, effect.table, place)

    def _present(self, effect: Effect) -> list[TableName]:
        """The tables as they are now: one that is gone by now is told of further on in the log.

        A statement that wrote to a view may have changed any table.
        """
        name = effect.table
        tables = self.source.tables(effect.database or None)
        found = [table for table in tables if not name or table.table.casefold() == name.casefold()]
        if name and not found and effect.kind == "rows" and self.source.is_view(TableName(effect.database, name)):
            return self.source.tables()
        return found

    def _befell(self, kind: SourceEventKind, database: str, table: str | None, place: LogPosition) -> None:
        what = f"{database}.{table}" if table else f"database {database}"
        log(
            "CRITICAL", f"{kind} at the source: {what}; nothing that has landed is removed",
            event=kind.replace(" ", "_"), database=database, table=table, position=place.sequence(),
        )  # fmt: skip
        message = source_event(self.name, self.dataset, database, table, place, kind)
        retry_until_stopped(lambda: self.tell(message), self.stop)

    def _want(self, tables: Iterable[TableName], since: LogPosition, reason: str) -> None:
        """These tables are to be copied as they were at a place, or later."""
        wanted = sorted(tables)
        self._changed |= {(table.database, table.table) for table in wanted}
        for table in self.ledger.want(wanted, since):
            log(
                "NOTICE", f"{table} is to be copied again: {reason}", event="copy_wanted", database=table.database,
                table=table.table, reason=reason, position=since.sequence(),
            )  # fmt: skip

    def _was_captured(self, database: str, table: str | None) -> bool:
        patterns = self.source.patterns
        return patterns.may_match(database) if table is None else patterns.match(database, table)

    def _is_captured(self, table: TableName) -> bool:
        return self.source.patterns.match(table.database, table.table)

    def _same_cascades(self) -> bool:
        """Foreign keys may have changed with the tables."""
        self._altered = False
        now = self.source.cascades()
        same = now.watched == self._cascades.watched
        self._cascades = now
        return same


def behind(place: LogPosition) -> LogPosition:
    """A copy that has to show what happened at a place has to be read behind it."""
    return replace(place, offset=place.offset + 1)
