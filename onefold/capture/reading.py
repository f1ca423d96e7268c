"""Reading the log: each event goes where it belongs, until the log ends, breaks off or turns out to be another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

from onefold.capture.announcing import again_and_again
from onefold.capture.cascades import Cascades, may_change_cascades
from onefold.capture.checkpoint import Reached
from onefold.capture.gtids import Executed
from onefold.capture.information_schema import TableName
from onefold.capture.isolation import Isolation
from onefold.capture.ledger import Ledger, lowest
from onefold.capture.log_events import Committed, FileBegun, Idle, Place, RowsChanged, RowsUnreadable, Statement, TwoPhase
from onefold.capture.prepared import Prepared, find, plus, tables_of, without
from onefold.capture.source import LogLost, Source
from onefold.capture.source_events import Befell, source_event
from onefold.capture.statements import Effect, effects
from onefold.capture.stopping import Stop
from onefold.capture.streaming import Stream
from onefold.capture.sweep import RETENTION_SECONDS
from onefold.log import log
from onefold.pubsub import Message

_MAX_OFFSET = 1 << 32
"""The largest place from which a server lets reading start: a file grows beyond it by one transaction only."""
_SHOWN = 60
_LONG = RETENTION_SECONDS // 2
"""Seconds after which it is not asked any more which copies a prepared transaction has seen."""

Tell = Callable[[Message], object]
"""Publishes what befell a table at the source."""


@dataclass
class Reader:
    """Reads on from where it has come, as often as it is asked to."""

    source: Source
    ledger: Ledger
    stream: Stream
    name: str
    dataset: str
    tell: Tell
    stop: Stop
    at: Reached
    """Between two transactions: reading goes on here, while what lies before it may still be on its way."""
    isolation: Isolation
    timestamp: int = 0
    """Of the last transaction, in seconds."""
    begun: bool = False
    """Whether the log has answered at all."""
    _cascades: Cascades = field(default_factory=Cascades)
    _altered: bool = False
    _executed: Executed = field(default_factory=Executed)
    _prepared: tuple[Prepared, ...] = ()
    _changed: set[tuple[str, str]] = field(default_factory=set)
    """The captured tables that the transaction has changed so far."""

    def read(self, blocking: bool) -> None:
        """Read until the log's end, or for ever.

        Raises:
            LogLost: the log does not have the place (any more).
            TryAgain: the connection was lost.
            Stopped.
        """
        while self._read(blocking):
            pass

    def _read(self, blocking: bool) -> bool:
        """Whether to read on with other tables watched: which ones are is fixed when reading starts."""
        self._cascades, self._altered = self.source.cascades(), False
        self._executed, self._prepared = self.at.executed, self.at.prepared
        self._changed.clear()
        first = True
        with closing(self.source.follow(self.at, self.ledger.epoch, self._cascades, blocking)) as events:
            for event in events:
                self.stop.check()
                if isinstance(event, RowsChanged):
                    self._rows(event)
                elif isinstance(event, RowsUnreadable):
                    self._unreadable(event)
                elif isinstance(event, Committed):
                    self._committed(event)
                    if self._altered and not self._same_cascades():
                        return True
                else:
                    self._other(event, first)
                    first = first and not isinstance(event, FileBegun)
        return False

    def _other(self, event: Statement | FileBegun | Idle, first: bool) -> None:
        if isinstance(event, Statement):
            self._statement(event)
        elif isinstance(event, FileBegun):
            self._file(event, first)
        elif event.place:
            self._reach(event.place, self.at.fingerprint)

    def _rows(self, event: RowsChanged) -> None:
        if self._cascades.links:
            hit = self._cascades.changed_by(event)
            self._want([table for table in hit if self._is_captured(table)], behind(event.place), "a cascading foreign key")
            if not self._is_captured(TableName(event.database, event.structure.table)):
                return  # only watched
        if self.isolation.passes(event):
            self._changed.add((event.database, event.structure.table))
            self.stream.changes(event, self.ledger.log)

    def _unreadable(self, event: RowsUnreadable) -> None:
        """Tables that follow this one may have changed with it, in whatever rows."""
        table = TableName(event.database, event.table)
        hit = self._cascades.below(table)
        self._want([child for child in hit if self._is_captured(child)], behind(event.place), "a cascading foreign key")
        if self._is_captured(table):
            self.isolation.unreadable(event)

    def _committed(self, event: Committed) -> None:
        if event.gtid:
            self._executed = self._executed.plus(event.gtid)
        self.timestamp = event.timestamp
        if event.two_phase:
            self._take_step(event, event.two_phase)
        self._changed.clear()
        self._reach(event.place, self.at.fingerprint, event.place)

    def _take_step(self, event: Committed, step: TwoPhase) -> None:
        """Rows that were published when they were prepared count now, or never did."""
        before = self._prepared
        self._prepared = without(before, step.xid)
        if step.step == "prepared":
            place = self.at.place or lowest(self.ledger.epoch)
            tables = frozenset(TableName(*name) for name in self._changed)
            self._prepared = plus(before, Prepared(step.xid, place, event.timestamp, tables))
        elif step.step == "rolled back":
            self._want(tables_of(before, step.xid), event.place, "XA ROLLBACK")
        else:
            self._want(self._lacking(event, find(before, step.xid)), event.place, "XA COMMIT")

    def _lacking(self, event: Committed, one: Prepared | None) -> Iterable[TableName]:
        """The tables of a transaction of which a copy stands above its rows, and does not show them.

        Where it was prepared before the log was read, that may be all that were copied at all.
        """
        if one and event.timestamp - one.timestamp > _LONG:
            return one.tables
        tables = one.tables if one else self.source.tables()
        return [table for table in tables if self.ledger.may_lack(table, event.place, one.place if one else None)]

    def _file(self, event: FileBegun, first: bool) -> None:
        """The file within which reading starts has to be the one that was read; transactions do not go on in the next."""
        place, self.begun = self.at.place, True
        within = first and place is not None and place.file == event.place.file
        if within and self.at.fingerprint not in (None, event.fingerprint):
            raise LogLost(f"{event.place.file} of the source is another file than the one that was read")
        if first and place is None:
            self.at = replace(self.at, fingerprint=event.fingerprint)
        else:
            self._reach(place if within and place else event.place, event.fingerprint)

    def _reach(self, place: Place, fingerprint: str | None, last: Place | None = None) -> None:
        if place.offset < _MAX_OFFSET:
            self.at = Reached(place, self._executed, fingerprint, self._prepared)
            self.ledger.reach(self.at, last)

    def _statement(self, event: Statement) -> None:
        self.isolation.statement(event)
        for effect in effects(event.text, event.database):
            self._effect(effect, event)
        self._altered |= may_change_cascades(event.text)

    def _effect(self, effect: Effect, event: Statement) -> None:
        if effect.kind == "dropped":
            self._dropped(effect, event.place)
            return
        tables = list(self._present(effect))
        if effect.kind == "created":
            # Rows of a former table of that name are to get their tombstones.
            tables = [table for table in tables if self.ledger.was_dropped(table.database, table.table)]
        if effect.kind == "truncated":
            for table in tables:
                self._befell("table truncated", table.database, table.table, event.place)
        # Not the whole statement: it may hold people's data.
        self._want(tables, behind(event.place), " ".join(event.text.split(None, 2)[:2]).upper()[:_SHOWN])

    def _dropped(self, effect: Effect, place: Place) -> None:
        if self._was_captured(effect.database, effect.table):
            self.ledger.drop(effect.database, effect.table)
            self._befell("table dropped", effect.database, effect.table, place)

    def _present(self, effect: Effect) -> Iterator[TableName]:
        """The tables as they are now: one that is gone by now is told of further on in the log."""
        wanted = effect.table and effect.table.casefold()
        for table in self.source.tables(effect.database or None):
            if wanted in (None, table.table.casefold()):
                yield table

    def _befell(self, kind: Befell, database: str, table: str | None, place: Place) -> None:
        what = f"{database}.{table}" if table else f"database {database}"
        log(
            "CRITICAL", f"{kind} at the source: {what}; nothing that has landed is removed",
            event=kind.replace(" ", "_"), database=database, table=table, position=place.sequence(),
        )  # fmt: skip
        message = source_event(self.name, self.dataset, database, table, place, kind)
        again_and_again(lambda: self.tell(message), self.stop)

    def _want(self, tables: Iterable[TableName], since: Place, reason: str) -> None:
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


def behind(place: Place) -> Place:
    """A copy that has to show what happened at a place has to be read behind it."""
    return replace(place, offset=place.offset + 1)
