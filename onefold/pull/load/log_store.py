"""Reads and appends the log of loads of one dataset."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from onefold.batches.source_arguments import Window
from onefold.core.errors import NotFound, Rejected, TryAgain
from onefold.core.names import TableId
from onefold.ports.rows import Row, RowWriter
from onefold.ports.warehouse import BaseWarehouse
from onefold.pull.load.log_queries import begun_query, history_query, replacements_query, state_query
from onefold.pull.load.log_state import Replacement, is_loaded, load_state, read_replacements, read_states, with_history
from onefold.pull.load.run_log import LOG_COLUMNS, LOG_TABLE, LOGGED_AT
from onefold.pull.read.plan import LoadState

RECENT = timedelta(days=8)
"""The part of the log that is read first; a table that is not in it is looked for in the whole log."""
HISTORY = timedelta(days=92)
"""How far back it is known which keys a day has, and which days were replaced."""
RESUMED = timedelta(days=2)
"""How far back a first pull may have begun: it is read on during one day only."""
REPLACING = timedelta(days=1)
"""Loads that began earlier replace nothing any more: a load job ends within six hours."""


class LoadLog:
    """The log of one dataset, as it was when the first table asked, and loads that replace rows as they are now."""

    def __init__(self, warehouse: BaseWarehouse, rows: RowWriter, dataset: str) -> None:
        self.id = TableId(warehouse.project, dataset, LOG_TABLE)
        self._warehouse = warehouse
        self._rows = rows
        self._recent: dict[str, list[Mapping[str, Any]]] | None = None
        self._whole: dict[str, list[Mapping[str, Any]]] | None = None
        self._lock = threading.Lock()

    def state_of(self, table: str, window: Window, now: datetime) -> LoadState:
        """Return what the log says about a table; nothing where the log does not exist.

        Args:
            table: the base name.
            window: of the pull that asks.
            now: the present time.
        """
        found = self._rows_of(table, now)
        state = load_state(found, window)
        if window != "day" or state.version is None:
            return state
        return with_history(state, self._fetch(history_query(self.id, table, now - HISTORY)))

    def _rows_of(self, table: str, now: datetime) -> list[Mapping[str, Any]]:
        """Return the rows of a table. The threads of a pull wait for the first of them, which reads the log for all."""
        with self._lock:
            if self._recent is None:
                self._add_columns()
                self._recent = read_states(self._fetch(state_query(self.id, now - RECENT)))
            found = self._recent.get(table, [])
            if is_loaded(found):
                return found
            if self._whole is None:
                self._whole = read_states(self._fetch(state_query(self.id, None)))
            return self._whole.get(table, [])

    def _add_columns(self) -> None:
        """Add the columns that the log of an older release lacks, so that its rows can be asked for them."""
        known = {column.name for column in self._warehouse.read_columns(self.id) or LOG_COLUMNS}
        if lacking := [column for column in LOG_COLUMNS if column.name not in known]:
            self._warehouse.add_columns(self.id, lacking)

    def replacements(self, table: str, now: datetime) -> tuple[Replacement, ...]:
        """Return the loads that replace rows of a table, read from the log as it is now.

        Args:
            table: the base name.
            now: the present time.
        """
        return read_replacements(self._fetch(replacements_query(self.id, table, now - REPLACING)))

    def begun_at(self, load_id: str, now: datetime) -> datetime | None:
        """Return when a load began first, of any process; None where the log does not tell.

        Args:
            load_id: its name.
            now: the present time.
        """
        found: list[datetime | None] = [row["begun_at"] for row in self._fetch(begun_query(self.id, load_id, now - RESUMED))]
        return found[0] if found else None

    def append(self, row: Row) -> None:
        """Append a row; the log is made where it does not exist.

        Raises:
            TryAgain: an error that may pass.
            Rejected: the log of this name has other columns.
        """
        writer = self._rows.open(self.id)
        if writer is None:
            self._warehouse.create_table(self.id, LOG_COLUMNS, partition=LOGGED_AT)
            writer = self._rows.open(self.id)
        if writer is None:
            raise TryAgain(f"{self.id} was created, but cannot be read yet: try again in a minute")
        if problems := writer.append([row]):
            raise Rejected(
                f"{self.id}: expected the log of loads, got a table that refuses its rows ({problems[0]}): rename it"
            )

    def _fetch(self, sql: str) -> list[dict[str, Any]]:
        try:
            return self._warehouse.fetch(sql)
        except NotFound:
            return []
