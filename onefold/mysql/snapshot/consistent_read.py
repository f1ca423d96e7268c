"""Consistent reads: a position in the log, and a view of a table that shows every transaction before the position.

It is not enough to ask for the end of the log and then to read: a server writes a transaction to the log before tables show
the transaction. A change before the position that the read does not show would be lost for good, because the row that was
read has the greater position. What the server and the table's engine allow decides how the read begins:

- MariaDB and Percona Server tell the position of a consistent view of InnoDB, without a lock
  (https://mariadb.com/kb/en/enhancements-for-start-transaction-with-consistent-snapshot/).
- MySQL does not. The log's end is asked for, and a view of InnoDB begins when tables show all transactions before that
  position (`onefold.mysql.snapshot.commit_barrier`), without a lock. Later changes have greater positions, so that rows of
  the chunk that they change lose where rows are merged.
- If MySQL does not tell in time, rows are read with a shared lock on each row, which waits for open transactions that have
  changed the row; a table that is read as a whole is locked until the position is known and a view has begun.
- Tables of other engines are locked as long as they are read.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass

import pymysql

from onefold.core.errors import TryAgain
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName, structure_of
from onefold.mysql.connection import log_status, query, quoted
from onefold.mysql.snapshot.commit_barrier import tables_show_log
from onefold.mysql.snapshot.keyset import IndexColumn, Keyset, keyset_of
from onefold.mysql.table import Structure

_OF_TABLE = "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_TABLE = f"SELECT ENGINE, AVG_ROW_LENGTH FROM information_schema.TABLES {_OF_TABLE}"
_COLUMNS = f"SELECT COLUMN_NAME, DATA_TYPE, COLLATION_NAME FROM information_schema.COLUMNS {_OF_TABLE}"
_INDEXES = (
    f"SELECT INDEX_NAME, COLUMN_NAME, COLLATION, SUB_PART, INDEX_TYPE FROM information_schema.STATISTICS {_OF_TABLE} "
    "AND NON_UNIQUE = 0 ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX"
)
_INNODB = "InnoDB"
_LOCK_SECONDS = 20
"""A session that waits for a table's lock makes all later sessions wait."""
# ALLOW_INVALID_DATES: keys may have zero dates, and are compared with them.
_SESSION = "SET SESSION sql_mode = 'ALLOW_INVALID_DATES', net_write_timeout = 3600"
_VIEW = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
_SHARED = " LOCK IN SHARE MODE"


@dataclass(frozen=True)
class SourceTable:
    """The properties of a table that decide how it is read."""

    name: TableName
    structure: Structure
    keyset: Keyset | None
    """None if the table can only be read in one pass."""
    engine: str | None
    row_size: int
    """The server's estimate, in bytes."""

    @property
    def sql(self) -> str:
        """Return the table's name, quoted."""
        return f"{quoted(self.name.database)}.{quoted(self.name.table)}"

    @property
    def shape(self) -> str:
        """Return a digest of the structure and the key. A snapshot cannot continue with another shape."""
        return hashlib.sha256(repr((self.structure, self.keyset)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class ConsistentRead:
    """A read that has begun: it shows every transaction before its position."""

    position: LogPosition
    timestamp: int
    """The server's time, in seconds."""
    clause: str = ""
    """The locking clause that the SELECT needs."""


def describe(connection: pymysql.Connection, name: TableName) -> SourceTable | None:
    """Return a table as it is now; None where there is none."""
    of_table = (name.database, name.table)
    found = query(connection, _TABLE, of_table)
    structure = structure_of(connection, name)
    if not found or structure is None:
        return None
    engine, row_size = found[0]
    types = {column: (type_, collation) for column, type_, collation in query(connection, _COLUMNS, of_table)}
    keyset = keyset_of(structure, [IndexColumn(*row) for row in query(connection, _INDEXES, of_table)], types)
    return SourceTable(name, structure, keyset, engine, int(row_size or 0))


def begin(connection: pymysql.Connection, table: SourceTable, epoch: int) -> ConsistentRead:
    """Begin to read a table. Nobody can alter the table until `end`.

    Args:
        connection: the connection that reads.
        table: the table, as `describe` has returned it.
        epoch: the epoch of the position.

    Raises:
        TryAgain: the table was altered since it was described.
    """
    query(connection, f"{_SESSION}, lock_wait_timeout = {_LOCK_SECONDS}, innodb_lock_wait_timeout = {_LOCK_SECONDS}")
    consistent_read = _begin(connection, table, epoch)
    # A transaction that has opened a table keeps others from altering it.
    query(connection, f"SELECT 1 FROM {table.sql} LIMIT 0")
    now = describe(connection, table.name)
    if now is None or (now.shape, now.engine) != (table.shape, table.engine):
        raise TryAgain(f"{table.name} was altered just now")
    return consistent_read


def visible_end_of_log(connection: pymysql.Connection, epoch: int) -> LogPosition:
    """Return the log's end, or a position a little before: every view from now on shows all transactions before it.

    A transaction is in the log before tables show it, so the log's end may be ahead of the tables. If the server does not
    tell the position of a view, each read waits for the transactions that are being committed.
    """
    if not has_view_positions(connection):
        return _end_of_log(connection, epoch)
    query(connection, _VIEW)
    try:
        return _view_position(connection, epoch)
    finally:
        query(connection, "ROLLBACK")


def end(connection: pymysql.Connection) -> None:
    """End a read: release its view and its locks."""
    query(connection, "ROLLBACK")
    query(connection, "UNLOCK TABLES")


def second_connection(connection: pymysql.Connection) -> pymysql.Connection:
    """Open a second connection to the same server, as the same user."""
    second = copy.copy(connection)
    second._sock = None  # the copy's socket is the first connection's, which a failed `connect` would close
    second.connect()
    return second


def _begin(connection: pymysql.Connection, table: SourceTable, epoch: int) -> ConsistentRead:
    if table.engine != _INNODB:
        return _begin_locked(connection, table, epoch)
    _isolate(connection, "REPEATABLE READ")
    if has_view_positions(connection):
        query(connection, _VIEW)
        return ConsistentRead(_view_position(connection, epoch), _now(connection))
    # The position has to be known before the barrier: what the log gets afterwards may be missing in the view.
    consistent_read = ConsistentRead(_end_of_log(connection, epoch), _now(connection))
    if not tables_show_log(connection):
        return _begin_locked(connection, table, epoch)
    query(connection, _VIEW)
    return consistent_read


def _begin_locked(connection: pymysql.Connection, table: SourceTable, epoch: int) -> ConsistentRead:
    if table.engine == _INNODB and table.keyset:
        _isolate(connection, "READ COMMITTED")
        query(connection, "START TRANSACTION")
        return ConsistentRead(_end_of_log(connection, epoch), _now(connection), _SHARED)
    _isolate(connection, "REPEATABLE READ")
    query(connection, f"LOCK TABLES {table.sql} READ")
    consistent_read = ConsistentRead(_end_of_log(connection, epoch), _now(connection))
    if table.engine == _INNODB:
        query(connection, _VIEW)  # beginning a view releases the lock
    return consistent_read


def has_view_positions(connection: pymysql.Connection) -> bool:
    """Return whether the server tells the position of a consistent view."""
    return bool(query(connection, "SHOW STATUS LIKE 'binlog\\_snapshot\\_file'"))


def _view_position(connection: pymysql.Connection, epoch: int) -> LogPosition:
    status = {name.lower(): value for name, value in query(connection, "SHOW STATUS LIKE 'binlog\\_snapshot\\_%'")}
    return LogPosition(epoch, status["binlog_snapshot_file"], int(status["binlog_snapshot_position"]))


def _end_of_log(connection: pymysql.Connection, epoch: int) -> LogPosition:
    file, offset, *_ = log_status(connection)
    return LogPosition(epoch, file, int(offset))


def _isolate(connection: pymysql.Connection, level: str) -> None:
    query(connection, f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")


def _now(connection: pymysql.Connection) -> int:
    ((seconds,),) = query(connection, "SELECT UNIX_TIMESTAMP()")
    return int(seconds)
