"""The rows of one transaction of the log, held until the log tells how the transaction ended.

Servers write rows that were rolled back: MariaDB does after a temporary table or a table of MyISAM was written in the same
transaction, and follows them with `ROLLBACK`, or `ROLLBACK TO` a savepoint.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field

from onefold.mysql.binlog.events import Decode, LogPosition, RowEvent, UnfinishedRows, RolledBack

MAX_BUFFERED_BYTES = 8_000_000
"""The most bytes of the log that are held for one transaction. The rows of a larger one are read a second time."""
_MANY = 100_000
"""The most savepoints and voids of one transaction. Where more of them matter, the tables are copied."""


@dataclass(frozen=True)
class _Held:
    offset: int
    """Of the event in its file. All events of a transaction are in one file."""
    size: int
    """Bytes of the log."""
    decode: Decode


@dataclass(frozen=True)
class _Savepoint:
    name: str
    """Folded."""
    offset: int
    count: int
    """Events with rows before it."""


@dataclass
class Transaction:
    """One transaction as far as it has been read."""

    begin: LogPosition | None = None
    """Where its first event begins; None before that."""
    bound: int = MAX_BUFFERED_BYTES
    """Bytes."""
    tables: set[tuple[str, str]] = field(default_factory=set)
    """Those with rows, by database and table, also where the rows were rolled back."""
    _rows: list[_Held] = field(default_factory=list)
    _bytes: int = 0
    _skims: bool = False
    """Whether it was larger than the bound: its rows are not held any more."""
    _count: int = 0
    """Events with rows so far, rolled back or not."""
    _savepoints: list[_Savepoint] = field(default_factory=list)
    """In the order of the log."""
    _forgets: bool = False
    """Whether there were more savepoints than are kept."""
    _rolled_back: list[tuple[int, int]] = field(default_factory=list)
    _unclear: bool = False
    """Whether nobody knows which rows were rolled back."""

    def add(self, position: LogPosition, table: tuple[str, str], size: int, decode: Decode) -> None:
        """Hold the rows of an event, unless that exceeds the bound.

        Args:
            place: where the event begins.
            table: the database and the table of the rows.
            size: bytes of the log.
            decode: reads the event.
        """
        self.tables.add(table)
        self._count += 1
        self._bytes += size
        if self._bytes > self.bound:
            self._skims = True
            self._rows.clear()
        if not self._skims:
            self._rows.append(_Held(position.offset, size, decode))

    def savepoint(self, name: str, position: LogPosition) -> None:
        """Note a savepoint."""
        self._savepoints.append(_Savepoint(folded(name), position.offset, self._count))
        if len(self._savepoints) > _MANY:
            del self._savepoints[0]
            self._forgets = True

    def rollback_to(self, name: str, position: LogPosition) -> None:
        """Drop what came after a savepoint; the savepoint itself remains, the later ones are gone.

        The server has replaced a savepoint by a later one of its name, unless that one was set within a stored function: the
        log does not tell. Which of them is meant does not matter where there are no rows between them.
        """
        found = [one for one in self._savepoints if one.name == folded(name)]
        if self._forgets or not found or found[0].count != found[-1].count:
            self._unclear = True
            return
        start = found[-1].offset
        self._savepoints = [one for one in self._savepoints if one.offset <= start]
        while self._rows and self._rows[-1].offset > start:
            self._bytes -= self._rows.pop().size
        while self._rolled_back and self._rolled_back[-1][0] >= start:
            self._rolled_back.pop()
        self._rolled_back.append((start, position.offset))
        self._unclear |= len(self._rolled_back) > _MANY

    @property
    def unfinished(self) -> UnfinishedRows:
        """Return its rows, or what is needed to read them a second time."""
        rows = None if self._skims or self._unclear else tuple(held.decode for held in self._rows)
        rolled_back = None if self._unclear else tuple(self._rolled_back)
        return UnfinishedRows(self.begin, frozenset(self.tables), rows, rolled_back, self._bytes)


def folded(name: str) -> str:
    """Return a savepoint's name as servers compare it: without case and accents.

    >>> folded("É") == folded("e")
    True
    """
    letters = unicodedata.normalize("NFKD", name.rstrip(" "))
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


def is_void(offset: int, rolled_back: RolledBack) -> bool:
    """Return whether the rows of an event were rolled back to a savepoint.

    >>> is_void(7, ((1, 3), (5, 9))), is_void(4, ((1, 3), (5, 9)))
    (True, False)
    """
    at = bisect(rolled_back, (offset, 0)) - 1
    return at >= 0 and offset < rolled_back[at][1]


def decoded(rows: Iterable[Decode]) -> Iterable[RowEvent]:
    """Return the rows of each event, read one after the other."""
    return (decode() for decode in rows)
