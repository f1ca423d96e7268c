"""The events that the decoder yields (changed rows, statements, ends of transactions), and positions in the log."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from onefold.core.errors import InvalidInput
from onefold.mysql.binlog.rows import Row
from onefold.mysql.ddl.tokens import PLAIN, Grammar
from onefold.mysql.gtid import GtidSet
from onefold.mysql.table import Structure

_FILE = re.compile(r".*\.(\d+)")


@dataclass(frozen=True)
class LogPosition:
    """The position in the log where an event begins. `epoch` rises when the log starts again."""

    epoch: int
    file: str
    offset: int

    def sequence(self, row: int | None = None) -> str:
        """Return the position as `onefold.changelog.position` sorts it; without a row, it is below all rows of the event.

        Examples:
            >>> LogPosition(1, "bin.000010", 4).sequence(2)
            '1/A/4/2'
        """
        position = f"{self.epoch:X}/{file_number(self.file):X}/{self.offset:X}"
        return position if row is None else f"{position}/{row:X}"

    @property
    def order(self) -> tuple[int, int, int]:
        return self.epoch, file_number(self.file), self.offset


@lru_cache(maxsize=16)
def file_number(name: str) -> int:
    """Return the number of a file of the log.

    Raises:
        InvalidInput: the name is not that of a file of a log.

    Examples:
        >>> file_number("mysql-bin.000123")
        123
    """
    match = _FILE.fullmatch(name)
    if not match:
        raise InvalidInput(f"expected the name of a binary log's file, which ends in a dot and a number, got {name!r}")
    return int(match[1])


@dataclass(frozen=True)
class RowsChanged:
    """The rows of one event. An insert has no rows before, a deletion none after."""

    position: LogPosition
    timestamp: int
    """Seconds."""
    database: str
    structure: Structure
    before: tuple[Row, ...]
    after: tuple[Row, ...]
    losses: tuple[tuple[tuple[str, str], int], ...] = ()
    """The number of values that BigQuery cannot hold, by column name and kind of loss."""
    cascades_logged: bool = False
    """Whether the rows that foreign keys changed along with these are in the log themselves."""


@dataclass(frozen=True)
class UnreadableRows:
    """Rows of a table that cannot be read from the log. Events of other tables can."""

    position: LogPosition
    timestamp: int
    """Seconds."""
    database: str
    table: str
    kind: Literal["structure", "rows"]
    """Whether the description of the table cannot be read, or these rows only."""
    reason: str
    cascades_logged: bool = False
    """As of `RowsChanged`."""


@dataclass(frozen=True)
class Statement:
    """A statement that is in the log as text: DDL, TRUNCATE, and every change of a session that logs no rows."""

    position: LogPosition
    timestamp: int
    database: str
    text: str
    grammar: Grammar = PLAIN
    """How the session's settings let the text be read."""


RowEvent = RowsChanged | UnreadableRows

Decode = Callable[[], RowEvent]
"""Reads the rows of an event whose bytes are buffered."""
RolledBack = tuple[tuple[int, int], ...]
"""What was rolled back to savepoints: pairs of the offsets of the savepoint and of the rollback, in order."""


@dataclass(frozen=True)
class XaStep:
    """A step of an XA transaction. The log has its rows when it is prepared; tables show the rows when it is committed."""

    xid: str
    step: Literal["prepared", "committed", "rolled back"]


@dataclass(frozen=True)
class UnfinishedRows:
    """The rows of a transaction that did not come at its end."""

    begin: LogPosition | None
    """Where the transaction begins: reading may start there."""
    tables: frozenset[tuple[str, str]]
    """By database and table."""
    rows: tuple[Decode, ...] | None
    """None where the rows have to be read from the log a second time."""
    rolled_back: RolledBack | None
    """None where it is unknown which rows were rolled back: only new copies of the tables can show it."""
    size: int = 0
    """Bytes of the log that `rows` occupy."""


@dataclass(frozen=True)
class Committed:
    """A transaction has ended, or is prepared: reading may start again behind it.

    The transaction's rows came before this event, unless the transaction was rolled back.
    """

    position: LogPosition
    """Behind the transaction."""
    timestamp: int
    gtid: str | None = None
    two_phase: XaStep | None = None
    unfinished: UnfinishedRows | None = None
    """The rows of a prepared transaction, or of a committed one that is too large to be buffered."""


@dataclass(frozen=True)
class IncompleteTransaction:
    """A transaction without an end: the server crashed while it wrote the log. The transaction's rows are not yielded."""

    position: LogPosition
    tables: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class LogFileStarted:
    """A file of the log begins: the next one, or the one within which reading started."""

    position: LogPosition
    """The file's beginning."""
    fingerprint: str
    """When and by which server the file was begun: another file of the same name has another fingerprint."""


@dataclass(frozen=True)
class Idle:
    """The server has sent nothing for a while: all of its log has been read."""

    position: LogPosition | None = None
    """The log's end, where the server has sent it."""


LogEvent = RowEvent | Statement | Committed | IncompleteTransaction | LogFileStarted | Idle


@dataclass(frozen=True)
class Gtid:
    """A position in the log, given by the transactions that have been executed."""

    epoch: int
    executed: GtidSet
