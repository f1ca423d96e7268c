"""The structures of tables at the position up to which the log has been read: they decide whether an ALTER needs a copy.

A structure is known from the last rows of the log, which the checkpoint keeps; from the check at the start of the process;
and from statements since. The check shows the tables as they are at the end of the log, so it counts only for statements
behind that end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onefold.capture.alterations import KnownTable, after
from onefold.mysql.binlog.events import LogPosition, RowsChanged
from onefold.mysql.catalog import TableName
from onefold.mysql.ddl.alterations import Alteration
from onefold.mysql.ddl.effects import TableEffect
from onefold.mysql.table import Structure


class KnownTables:
    """What is known of tables. Only the thread that reads the log uses it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], KnownTable] = {}
        self._altered: set[tuple[str, str]] = set()
        """Tables without rows in the log since their last ALTER."""
        self._present: dict[TableName, KnownTable] = {}
        self._end: LogPosition | None = None

    def start(
        self, logged: Mapping[TableName, Structure], present: Mapping[TableName, KnownTable], end: LogPosition
    ) -> None:
        """Note what is known at the start of the process.

        Args:
            logged: the structures that the last rows of tables had, from the checkpoint.
            present: the tables that exist.
            end: an end of the log, asked for after the tables were read.
        """
        self._known = {(name.database, name.table): KnownTable(structure) for name, structure in logged.items()}
        self._present, self._end = dict(present), end

    def clear(self) -> None:
        """Forget all tables: another log begins, which may not have every ALTER in between."""
        self._known, self._present = {}, {}
        self._altered.clear()

    def read(self, event: RowsChanged) -> bool:
        """Note the structure of rows in the log, and return whether it contradicts the statements since the last rows."""
        key = (event.database, event.structure.table)
        known = self._known.get(key)
        if known and known.structure == event.structure:
            self._altered.discard(key)
            return False
        is_wrong = key in self._altered and known is not None and known.contradicts(event.structure)
        self._altered.discard(key)
        self._known[key] = KnownTable(event.structure, known.auto_increment if known else frozenset())
        return is_wrong

    def before(self, table: TableName, position: LogPosition) -> KnownTable | None:
        """Return a table as it is before a position of the log; None where that is not known."""
        known = self._known.get((table.database, table.table))
        present = self._present.get(table) if self._is_behind_start(position) else None
        if known and present:
            return replace(known, auto_increment=known.auto_increment | present.auto_increment)
        return known or present

    def alter(self, table: TableName, alterations: tuple[Alteration, ...], before: KnownTable) -> None:
        """Note an ALTER that needs no copy."""
        key = (table.database, table.table)
        self._known[key] = after(alterations, before)
        self._altered.add(key)
        self._present.pop(table, None)

    def forget(self, effect: TableEffect) -> None:
        """Forget the tables of an effect that may have given them any structure."""
        for database, table in [key for key in self._known if _is_about(effect, *key)]:
            del self._known[(database, table)]
            self._altered.discard((database, table))
        for name in [name for name in self._present if _is_about(effect, name.database, name.table)]:
            del self._present[name]

    def _is_behind_start(self, position: LogPosition) -> bool:
        end = self._end
        return end is not None and position.epoch == end.epoch and position.order >= end.order


def _is_about(effect: TableEffect, database: str, table: str) -> bool:
    of_database = not effect.database or effect.database.casefold() == database.casefold()
    return of_database and (effect.table is None or effect.table.casefold() == table.casefold())
