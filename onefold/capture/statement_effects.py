"""The effects of the log's statements on captured tables: copies of those whose rows changed, events of dropped ones.

An ALTER leads to a copy only where rows that landed before may differ from what the table has now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, takewhile

from onefold.capture.alterations import added_names, computes_again, dropped_names, may_compute, needs_copy
from onefold.capture.copy_requests import TransactionCopies
from onefold.capture.known_tables import KnownTables
from onefold.capture.records import SourceEventKind, source_event
from onefold.capture.source import CapturedSource
from onefold.capture.state import CaptureState, behind
from onefold.core.log import log
from onefold.core.retry import retry_until_stopped
from onefold.core.shutdown import Stop
from onefold.landing.reported_changes import ReportedChanges
from onefold.mysql.binlog.events import LogPosition, Statement
from onefold.mysql.catalog import TableName
from onefold.mysql.ddl.alterations import Alteration, IndexAltered
from onefold.mysql.ddl.effects import TableEffect, all_effects
from onefold.mysql.ddl.masked import masked
from onefold.mysql.ddl.tokens import words
from onefold.ports.publisher import Message

_MAX_REASON = 60
"""Characters of a statement in a log line."""

EventPublisher = Callable[[Message], object]
"""Publishes an event about a table of the source: truncated, dropped or in quarantine."""


@dataclass
class StatementEffects:
    """Takes the statements of the log, one after the other."""

    source: CapturedSource
    state: CaptureState
    copies: TransactionCopies
    name: str
    """The name of the source."""
    dataset: str
    publish_event: EventPublisher
    stop: Stop
    known: KnownTables
    reported: ReportedChanges

    def apply(self, event: Statement) -> None:
        """Request copies of the tables that a statement changed, and publish which it dropped, renamed or truncated."""
        found = all_effects(event.text, event.database, event.grammar)
        for effect in found:
            self._note(effect, event)
            # A statement that can be read in two ways has two effects on one table: its structure is not known then.
            is_clear = effect.kind == "structure" or sum(one.table == effect.table for one in found) == 1
            if effect.alterations and is_clear:
                self._altered(effect, event)
                continue
            if effect.kind not in ("structure", "created", "truncated"):
                self.known.forget(effect)
            self._unaltered(effect, event)

    def _note(self, effect: TableEffect, event: Statement) -> None:
        """Note an ALTER that may lead to another version, for the message about the version."""
        is_index = effect.kind == "structure" and all(isinstance(one, IndexAltered) for one in effect.alterations)
        if effect.kind in ("structure", "altered", "rows") and _begin_of(event).startswith("ALTER") and not is_index:
            changed_at = datetime.fromtimestamp(event.timestamp, UTC)
            for table in self._altered_tables(effect):
                self.reported.note(table.database, table.table, masked(event.text, event.grammar), changed_at)

    def _unaltered(self, effect: TableEffect, event: Statement) -> None:
        if effect.kind == "dropped":
            self._dropped(effect, event.position)
        elif effect.kind == "renamed":
            self._renamed(effect, event.position)
        elif effect.kind != "structure":
            self._changed(effect, event)

    def _altered(self, effect: TableEffect, event: Statement) -> None:
        """Request copies of altered tables whose rows may read differently from what has landed."""
        added, dropped = added_names(effect.alterations), dropped_names(effect.alterations)
        for table in self._altered_tables(effect):
            before = self.known.before(table, event.position)
            # A column of a former name: what landed under the name is not in the table any more.
            is_again = bool(added & (dropped | self.state.quarantine.dropped_columns(table)))
            is_changed = is_again or needs_copy(effect.alterations, before, event.grammar.sql_mode)
            if is_changed or self._computes_again(effect.alterations, table):
                self.known.forget(effect)
                self._request([table], event)
                continue
            self.state.quarantine.drop_columns(table, dropped, event.position)
            if before:
                self.known.alter(table, effect.alterations, before)
            if effect.kind == "altered":
                log(
                    "INFO", f"{table} was altered, and is not copied: what has landed of its rows stays right",
                    event="copy_not_needed", database=table.database, table=table.table,
                    position=event.position.sequence(),
                )  # fmt: skip

    def _computes_again(self, alterations: Sequence[Alteration], table: TableName) -> bool:
        """Return whether generated columns have other values now. The log does not tell which columns are generated."""
        if not may_compute(alterations):
            return False
        found = self.source.inspect(table)
        return found.structure is None or computes_again(alterations, found.structure, found.expressions)

    def _altered_tables(self, effect: TableEffect) -> list[TableName]:
        tables = self._present_tables(effect)
        return [one for one in tables if one.table == effect.table] or tables

    def _changed(self, effect: TableEffect, event: Statement) -> None:
        tables = self._present_tables(effect)
        if effect.kind == "created":
            self._report_ghost(effect, event.position)
            # The landed rows of a dropped table of the same name get deletions by the delete scan after the copy.
            tables = [table for table in tables if self.state.was_dropped(table.database, table.table)]
        if effect.kind == "truncated":
            self._truncated(effect, tables, event.position)
        self._request(tables, event)

    def _truncated(self, effect: TableEffect, tables: Sequence[TableName], position: LogPosition) -> None:
        """Publish the truncation, also of a table that was dropped or renamed before capture read the log."""
        named = TableName(effect.database, effect.table or "")
        gone = [] if tables or not self.source.patterns.match(named.database, named.table) else [named]
        for table in (*tables, *gone):
            self._publish("table truncated", table.database, table.table, position)

    def _report_ghost(self, effect: TableEffect, position: LogPosition) -> None:
        """Log a new table of an online schema change, which is left out."""
        table = effect.table or ""
        if self.source.patterns.leave_out_ghost(effect.database, table):
            log(
                "NOTICE", f"{effect.database}.{table} is a table of an online schema change, and is left out: the table "
                f"that it replaces is copied when they are swapped; --include {effect.database}.{table} captures it",
                event="ghost_left_out", database=effect.database, table=table, position=position.sequence(),
            )  # fmt: skip

    def _request(self, tables: Sequence[TableName], event: Statement) -> None:
        self.copies.request(tables, behind(event.position), _begin_of(event))

    def _renamed(self, effect: TableEffect, position: LogPosition) -> None:
        """Publish the new name of a table, unless another table has taken the former name."""
        database, table, new = effect.database, effect.table or "", effect.new_name
        if new and not effect.is_replaced and self.source.patterns.match(database, table):
            self.state.note_dropped(database, table)
            self._publish("table renamed", database, table, position, TableName(*new))

    def _dropped(self, effect: TableEffect, position: LogPosition) -> None:
        patterns = self.source.patterns
        database, table = effect.database, effect.table
        # DROP DATABASE names no table.
        if patterns.may_match(database) if table is None else patterns.match(database, table):
            self.state.note_dropped(database, table)
            self._publish("table dropped", database, table, position)

    def _present_tables(self, effect: TableEffect) -> list[TableName]:
        """Return the tables of an effect that exist now: the log holds a later event for a table that does not.

        A statement that wrote to a view may have changed any table.
        """
        name = effect.table
        tables = self.source.tables(effect.database or None)
        found = [table for table in tables if not name or table.table.casefold() == name.casefold()]
        if name and not found and effect.kind == "rows" and self.source.is_view(TableName(effect.database, name)):
            return self.source.tables()
        return found

    def _publish(
        self, kind: SourceEventKind, database: str, table: str | None, position: LogPosition, new: TableName | None = None
    ) -> None:
        """Log an event of a table or database, and publish it.

        Args:
            kind: what happened.
            database: of the table.
            table: None if the event concerns the whole database.
            position: of the event in the log.
            new: the new name of a renamed table.
        """
        subject = f"{database}.{table}" if table else f"database {database}"
        is_captured = new is not None and self.source.patterns.match(new.database, new.table)
        target = f" is {new} now, which is {'copied' if is_captured else 'not captured'}" if new else ""
        log(
            "CRITICAL", f"{kind} at the source: {subject}{target}; nothing that has landed is removed",
            event=kind.replace(" ", "_"), database=database, table=table, position=position.sequence(),
            **({"new_database": new.database, "new_table": new.table} if new else {}),
        )  # fmt: skip
        message = source_event(self.name, self.dataset, database, table, position, kind, new)
        retry_until_stopped(lambda: self.publish_event(message), self.stop)


def _begin_of(event: Statement) -> str:
    """Return the first two bare words of a statement. Everything else may hold personal data, comments too."""
    first = takewhile(lambda word: word.key.isalpha(), islice(words(event.text, event.grammar), 2))
    return " ".join(word.key for word in first)[:_MAX_REASON] or "a statement"
