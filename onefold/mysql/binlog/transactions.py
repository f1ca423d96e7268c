"""The rows of one transaction of the log, buffered until the log says how the transaction ended.

A log contains rows that were rolled back: MariaDB writes them if a temporary table or a table of MyISAM was written in the
same transaction, and then writes `ROLLBACK`, or `ROLLBACK TO` a savepoint.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field

from onefold.mysql.binlog.events import Decode, LogPosition, RolledBack, RowEvent, UnfinishedRows

MAX_BUFFERED_BYTES = 8_000_000
"""The most bytes of the log that are buffered for one transaction. The rows of a larger one are read a second time."""
_MAX_SAVEPOINTS = 100_000
"""The most savepoints, and rollbacks to savepoints, of one transaction. Where more of them matter, the tables are copied."""


@dataclass(frozen=True)
class _BufferedRows:
    offset: int
    """The event's offset in its file. All events of a transaction are in one file."""
    size: int
    """Bytes of the log."""
    decode: Decode


@dataclass(frozen=True)
class _Savepoint:
    name: str
    """As `folded` returns it."""
    offset: int
    count: int
    """Events with rows before the savepoint."""


@dataclass
class Transaction:
    """One transaction as far as it has been read."""

    begin: LogPosition | None = None
    """Where the first event begins; None before it is read."""
    bound: int = MAX_BUFFERED_BYTES
    """Bytes."""
    tables: set[tuple[str, str]] = field(default_factory=set)
    """Database and table of all rows, including rows that were rolled back."""
    _rows: list[_BufferedRows] = field(default_factory=list)
    _bytes: int = 0
    _exceeds_bound: bool = False
    """Whether the transaction exceeds the bound: its rows are not buffered any more."""
    _count: int = 0
    """Events with rows so far, rolled back or not."""
    _savepoints: list[_Savepoint] = field(default_factory=list)
    """In the order of the log."""
    _has_dropped_savepoints: bool = False
    """Whether there were more than `_MAX_SAVEPOINTS`."""
    _rolled_back: list[tuple[int, int]] = field(default_factory=list)
    _is_ambiguous: bool = False
    """Whether it is unknown which rows were rolled back."""

    def add(self, position: LogPosition, table: tuple[str, str], size: int, decode: Decode) -> None:
        """Buffer the rows of an event, unless the transaction exceeds the bound.

        Args:
            position: where the event begins.
            table: the database and the table of the rows.
            size: bytes of the log.
            decode: reads the event.
        """
        self.tables.add(table)
        self._count += 1
        self._bytes += size
        if self._bytes > self.bound:
            self._exceeds_bound = True
            self._rows.clear()
        if not self._exceeds_bound:
            self._rows.append(_BufferedRows(position.offset, size, decode))

    def savepoint(self, name: str, position: LogPosition) -> None:
        """Note a savepoint."""
        self._savepoints.append(_Savepoint(folded(name), position.offset, self._count))
        if len(self._savepoints) > _MAX_SAVEPOINTS:
            del self._savepoints[0]
            self._has_dropped_savepoints = True

    def rollback_to(self, name: str, position: LogPosition) -> None:
        """Drop the rows behind a savepoint. The savepoint itself remains, later ones do not.

        The server replaces a savepoint by a later one of the same name, unless the later one was set within a stored
        function, which the log does not tell. If there are no rows between the two, it does not matter which of them is
        meant.
        """
        candidates = [one for one in self._savepoints if one.name == folded(name)]
        if self._has_dropped_savepoints or not candidates or candidates[0].count != candidates[-1].count:
            self._is_ambiguous = True
            return
        start = candidates[-1].offset
        self._savepoints = [one for one in self._savepoints if one.offset <= start]
        while self._rows and self._rows[-1].offset > start:
            self._bytes -= self._rows.pop().size
        while self._rolled_back and self._rolled_back[-1][0] >= start:
            self._rolled_back.pop()
        self._rolled_back.append((start, position.offset))
        self._is_ambiguous |= len(self._rolled_back) > _MAX_SAVEPOINTS

    @property
    def rows(self) -> tuple[Decode, ...] | None:
        """Return the functions that read the rows; None where they have to be read from the log a second time."""
        return None if self._exceeds_bound or self._is_ambiguous else tuple([buffered.decode for buffered in self._rows])

    @property
    def unfinished(self) -> UnfinishedRows:
        """Return the rows, or the information needed to read them a second time."""
        rolled_back = None if self._is_ambiguous else tuple(self._rolled_back)
        return UnfinishedRows(self.begin, frozenset(self.tables), self.rows, rolled_back, self._bytes)


def folded(name: str) -> str:
    """Return a savepoint's name as servers compare it: without case and accents.

    Examples:
        >>> folded("É") == folded("e")
        True
    """
    letters = unicodedata.normalize("NFKD", name.rstrip(" "))
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


def is_rolled_back(offset: int, rolled_back: RolledBack) -> bool:
    """Return whether the rows of an event were rolled back to a savepoint.

    Examples:
        >>> is_rolled_back(7, ((1, 3), (5, 9))), is_rolled_back(4, ((1, 3), (5, 9)))
        (True, False)
    """
    at = bisect(rolled_back, (offset, 0)) - 1
    return at >= 0 and offset < rolled_back[at][1]


def decoded(rows: Iterable[Decode]) -> Iterable[RowEvent]:
    """Return the rows of each event. Each event is decoded when it is asked for, to keep one in memory."""
    return (decode() for decode in rows)
