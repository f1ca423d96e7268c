"""Places in the log from which a table shows every transaction before them.

To ask for the end of the log and then to read is not enough: a server writes a transaction to the log before its tables
show it. What the log has before the place, and the reading does not show, would be lost for good, for the row that was read
has the greater place. So, as far as the server and the table's engine go:

- MariaDB and Percona Server tell the place of a consistent view of InnoDB, without a lock.
- MySQL has no such thing. Rows of InnoDB are read with a shared lock on each, which waits for whoever has changed it and is
  not through; the place was asked for before.
- Where a whole table is to be read so, all of it is locked for as long as it takes to ask for the place and to begin a
  view; and tables of other engines for as long as they are read.
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
"""Whoever waits for a lock of a table makes all others wait behind it."""
# A date that is none, as some tables have them, is compared as what it is.
_SESSION = "SET SESSION sql_mode = 'ALLOW_INVALID_DATES', net_write_timeout = 3600"
_VIEW = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
_SHARED = " LOCK IN SHARE MODE"


@dataclass(frozen=True)
class SourceTable:
    """What has to be known of a table to read it."""

    name: TableName
    structure: Structure
    keyset: Keyset | None
    """None: it can only be read in one pass."""
    engine: str | None
    row_size: int
    """As the server estimates it, in bytes."""

    @property
    def sql(self) -> str:
        return f"{quoted(self.name.database)}.{quoted(self.name.table)}"

    @property
    def shape(self) -> str:
        """Another one where a snapshot cannot go on: the structure, the values of its types, or the key are others."""
        return hashlib.sha256(repr((self.structure, self.keyset)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class ConsistentRead:
    position: LogPosition
    timestamp: int
    """The server's time, in seconds."""
    clause: str = ""
    """What has to be added to the SELECT."""


def describe(connection: pymysql.Connection, name: TableName) -> SourceTable | None:
    """A table as it is now; None where there is none."""
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
    """From here on the table is read, and nobody can alter it, until `end`.

    Raises:
        TryAgain: it was altered since it was described.
    """
    query(connection, f"{_SESSION}, lock_wait_timeout = {_LOCK_SECONDS}, innodb_lock_wait_timeout = {_LOCK_SECONDS}")
    consistent_read = _begin(connection, table, epoch)
    # Whoever has opened a table within a transaction keeps its structure as it is.
    query(connection, f"SELECT 1 FROM {table.sql} LIMIT 0")
    now = describe(connection, table.name)
    if now is None or (now.shape, now.engine) != (table.shape, table.engine):
        raise TryAgain(f"{table.name} was altered just now")
    return consistent_read


def visible_end_of_log(connection: pymysql.Connection, epoch: int) -> LogPosition:
    """Where the log ends, or a little before: every transaction before it shows in each view from here on.

    The log is written before tables show a transaction, so the log's end may be ahead of them. Where the server does not
    tell the place of a view, rows are read under locks, for which a transaction on its way is waited for.
    """
    if not has_view_positions(connection):
        return _end_of_log(connection, epoch)
    query(connection, _VIEW)
    try:
        return _view_position(connection, epoch)
    finally:
        query(connection, "ROLLBACK")


def end(connection: pymysql.Connection) -> None:
    query(connection, "ROLLBACK")
    query(connection, "UNLOCK TABLES")


def second_connection(connection: pymysql.Connection) -> pymysql.Connection:
    """A second connection to the same server, as the same user."""
    second = copy.copy(connection)
    second._sock = None  # the first one's, which would be closed where there is no second
    second.connect()
    return second


def _begin(connection: pymysql.Connection, table: SourceTable, epoch: int) -> ConsistentRead:
    if table.engine == _INNODB and has_view_positions(connection):
        _isolate(connection, "REPEATABLE READ")
        query(connection, _VIEW)
        return ConsistentRead(_view_position(connection, epoch), _now(connection))
    if table.engine == _INNODB and table.keyset:
        _isolate(connection, "READ COMMITTED")
        query(connection, "START TRANSACTION")
        return ConsistentRead(_end_of_log(connection, epoch), _now(connection), _SHARED)
    _isolate(connection, "REPEATABLE READ")
    query(connection, f"LOCK TABLES {table.sql} READ")
    consistent_read = ConsistentRead(_end_of_log(connection, epoch), _now(connection))
    if table.engine == _INNODB:
        query(connection, _VIEW)  # which gives up the lock
    return consistent_read


def has_view_positions(connection: pymysql.Connection) -> bool:
    """Whether the server tells the place of a consistent view."""
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
