"""What a capture remembers of single tables: those in quarantine, their last known structures, and who has a base name.

Part of the ledger: its lock is shared, so that a checkpoint holds both as of one moment.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

from onefold.capture.checkpoint import Checkpoint
from onefold.capture.quarantine import KnownStructure, Quarantined, shape_of
from onefold.capture.versioned_table import table_name
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.table import Structure

MOST_KNOWN = 20_000
"""Tables whose structure the checkpoint remembers: those that changed last. It has to stay a small document."""


class IsolatedTables:
    """Every method may be called by any thread."""

    def __init__(self, lock: threading.RLock, checkpoint: Checkpoint) -> None:
        self._lock = lock
        self._held = {one.table: one for one in checkpoint.quarantine}
        self._known = dict(checkpoint.structures)
        self._saved_known: tuple[tuple[TableName, KnownStructure], ...] | None = None
        self._owners = dict(checkpoint.owners)

    def saved(self, checkpoint: Checkpoint) -> Checkpoint:
        """A checkpoint with what is remembered here. A table that has left is kept until the log is confirmed beyond."""
        place = checkpoint.reached.place
        with self._lock:
            for one in list(self._held.values()):
                if one.until and place and one.until.order <= place.order:
                    del self._held[one.table]
            if self._saved_known is None:
                self._saved_known = tuple(sorted(self._known.items()))
            return replace(
                checkpoint,
                quarantine=tuple(self._held[table] for table in sorted(self._held)),
                structures=self._saved_known,
                owners=tuple(sorted(self._owners.items())),
            )

    # Quarantine.

    @property
    def is_empty(self) -> bool:
        """Whether no rows of any table are passed over. Asked for with every event."""
        return not self._held

    def held(self, table: TableName, place: LogPosition) -> Quarantined | None:
        """Why rows of a table that are at a place of the log are not published."""
        one = self._held.get(table)
        return one if one and (one.until is None or place.order < one.until.order) else None

    def is_quarantined(self, table: TableName) -> bool:
        one = self._held.get(table)
        return one is not None and one.until is None

    def quarantined(self) -> list[Quarantined]:
        """The tables in quarantine, by name."""
        with self._lock:
            return sorted((one for one in self._held.values() if one.until is None), key=lambda one: one.table)

    def hold(self, one: Quarantined) -> None:
        with self._lock:
            self._held[one.table] = one

    def forget(self, tables: Iterable[TableName]) -> None:
        """These tables are not captured any more."""
        with self._lock:
            for table in tables:
                self._held.pop(table, None)

    # Structures.

    def changed_silently(self, table: TableName, structure: Structure, place: LogPosition) -> bool:
        """Note the structure of a table at a place.

        Returns:
            Whether it differs from the last one, with no statement between them.
        """
        shape = shape_of(structure)
        with self._lock:
            before = self._known.get(table)
            if before and (before.shape == shape or place.order < before.place.order):
                return False
            self._known.pop(table, None)  # so that it comes last
            self._known[table] = KnownStructure(shape, place)
            if len(self._known) > MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._saved_known = None
            return before is not None

    def known(self) -> list[TableName]:
        with self._lock:
            return list(self._known)

    def forget_structures(self, tables: Iterable[TableName]) -> None:
        """A statement may have changed these tables: whatever structure comes next is expected."""
        with self._lock:
            for table in tables:
                if self._known.pop(table, None):
                    self._saved_known = None

    # Base names.

    @property
    def owners(self) -> dict[str, str]:
        return self._owners

    def own(self, name: str) -> None:
        """A table is captured under its base name, from here on for as long as it exists."""
        base = table_name(name)
        with self._lock:
            if name != base:
                self._owners[base] = name
            else:
                self._owners.pop(base, None)
