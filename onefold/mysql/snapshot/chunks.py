"""A first copy of a table, in chunks by its key, while changes stream.

A chunk's rows carry a place in the log, and the chunk was read such that it shows every transaction before that place
(`consistent_read`): so a row is right as of its place, whatever happens to it meanwhile, for a later change has a greater place.
A snapshot that breaks off goes on behind the last key; one whose table was altered meanwhile starts again.

Memory: a chunk holds at most `rows` rows, and at most 16 MB of texts and bytes beyond its last row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from typing import Any
from weakref import WeakKeyDictionary, finalize

import pymysql
from pymysql.cursors import SSCursor

from onefold.core.errors import TableRefused, TryAgain
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.binlog.rows import Row
from onefold.mysql.catalog import TableName
from onefold.mysql.connection import quoted
from onefold.mysql.grants import grant
from onefold.mysql.snapshot.consistent_read import ConsistentRead, SourceTable, second_connection, begin, describe, end
from onefold.mysql.snapshot.keyset import beyond, order_by, selected
from onefold.mysql.snapshot.select_list import read_selected, select_list
from onefold.mysql.table import INTEGERS, Structure

ROWS = 10_000
_SIZE = 16 * 2**20
_SMALL = frozenset({*INTEGERS, "float", "double", "bit", "year", "date", "datetime", "timestamp", "time"})
_GONE = (1049, 1146)
_DENIED = (1044, 1142, 1143, 1227)


@dataclass(frozen=True)
class TableSnapshot:
    """How far the snapshot of a table is: all that has to be kept to go on with it."""

    database: str
    table: str
    start: LogPosition | None = None
    """The place of its first chunk. What landed of the table before, and not since, is no longer there."""
    after: tuple[Any, ...] | None = None
    """The key of the last row, as the source has it: a date that lands as NULL, too, has to be found again."""
    rows: int = 0
    finished: bool = False
    began: int = 0
    """The server's time of the first chunk, in seconds."""
    shape: str = ""
    """A digest of the structure and the key that it was begun with."""
    limit: int = 0
    """The most rows of the next chunk: fewer after large ones."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TableSnapshot:
        start, after = value["start"], value["after"]
        return cls(**{**value, "start": start and LogPosition(**start), "after": after if after is None else tuple(after)})


@dataclass(frozen=True)
class ChunkPosition:
    """Where the rows of a chunk stand in the log."""

    required: LogPosition
    """They have to show every transaction before it."""
    latest: LogPosition
    """They stand there, or where they show every transaction before them."""


@dataclass(frozen=True)
class Chunk:
    """Some of a table's rows, in the structure that the table had then."""

    structure: Structure
    position: LogPosition
    timestamp: int
    """Seconds."""
    rows: tuple[Row, ...]
    progress: TableSnapshot
    """Behind it. Of a snapshot that had to start again, with another start."""
    losses: tuple[tuple[tuple[str, str], int], ...] = ()


def next_chunk(
    connection: pymysql.Connection,
    snapshot: TableSnapshot,
    epoch: int,
    rows: int = ROWS,
    position: ChunkPosition | None = None,
) -> Chunk | None:
    """The next rows of a table's snapshot; None where there is no such table (any more).

    A table without a key to go by is read in one pass, over a second connection that stays open between the calls with this
    one: with another connection such a snapshot starts again.

    Args:
        connection: as `server.connect` makes it; no transaction may be open.
        rows: the most rows.
        standing: where they are to stand; by default at the log's end, as far as they show it.

    Raises:
        TryAgain: the connection was lost, somebody holds a lock, the table was altered just now, or it does not show yet
            what it has to.
        TableRefused: the server refuses this table.
    """
    try:
        table = describe(connection, TableName(snapshot.database, snapshot.table))
        if table is None:
            return None
        if table.shape != snapshot.shape or (snapshot.start and snapshot.start.epoch != epoch):
            snapshot = _from_the_beginning(table)
        if table.keyset:
            return _page(connection, table, snapshot, epoch, rows, position)
        return _part_of_pass(connection, table, snapshot, epoch, rows, position)
    except pymysql.err.MySQLError as error:
        if error.args and error.args[0] in _GONE:
            return None
        raise _readable_error(connection, snapshot, error) from error


def _page(
    connection: pymysql.Connection, table: SourceTable, snapshot: TableSnapshot, epoch: int, rows: int,
    position: ChunkPosition | None,
) -> Chunk:  # fmt: skip
    """Rows by the key, in a transaction of their own."""
    limit = min(rows, snapshot.limit or max(1, _SIZE // max(1, table.row_size)))
    try:
        consistent_read = _view(connection, table, epoch, position)
        with closing(connection.cursor(SSCursor)) as cursor:
            cursor.execute(f"{_select(table, snapshot.after)} LIMIT {limit}{consistent_read.clause}")
            taken = _take(cursor, table, limit)
    finally:
        end(connection)
    # Whatever was too much for one chunk has come down the connection in vain: the next one asks for less.
    progress = replace(snapshot, limit=2 * limit if taken.fit else len(taken.rows))
    return _chunk(table, consistent_read, progress, taken, finished=taken.fit and len(taken.rows) < limit)


@dataclass(frozen=True)
class _Pass:
    """A table that is read in one go. The transaction stays open, and so nobody can alter the table meanwhile."""

    cursor: SSCursor
    consistent_read: ConsistentRead
    progress: TableSnapshot
    close: finalize[..., pymysql.Connection]
    """Which happens by itself when nobody has the connection any more that asked for the pass."""


_passes: WeakKeyDictionary[pymysql.Connection, dict[TableName, _Pass]] = WeakKeyDictionary()
"""Those that are open, by the connection that asked for them."""


def _part_of_pass(
    connection: pymysql.Connection, table: SourceTable, snapshot: TableSnapshot, epoch: int, rows: int,
    position: ChunkPosition | None,
) -> Chunk:  # fmt: skip
    passes = _passes.setdefault(connection, {})
    current = passes.pop(table.name, None)
    if current is None or current.progress != snapshot:
        if current:
            current.close()
        current = _open_pass(connection, table, epoch, position)
    with ExitStack() as stack:
        stack.callback(current.close)
        taken = _take(current.cursor, table, rows)
        finished = taken.fit and len(taken.rows) < rows
        chunk = _chunk(table, current.consistent_read, current.progress, taken, finished)
        if not finished:
            passes[table.name] = replace(current, progress=chunk.progress)
            stack.pop_all()
    return chunk


def _open_pass(connection: pymysql.Connection, table: SourceTable, epoch: int, position: ChunkPosition | None) -> _Pass:
    second = second_connection(connection)
    cursor = second.cursor(SSCursor)
    close = finalize(connection, _hang_up, second, cursor)
    with ExitStack() as stack:
        stack.callback(close)
        consistent_read = _view(second, table, epoch, position)
        cursor.execute(_select(table))
        stack.pop_all()
    return _Pass(cursor, consistent_read, _from_the_beginning(table), close)


def _view(connection: pymysql.Connection, table: SourceTable, epoch: int, position: ChunkPosition | None) -> ConsistentRead:
    consistent_read = begin(connection, table, epoch)
    if position is None:
        return consistent_read
    if consistent_read.position.order < position.required.order:  # the log tells of a change before the table shows it
        raise TryAgain(f"{table.name} does not show yet what its log tells")
    return replace(consistent_read, position=min(consistent_read.position, position.latest, key=attrgetter("order")))


def _hang_up(connection: pymysql.Connection, cursor: SSCursor) -> None:
    """Without reading the rest of the table, which the cursor would do."""
    if cursor._result:
        cursor._result.unbuffered_active = False
    if connection.open:
        connection.close()


def _from_the_beginning(table: SourceTable) -> TableSnapshot:
    return TableSnapshot(table.name.database, table.name.table, shape=table.shape)


def _select(table: SourceTable, after: Sequence[Any] | None = None) -> str:
    columns = select_list(table.structure)
    if not table.keyset:
        return f"SELECT {columns} FROM {table.sql}"
    where = "" if after is None else f" WHERE {beyond(table.keyset, table.sql, after)}"
    return (
        f"SELECT {columns}, {', '.join(selected(table.keyset))} FROM {table.sql} FORCE INDEX ({quoted(table.keyset.index)})"
        f"{where} ORDER BY {order_by(table.keyset, table.sql)}"
    )


@dataclass(frozen=True)
class _Taken:
    rows: list[tuple[Any, ...]]
    fit: bool
    """Whether there was room for more."""


def _take(cursor: SSCursor, table: SourceTable, most: int) -> _Taken:
    large = [place for place, column in enumerate(table.structure.columns) if column.type.name not in _SMALL]
    rows: list[tuple[Any, ...]] = []
    size = 0
    while len(rows) < most and size < _SIZE:
        row = cursor.fetchone()
        if row is None:
            break
        rows.append(row)
        size += sum(len(row[place]) for place in large if isinstance(row[place], str | bytes))
    return _Taken(rows, size < _SIZE)


def _chunk(
    table: SourceTable, consistent_read: ConsistentRead, before: TableSnapshot, taken: _Taken, finished: bool
) -> Chunk:
    width = len(table.structure.columns)
    read = read_selected(table.structure, (row[:width] for row in taken.rows))
    began = before.began or consistent_read.timestamp
    progress = replace(
        before,
        start=before.start or consistent_read.position,
        began=began,
        after=taken.rows[-1][width:] if table.keyset and taken.rows else before.after,
        rows=before.rows + len(taken.rows),
        finished=finished,
    )
    # A server's clock that was set back must not put a row below the snapshot's own start.
    return Chunk(
        table.structure, consistent_read.position, max(began, consistent_read.timestamp), read.rows, progress, read.losses
    )


def _readable_error(connection: pymysql.Connection, snapshot: TableSnapshot, error: pymysql.err.MySQLError) -> Exception:
    code, text = (*error.args, "")[:2]
    what = f"the copy of {snapshot.database}.{snapshot.table}"
    if code in _DENIED:
        # Rights on one table are checked before it is copied: what a copy needs besides is the right to lock it.
        on = f"{quoted(snapshot.database)}.*"
        return TableRefused(f"{what} is refused by the source: {text}", grant("SELECT, LOCK TABLES", on, connection))
    if isinstance(error, pymysql.err.OperationalError | pymysql.err.InternalError | pymysql.err.InterfaceError):
        return TryAgain(f"{what} cannot be read on: {error}")
    return TableRefused(f"{what} cannot be read: {error}", "repair the table at the source, or leave it out with --exclude")
