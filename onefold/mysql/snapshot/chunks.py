"""Copies of tables, in chunks by key, while changes stream.

A chunk's rows carry a position in the log, and the chunk shows every transaction before the position
(`onefold.mysql.snapshot.consistent_read`). So a row is right as of its position, and a later change of the row has a greater
position. A snapshot that was interrupted continues behind the last key; a snapshot of a table that was altered starts again.

Memory: a chunk has at most `rows` rows, and at most 16 MB of texts and bytes besides its last row.
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
from onefold.mysql.connection import quoted, server_reason
from onefold.mysql.grants import grant
from onefold.mysql.snapshot.consistent_read import ConsistentRead, SourceTable, begin, describe, end, second_connection
from onefold.mysql.snapshot.keyset import after_condition, key_expressions, order_by
from onefold.mysql.snapshot.select_list import read_selected, select_list
from onefold.mysql.table import INTEGERS, Structure

ROWS = 10_000
_MAX_BYTES = 16 * 2**20
# Types whose values have a few bytes: only values of other types count for the size of a chunk.
_SMALL = frozenset({*INTEGERS, "float", "double", "bit", "year", "date", "datetime", "timestamp", "time"})
_DOES_NOT_EXIST = (1049, 1146)
_DENIED = (1044, 1142, 1143, 1227)


@dataclass(frozen=True)
class TableSnapshot:
    """The progress of a table's snapshot: all that a checkpoint needs to continue the snapshot."""

    database: str
    table: str
    start: LogPosition | None = None
    """The position of the first chunk. Keys that landed before it, and not since, do not exist any more."""
    after: tuple[Any, ...] | None = None
    """The key of the last row, as the source has it: a date that lands as NULL has to be found again, too."""
    rows: int = 0
    finished: bool = False
    began: int = 0
    """The server's time of the first chunk, in seconds."""
    shape: str = ""
    """A digest of the structure and the key with which the snapshot began."""
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
    """The bounds of a chunk's position in the log."""

    required: LogPosition
    """The chunk has to show every transaction before this position."""
    latest: LogPosition
    """The greatest position that the chunk gets, also if it shows later transactions."""


@dataclass(frozen=True)
class Chunk:
    """Some of a table's rows, in the structure that the table had then."""

    structure: Structure
    position: LogPosition
    timestamp: int
    """Seconds."""
    rows: tuple[Row, ...]
    progress: TableSnapshot
    """The progress behind the chunk. If the snapshot had to start again, it has another start."""
    losses: tuple[tuple[tuple[str, str], int], ...] = ()


def next_chunk(
    connection: pymysql.Connection,
    snapshot: TableSnapshot,
    epoch: int,
    rows: int = ROWS,
    bounds: ChunkPosition | None = None,
) -> Chunk | None:
    """Return the next rows of a table's snapshot; None where the table does not exist (any more).

    A table without a suitable key is read in one pass, over a second connection that stays open between calls with the same
    first connection. With another first connection such a snapshot starts again.

    Args:
        connection: as `onefold.mysql.connection.connect` opens it, without an open transaction.
        snapshot: the progress so far.
        epoch: the epoch of the chunk's position.
        rows: the most rows.
        bounds: the bounds of the chunk's position; by default the log's end, as far as the chunk shows it.

    Raises:
        TryAgain: the connection was lost, another session holds a lock, the table was altered just now, or it does not
            show yet all transactions that it has to.
        TableRefused: the server refuses this table.
    """
    try:
        table = describe(connection, TableName(snapshot.database, snapshot.table))
        if table is None:
            return None
        if table.shape != snapshot.shape or (snapshot.start and snapshot.start.epoch != epoch):
            snapshot = _new_snapshot(table)
        if table.keyset:
            return _page(connection, table, snapshot, epoch, rows, bounds)
        return _part_of_pass(connection, table, snapshot, epoch, rows, bounds)
    except pymysql.err.MySQLError as error:
        if error.args and error.args[0] in _DOES_NOT_EXIST:
            return None
        readable_error = _readable_error(connection, snapshot, error)
        raise readable_error from error


def _page(
    connection: pymysql.Connection, table: SourceTable, snapshot: TableSnapshot, epoch: int, rows: int,
    bounds: ChunkPosition | None,
) -> Chunk:  # fmt: skip
    """Read the next rows in the order of the key, in a transaction of their own."""
    limit = min(rows, snapshot.limit or max(1, _MAX_BYTES // max(1, table.row_size)))
    try:
        consistent_read = _begin_read(connection, table, epoch, bounds)
        with closing(connection.cursor(SSCursor)) as cursor:
            cursor.execute(f"{_select(table, snapshot.after)} LIMIT {limit}{consistent_read.clause}")
            taken = _take(cursor, table, limit)
    finally:
        end(connection)
    # Rows beyond the chunk's size were sent by the server for nothing: the next chunk asks for fewer.
    progress = replace(snapshot, limit=2 * limit if taken.fit else len(taken.rows))
    return _chunk(table, consistent_read, progress, taken, finished=taken.fit and len(taken.rows) < limit)


@dataclass(frozen=True)
class _Pass:
    """A table that is read by one query. The transaction stays open, so nobody can alter the table meanwhile."""

    cursor: SSCursor
    consistent_read: ConsistentRead
    progress: TableSnapshot
    close: finalize[..., pymysql.Connection]
    """Closes the pass, at the latest when the connection that asked for the pass is garbage."""


_passes: WeakKeyDictionary[pymysql.Connection, dict[TableName, _Pass]] = WeakKeyDictionary()
"""The open passes, by the connection that asked for them."""


def _part_of_pass(
    connection: pymysql.Connection, table: SourceTable, snapshot: TableSnapshot, epoch: int, rows: int,
    bounds: ChunkPosition | None,
) -> Chunk:  # fmt: skip
    passes = _passes.setdefault(connection, {})
    current = passes.pop(table.name, None)
    if current is None or current.progress != snapshot:
        if current:
            current.close()
        current = _open_pass(connection, table, epoch, bounds)
    with ExitStack() as stack:
        stack.callback(current.close)
        taken = _take(current.cursor, table, rows)
        finished = taken.fit and len(taken.rows) < rows
        chunk = _chunk(table, current.consistent_read, current.progress, taken, finished)
        if not finished:
            passes[table.name] = replace(current, progress=chunk.progress)
            stack.pop_all()
    return chunk


def _open_pass(connection: pymysql.Connection, table: SourceTable, epoch: int, bounds: ChunkPosition | None) -> _Pass:
    second = second_connection(connection)
    cursor = second.cursor(SSCursor)
    close = finalize(connection, _close_at_once, second, cursor)
    with ExitStack() as stack:
        stack.callback(close)
        consistent_read = _begin_read(second, table, epoch, bounds)
        cursor.execute(_select(table))
        stack.pop_all()
    return _Pass(cursor, consistent_read, _new_snapshot(table), close)


def _begin_read(
    connection: pymysql.Connection, table: SourceTable, epoch: int, bounds: ChunkPosition | None
) -> ConsistentRead:
    consistent_read = begin(connection, table, epoch)
    if bounds is None:
        return consistent_read
    if consistent_read.position.order < bounds.required.order:  # a change is in the log before the table shows it
        raise TryAgain(f"{table.name} does not show yet what its log tells")
    return replace(consistent_read, position=min(consistent_read.position, bounds.latest, key=attrgetter("order")))


def _close_at_once(connection: pymysql.Connection, cursor: SSCursor) -> None:
    """Close a connection without reading the rest of the table, which closing the cursor would do."""
    if cursor._result:
        cursor._result.unbuffered_active = False
    if connection.open:
        connection.close()


def _new_snapshot(table: SourceTable) -> TableSnapshot:
    return TableSnapshot(table.name.database, table.name.table, shape=table.shape)


def _select(table: SourceTable, after: Sequence[Any] | None = None) -> str:
    columns = select_list(table.structure)
    if not table.keyset:
        return f"SELECT {columns} FROM {table.sql}"
    where = "" if after is None else f" WHERE {after_condition(table.keyset, table.sql, after)}"
    key = ", ".join(key_expressions(table.keyset))
    # The optimizer may prefer to sort the whole table for each chunk.
    return (
        f"SELECT {columns}, {key} FROM {table.sql} FORCE INDEX ({quoted(table.keyset.index)})"
        f"{where} ORDER BY {order_by(table.keyset, table.sql)}"
    )


@dataclass(frozen=True)
class _Taken:
    rows: list[tuple[Any, ...]]
    fit: bool
    """Whether the size limit left room for more rows."""


def _take(cursor: SSCursor, table: SourceTable, most: int) -> _Taken:
    large = [index for index, column in enumerate(table.structure.columns) if column.type.name not in _SMALL]
    rows: list[tuple[Any, ...]] = []
    size = 0
    while len(rows) < most and size < _MAX_BYTES:
        row = cursor.fetchone()
        if row is None:
            break
        rows.append(row)
        size += sum(len(row[index]) for index in large if isinstance(row[index], str | bytes))
    return _Taken(rows, size < _MAX_BYTES)


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
    # If the server's clock was set back, a row must not come before the snapshot's own start.
    return Chunk(
        table.structure, consistent_read.position, max(began, consistent_read.timestamp), read.rows, progress, read.losses
    )


def _readable_error(connection: pymysql.Connection, snapshot: TableSnapshot, error: pymysql.err.MySQLError) -> Exception:
    code, text = (*error.args, "")[:2]
    what = f"the copy of {snapshot.database}.{snapshot.table}"
    if code in _DENIED:
        # SELECT on the table was checked before the copy began, so the missing privilege is LOCK TABLES.
        on = f"{quoted(snapshot.database)}.*"
        return TableRefused(f"{what} is refused by the source: {text}", grant("SELECT, LOCK TABLES", on, connection))
    if isinstance(error, pymysql.err.OperationalError | pymysql.err.InternalError | pymysql.err.InterfaceError):
        return TryAgain(f"{what} cannot be read on: {server_reason(error)}")
    return TableRefused(
        f"{what} cannot be read: {server_reason(error)}", "repair the table at the source, or leave it out with --exclude"
    )
