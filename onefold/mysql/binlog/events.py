"""What is read from a log: rows that changed, statements, ends of transactions. And places in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from onefold.core.errors import InvalidInput
from onefold.mysql.binlog.rows import Row
from onefold.mysql.ddl.tokens import PLAIN, Grammar
from onefold.mysql.gtid import GtidSet
from onefold.mysql.table import Structure

_FILE = re.compile(r".*\.(\d+)")


@dataclass(frozen=True)
class LogPosition:
    """A place in the log: an event begins here. `epoch` rises when the log starts again."""

    epoch: int
    file: str
    offset: int

    def sequence(self, row: int | None = None) -> str:
        """Hexadecimal sections, as `onefold.changelog.position` sorts them; without a row, below all rows of the place."""
        sections = (self.epoch, file_number(self.file), self.offset, *(() if row is None else (row,)))
        return "/".join(f"{section:X}" for section in sections)

    @property
    def order(self) -> tuple[int, int, int]:
        return self.epoch, file_number(self.file), self.offset


def file_number(name: str) -> int:
    """`mysql-bin.000123` is 123.

    Raises:
        InvalidInput: it is no name of a file of a log.
    """
    match = _FILE.fullmatch(name)
    if not match:
        raise InvalidInput(f"{name!r} is no file of a binary log: its name does not end in a dot and a number")
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
    """How many values of which column did not fit BigQuery, and of which kind they were."""
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
    """A statement that is in the log as text: DDL, TRUNCATE; and whatever a session wrote that logs no rows."""

    position: LogPosition
    timestamp: int
    database: str
    text: str
    grammar: Grammar = PLAIN
    """How the session's settings make the text to be read."""


RowEvent = RowsChanged | UnreadableRows

Decode = Callable[[], RowEvent]
"""Reads the rows of an event whose bytes are held."""
RolledBack = tuple[tuple[int, int], ...]
"""What was rolled back to a savepoint: offsets of the savepoint and of the rollback, in order."""


@dataclass(frozen=True)
class XaStep:
    """A step of an XA transaction. Its rows are in the log when it is prepared; tables show them when it is committed."""

    xid: str
    step: Literal["prepared", "committed", "rolled back"]


@dataclass(frozen=True)
class UnfinishedRows:
    """The rows of a transaction that its end did not hand over."""

    begin: LogPosition | None
    """Where the transaction begins: reading may start there."""
    tables: frozenset[tuple[str, str]]
    """By database and table."""
    rows: tuple[Decode, ...] | None
    """None where they have to be read from the log a second time."""
    rolled_back: RolledBack | None
    """None where it is unknown which rows were rolled back: only copies of the tables tell."""
    size: int = 0
    """Bytes of the log that `rows` hold."""


@dataclass(frozen=True)
class Committed:
    """A transaction has ended, or is prepared: reading may start again behind it.

    Its rows came before it, unless it was rolled back.
    """

    position: LogPosition
    """Behind it."""
    timestamp: int
    gtid: str | None = None
    two_phase: XaStep | None = None
    unfinished: UnfinishedRows | None = None
    """Of one that is prepared, and of a committed one that is too large to be held."""


@dataclass(frozen=True)
class IncompleteTransaction:
    """A transaction without an end: the server crashed while it wrote the log. Its rows are not handed over."""

    position: LogPosition
    tables: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class LogFileStarted:
    """A file of the log is read from here on: the next one, or the one within which reading started."""

    position: LogPosition
    """The file's beginning."""
    fingerprint: str
    """When and by which server it was begun: another file of the same name has another one."""


@dataclass(frozen=True)
class Idle:
    """The server had nothing to say for a while: all of its log has been read."""

    position: LogPosition | None = None
    """Its end, where the server told it."""


LogEvent = RowEvent | Statement | Committed | IncompleteTransaction | LogFileStarted | Idle


@dataclass(frozen=True)
class Gtid:
    """A place in the log by what has been executed."""

    epoch: int
    executed: GtidSet
