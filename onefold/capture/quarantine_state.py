"""The state of single tables during capture: quarantine, last known structures, dropped columns, owners of base names.

This state is a part of CaptureState and shares its lock, so that a checkpoint shows both as of one moment.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

from onefold.capture.checkpoint import Checkpoint
from onefold.capture.quarantine import DroppedColumns, KnownStructure, Quarantined, shape_of
from onefold.core.names import table_name
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.table import Structure

MAX_STRUCTURES = 20_000
"""The checkpoint keeps the structures of so many tables, those that changed last: it has to stay a small document."""


class QuarantineState:
    """Tables in quarantine, known structures and owners of base names. Every method may be called by any thread."""

    def __init__(self, lock: threading.RLock, checkpoint: Checkpoint) -> None:
        self._lock = lock
        self._entries = {entry.table: entry for entry in checkpoint.quarantine}
        self._structures = dict(checkpoint.structures)
        self._sorted_structures: tuple[tuple[TableName, KnownStructure], ...] | None = None
        """Sorted once for many checkpoints: None after a change."""
        self._owners = dict(checkpoint.owners)
        self._dropped_columns = {one.table: one for one in checkpoint.dropped_columns}

    def added_to(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return a checkpoint with this state.

        A table that has left quarantine is kept until the log is confirmed beyond the position of its copy.
        """
        position = checkpoint.reached.position
        with self._lock:
            for entry in list(self._entries.values()):
                if entry.until and position and entry.until.order <= position.order:
                    del self._entries[entry.table]
            if self._sorted_structures is None:
                self._sorted_structures = tuple(sorted(self._structures.items()))
            return replace(
                checkpoint,
                quarantine=tuple(self._entries[table] for table in sorted(self._entries)),
                structures=self._sorted_structures,
                owners=tuple(sorted(self._owners.items())),
                dropped_columns=tuple(self._dropped_columns[table] for table in sorted(self._dropped_columns)),
            )

    # Quarantine.

    @property
    def is_empty(self) -> bool:
        """Return whether the rows of every table are published. Capture asks this for each event of rows."""
        return not self._entries

    def find(self, table: TableName, position: LogPosition) -> Quarantined | None:
        """Return why the rows of a table at a position of the log are not published; None if they are published."""
        entry = self._entries.get(table)
        return entry if entry and (entry.until is None or position.order < entry.until.order) else None

    def is_quarantined(self, table: TableName) -> bool:
        entry = self._entries.get(table)
        return entry is not None and entry.until is None

    def quarantined(self) -> list[Quarantined]:
        """Return the tables in quarantine, by name."""
        with self._lock:
            return sorted((entry for entry in self._entries.values() if entry.until is None), key=lambda entry: entry.table)

    def put(self, entry: Quarantined) -> None:
        with self._lock:
            self._entries[entry.table] = entry

    def forget(self, tables: Iterable[TableName]) -> None:
        """Remove tables that are not captured any more."""
        with self._lock:
            for table in tables:
                self._entries.pop(table, None)

    # Structures.

    def changed_silently(
        self, table: TableName, structure: Structure, position: LogPosition, is_logged: bool = True
    ) -> bool:
        """Note the structure of a table at a position of the log.

        Args:
            table: a captured table.
            structure: its structure as the log or a copy has it.
            position: where the table has the structure.
            is_logged: whether rows of the log have the structure, and not a copy.

        Returns:
            Whether the structure differs from the last one although the log has no statement between them.
        """
        shape = shape_of(structure)
        with self._lock:
            before = self._structures.get(table)
            if before and position.order < before.position.order:
                return False
            logged = structure if is_logged else None
            if before and before.shape == shape and (before.structure == logged or not logged):
                return False
            self._structures.pop(table, None)  # a dict keeps the order of insertion: the table moves to the end
            self._structures[table] = KnownStructure(shape, position, logged)
            if len(self._structures) > MAX_STRUCTURES:
                del self._structures[next(iter(self._structures))]
            self._sorted_structures = None
            return before is not None and before.shape != shape

    def logged_structures(self) -> dict[TableName, Structure]:
        """Return the structures that the last rows of tables in the log had."""
        with self._lock:
            return {table: known.structure for table, known in self._structures.items() if known.structure}

    def tables_with_structure(self) -> list[TableName]:
        with self._lock:
            return list(self._structures)

    def forget_structures(self, tables: Iterable[TableName]) -> None:
        """Accept any next structure of these tables, because a statement may have changed them."""
        with self._lock:
            for table in tables:
                if self._structures.pop(table, None):
                    self._sorted_structures = None

    # Dropped columns.

    def drop_columns(self, table: TableName, names: frozenset[str], position: LogPosition) -> None:
        """Note columns that were dropped without a copy: landed rows still have their values.

        Args:
            table: the table.
            names: of the columns in BigQuery, in one case.
            position: of the statement.
        """
        with self._lock:
            if names:
                self._dropped_columns[table] = DroppedColumns(table, names | self.dropped_columns(table), position)

    def dropped_columns(self, table: TableName) -> frozenset[str]:
        """Return the columns whose values landed rows still have although the table has none of them."""
        found = self._dropped_columns.get(table)
        return found.names if found else frozenset()

    def copied_from(self, table: TableName, start: LogPosition) -> None:
        """Forget the columns that were dropped before a copy began: its rows do not have them, and replace all others."""
        with self._lock:
            found = self._dropped_columns.get(table)
            if found and found.position.order < start.order:
                del self._dropped_columns[table]

    # Base names.

    @property
    def owners(self) -> dict[str, str]:
        """The source tables that are captured under a base name other than their own name, by base name."""
        return self._owners

    def own(self, name: str) -> None:
        """Reserve the base name of a table, which is captured from now on, for as long as the table exists."""
        base = table_name(name)
        with self._lock:
            if name != base:
                self._owners[base] = name
            else:
                self._owners.pop(base, None)
