"""The binary log of a server as rows, statements and ends of transactions.

A log is asked for by a command of the replication protocol, from a file and an offset or behind executed transactions.
Sources: "COM_BINLOG_DUMP", https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_binlog_dump.html;
"Replica Registration", https://mariadb.com/kb/en/5-slave-registration/.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Mapping
from contextlib import closing

import pymysql

from onefold.core.errors import NotFound, Rejected, TryAgain
from onefold.mysql.binlog.decoder import LogDecoder
from onefold.mysql.binlog.events import Gtid, LogEvent, LogPosition, RolledBack
from onefold.mysql.binlog.log_socket import LogSocket
from onefold.mysql.binlog.raw_event import raw_event
from onefold.mysql.binlog.transactions import MAX_BUFFERED_BYTES
from onefold.mysql.connection import Address, connect, dialect, lost_on, server_reason
from onefold.mysql.grants import grantee
from onefold.mysql.gtid_encoding import dump_by_gtids
from onefold.mysql.table_filter import TableFilter

# Errors of the server: https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
_NO_SUCH_POSITION = 1236
_DENIED = (1044, 1045, 1142, 1227)
_SESSION = (
    # A server sends checksums as its log has them only to a reader that says that it knows them.
    "SET @master_binlog_checksum = @@GLOBAL.binlog_checksum",
    "SET @master_heartbeat_period = 1000000000",  # nanoseconds of silence
    "SET @mariadb_slave_capability = 4",  # GTIDs as they are, and not as events that older replicas know
)
_SAME_ID = "same server_uuid/server_id"
_DUMP = 0x12
_NON_BLOCKING = 1
_FIRST_OFFSET = 4
_LARGEST_OFFSET = (1 << 32) - 1


def follow(
    address: Address,
    start: LogPosition | Gtid,
    table_filter: TableFilter,
    server_id: int,
    blocking: bool = True,
    committed: Mapping[LogPosition, RolledBack] | None = None,
    max_buffered_bytes: int = MAX_BUFFERED_BYTES,
) -> Generator[LogEvent]:
    """Yield the events of the log from a position on.

    Args:
        address: the server and the user.
        start: the position, or the transactions behind which to start.
        table_filter: the tables whose rows are yielded.
        server_id: a number that no other replica of the server has.
        blocking: wait for new events at the log's end; otherwise stop there.
        committed: transactions that are known to be committed, by where they begin, with what was rolled back in them.
        max_buffered_bytes: the most bytes of the log that are buffered for one transaction.

    Raises:
        NotFound: the log does not have the position (any more), or the server lacks executed transactions.
        TryAgain: the connection was lost. Check the server before starting again: another one may answer.
        InvalidInput: an event cannot be read.
        Rejected: the log is written in a way that cannot be read, or the user lacks a privilege.
    """
    user = "..."
    try:
        with connect(address) as connection:
            user = grantee(connection)
            decoder = LogDecoder(dialect(connection), table_filter, start.epoch, committed, max_buffered_bytes)
        with closing(LogSocket(address.settings())) as log:
            request = _request(log.connection, start, server_id, blocking, decoder.dialect.mariadb)
            for packet in log.packets(request):
                yield from decoder.read(raw_event(packet))
    except pymysql.err.MySQLError as error:
        readable_error = _readable_error(error, user)
        raise readable_error from error


def _request(
    connection: pymysql.Connection, start: LogPosition | Gtid, server_id: int, blocking: bool, mariadb: bool
) -> bytes:
    """Prepare a connection, and return the command that asks for the log on it.

    This very connection is asked for the server's transactions: another connection may lead to another server.

    Raises:
        NotFound: the server lacks some of the executed transactions.
    """
    with connection.cursor() as cursor:
        for statement in _SESSION:
            cursor.execute(statement)
        if isinstance(start, LogPosition):
            return _dump(start.file, start.offset, server_id, blocking)
        if lost := lost_on(connection, start.executed):
            raise NotFound(f"the source does not have transactions behind which its log was to be read: {lost}")
        if not mariadb:
            return dump_by_gtids(start.executed, server_id, blocking)
        cursor.execute("SET @slave_connect_state = %s", (str(start.executed),))
        cursor.execute("SET @slave_gtid_strict_mode = 1")
        cursor.execute("SET @slave_gtid_ignore_duplicates = 0")
    return _dump("", _FIRST_OFFSET, server_id, blocking)


def _dump(file: str, offset: int, server_id: int, blocking: bool) -> bytes:
    """Return the command that asks for the log from a file and an offset.

    Raises:
        Rejected: the offset is beyond the 32 bits of the command.
    """
    if offset > _LARGEST_OFFSET:
        raise Rejected(f"{file}: a server sends no log from beyond 4 GB, {offset:,}: start at {file}:4, or by GTIDs")
    flags = 0 if blocking else _NON_BLOCKING
    return struct.pack("<BIHI", _DUMP, offset, flags, server_id) + file.encode()


def _readable_error(error: pymysql.err.MySQLError, user: str) -> Exception:
    code, text = (*error.args, "")[:2]
    if code == _NO_SUCH_POSITION and _SAME_ID in str(text):  # MySQL's; MariaDB has an error of its own
        return TryAgain(f"another reader of the source's log has the same --server-id: give one of them another ({text})")
    if code == _NO_SUCH_POSITION:
        return NotFound(f"the source's log does not have the position where reading was to start: {text}")
    if code in _DENIED:
        return Rejected(
            f"the source refuses its log: {text}; run: GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO {user}"
        )
    return TryAgain(f"the source's log cannot be read: {server_reason(error)}")
