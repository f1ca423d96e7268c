"""What the source's log reported of the tables of tenants, until a row in a new structure shows to which version it led."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from datetime import datetime

from onefold.changes.versions import ReportedChange
from onefold.landing.table import VersionedTable

Reported = tuple[VersionedTable, ReportedChange]

_MOST_STATEMENTS = 10
"""Statements on one table before a row of it comes that are reported together."""


class ReportedChanges:
    """Statements that altered tables, by database and table. Every method may be called by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._statements: dict[tuple[str, str], list[tuple[str, datetime]]] = {}
        self._versions: dict[tuple[str, str], str] = {}
        self._reached: list[Reported] = []

    def note(self, database: str, table: str, statement: str, changed_at: datetime) -> None:
        """Note a statement that altered a table.

        Args:
            database: the tenant.
            table: the table at the source.
            statement: its text, with `?` in the place of each literal.
            changed_at: when the source ran it.
        """
        with self._lock:
            noted = self._statements.setdefault((database, table), [])
            if len(noted) < _MOST_STATEMENTS and (statement, changed_at) not in noted:
                noted.append((statement, changed_at))

    def reach(self, database: str, table: VersionedTable, source_table: str) -> None:
        """Note to which version a tenant's table came. Without a statement, and for the version before, nothing is reported.

        A copy may show the present structure before the log comes to the statement, and the log an earlier one after that.

        Args:
            database: the tenant.
            table: the version.
            source_table: the table at the source.
        """
        key = (database, source_table)
        with self._lock:
            before = self._versions.get(key, "")
            self._versions[key] = table.version
            if before != table.version and (noted := self._statements.pop(key, None)):
                text = ";\n".join(statement for statement, _ in noted)
                self._reached.append((table, ReportedChange("capture", database, text, noted[0][1], before)))

    def reached(self) -> list[Reported]:
        """Return the versions to which statements led, and that were not published yet."""
        with self._lock:
            return self._reached[:]

    def published(self, count: int) -> None:
        """Forget the first changes, which are published."""
        with self._lock:
            del self._reached[:count]


def versions_of(
    tables: Iterable[VersionedTable], reported: Sequence[Reported]
) -> list[tuple[str, str, ReportedChange | None]]:
    """Return what messages say of new versions, and of those to which statements led; these are about the version, too."""
    named = {table for table, _ in reported}
    unreported = [(table.table, table.version, None) for table in tables if table not in named]
    return [*unreported, *((table.table, table.version, change) for table, change in reported)]
