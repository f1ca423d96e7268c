"""The effects of the log's statements on captured tables: copies of those whose rows changed, events of dropped ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onefold.capture.copy_requests import TransactionCopies
from onefold.capture.records import SourceEventKind, source_event
from onefold.capture.source import Source
from onefold.capture.state import CaptureState, behind
from onefold.core.log import log
from onefold.core.retry import retry_until_stopped
from onefold.core.shutdown import Stop
from onefold.mysql.binlog.events import LogPosition, Statement
from onefold.mysql.catalog import TableName
from onefold.mysql.ddl.effects import Effect, effects
from onefold.ports.publisher import Message

_MAX_REASON = 60
"""Characters of a statement in a log line."""

EventPublisher = Callable[[Message], object]
"""Publishes an event about a table of the source: truncated, dropped or in quarantine."""


@dataclass
class StatementEffects:
    """Takes the statements of the log, one after the other."""

    source: Source
    state: CaptureState
    copies: TransactionCopies
    name: str
    """The name of the source."""
    dataset: str
    publish_event: EventPublisher
    stop: Stop

    def apply(self, event: Statement) -> None:
        """Request copies of the tables that a statement changed, and publish which tables it dropped or truncated."""
        for effect in effects(event.text, event.database, event.grammar):
            if effect.kind == "dropped":
                self._dropped(effect, event.position)
            else:
                self._changed(effect, event)

    def _changed(self, effect: Effect, event: Statement) -> None:
        tables = self._present_tables(effect)
        if effect.kind == "created":
            # The landed rows of a dropped table of the same name get deletions by the delete scan after the copy.
            tables = [table for table in tables if self.state.was_dropped(table.database, table.table)]
        if effect.kind == "truncated":
            for table in tables:
                self._publish("table truncated", table.database, table.table, event.position)
        # Only the first two words of the statement: the rest may hold personal data.
        reason = " ".join(event.text.split(None, 2)[:2]).upper()[:_MAX_REASON]
        self.copies.request(tables, behind(event.position), reason)

    def _dropped(self, effect: Effect, position: LogPosition) -> None:
        patterns = self.source.patterns
        database, table = effect.database, effect.table
        # DROP DATABASE names no table.
        if patterns.may_match(database) if table is None else patterns.match(database, table):
            self.state.note_dropped(database, table)
            self._publish("table dropped", database, table, position)

    def _present_tables(self, effect: Effect) -> list[TableName]:
        """Return the tables of an effect that exist now: the log holds a later event for a table that does not.

        A statement that wrote to a view may have changed any table.
        """
        name = effect.table
        tables = self.source.tables(effect.database or None)
        found = [table for table in tables if not name or table.table.casefold() == name.casefold()]
        if name and not found and effect.kind == "rows" and self.source.is_view(TableName(effect.database, name)):
            return self.source.tables()
        return found

    def _publish(self, kind: SourceEventKind, database: str, table: str | None, position: LogPosition) -> None:
        subject = f"{database}.{table}" if table else f"database {database}"
        log(
            "CRITICAL", f"{kind} at the source: {subject}; nothing that has landed is removed",
            event=kind.replace(" ", "_"), database=database, table=table, position=position.sequence(),
        )  # fmt: skip
        message = source_event(self.name, self.dataset, database, table, position, kind)
        retry_until_stopped(lambda: self.publish_event(message), self.stop)
