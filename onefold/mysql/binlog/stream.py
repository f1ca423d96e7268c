"""The adapter over the library `mysql-replication`: a server's binary log as rows, statements and ends of transactions.

The library connects and splits the log into events. `onefold.mysql.binlog.decoder` decodes the bodies of the events, because
the library loses or refuses values (docs/explanation/capture-correctness.md, "Known errors of servers and of the library").
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.protocol import MysqlPacket
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication import event as other_events

from onefold.core.errors import NotFound, Rejected, TryAgain
from onefold.mysql.binlog.decoder import LogDecoder
from onefold.mysql.binlog.events import Gtid, LogEvent, LogPosition, RolledBack
from onefold.mysql.binlog.raw_event import (
    DELETE_ROWS,
    EXECUTE_LOAD_QUERY,
    PARTIAL_UPDATE_ROWS,
    QUERY,
    TABLE_MAP,
    UPDATE_ROWS,
    WRITE_ROWS,
    RawEvent,
)
from onefold.mysql.binlog.transactions import MAX_BUFFERED_BYTES
from onefold.mysql.connection import Address, connect, dialect, lost_on
from onefold.mysql.grants import grantee
from onefold.mysql.gtid import GtidSet
from onefold.mysql.gtid_encoding import dump_by_gtids
from onefold.mysql.table_filter import TableFilter

# Errors of the server: https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
_NO_SUCH_POSITION = 1236
_DENIED = (1044, 1045, 1142, 1227)
_HEARTBEAT_SECONDS = 1
_CONNECTIONS = 2
"""The connections that one reader opens: one for the log, and one for queries."""
_HIDDEN_TYPES = frozenset({
    QUERY, EXECUTE_LOAD_QUERY, TABLE_MAP, *WRITE_ROWS, *UPDATE_ROWS, *DELETE_ROWS, PARTIAL_UPDATE_ROWS,
})  # fmt: skip
"""Statements, table maps and rows: all events that the library would parse itself."""
_DUMP = struct.pack("<IB", 11, 0x12)
"""How the library's request for a file without a name begins: the packet's length, and COM_BINLOG_DUMP.

Source: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_binlog_dump.html
"""
_FIRST_OFFSET = 4
_TYPE_OFFSET, _HEADER, _TYPE_BYTE = 64, 20, 5
"""`_TYPE_OFFSET` is added to the type of a hidden event, its byte `_TYPE_BYTE`: the library does not parse unknown types."""
_EVENTS = (
    other_events.FormatDescriptionEvent, other_events.RotateEvent, other_events.XidEvent, other_events.XAPrepareEvent,
    other_events.GtidEvent, other_events.MariadbGtidEvent, other_events.HeartbeatLogEvent, other_events.NotImplementedEvent,
)  # fmt: skip
"""The library skips all other events: comments on row events, and settings of statements."""


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
        with closing(_reader(address, start, server_id, blocking, decoder.dialect.mariadb)) as reader:
            for event in reader:
                yield from decoder.read(_raw(event))
    except pymysql.err.MySQLError as error:
        readable_error = _readable_error(error, user)
        raise readable_error from error


def _reader(
    address: Address, start: LogPosition | Gtid, server_id: int, blocking: bool, mariadb: bool
) -> BinLogStreamReader:
    return BinLogStreamReader(
        address.settings(),
        server_id,
        blocking=blocking,
        resume_stream=True,
        **_from(start, mariadb),
        only_events=_EVENTS,
        filter_non_implemented_events=False,
        slave_heartbeat=_HEARTBEAT_SECONDS,
        pymysql_wrapper=_Connections(start, server_id, blocking, mariadb),
        enable_logging=False,
    )


def _from(start: LogPosition | Gtid, mariadb: bool) -> dict[str, Any]:
    if isinstance(start, Gtid) and mariadb:
        return {"auto_position": str(start.executed), "is_mariadb": True}
    if isinstance(start, Gtid):
        return {"log_file": "", "log_pos": _FIRST_OFFSET}  # `_LogConnection.dump` is sent instead
    # With `is_mariadb` the library would ignore file and position, and read the log from its very beginning.
    return {"log_file": start.file, "log_pos": start.offset}


class _LogConnection(pymysql.connections.Connection):  # type: ignore[misc] # it has no types
    """A connection that hides events from the library's parser, which would stop at an unknown column or setting."""

    dump: bytes | None = None
    """The packet that replaces the library's request for file and position: the library cannot write tagged GTIDs."""

    def _write_bytes(self, data: bytes) -> None:
        super()._write_bytes(self.dump if self.dump and data.startswith(_DUMP) else data)

    def _read_packet(self, packet_type: type[MysqlPacket] = MysqlPacket) -> MysqlPacket:
        packet = super()._read_packet(packet_type)
        data = packet.get_all_data()
        # Results of queries come down the same connection: a packet is an event if its header has the packet's own size.
        is_event = len(data) >= _HEADER and int.from_bytes(data[10:14], "little") == len(data) - 1
        if not is_event or data[_TYPE_BYTE] not in _HIDDEN_TYPES:
            return packet
        hidden_type = bytes([data[_TYPE_BYTE] + _TYPE_OFFSET])
        return packet_type(b"".join((data[:_TYPE_BYTE], hidden_type, memoryview(data)[_TYPE_BYTE + 1 :])), self.encoding)


@dataclass
class _Connections:
    """Connect for the library, but never again: after a loss the library would reconnect to whichever server answers."""

    start: LogPosition | Gtid
    server_id: int
    blocking: bool
    mariadb: bool
    _made: int = 0

    def __call__(self, **settings: Any) -> _LogConnection:
        if self._made == _CONNECTIONS:
            raise TryAgain("the connection to the source's log was lost")
        connection = _LogConnection(**settings)
        if not self._made and isinstance(self.start, Gtid):
            self._start_behind(self.start.executed, connection)
        self._made += 1
        return connection

    def _start_behind(self, executed: GtidSet, connection: _LogConnection) -> None:
        """Prepare the connection that reads the log behind the executed transactions.

        This very connection is asked for the server's transactions: another connection may lead to another server.

        Raises:
            NotFound: the server lacks some of the executed transactions.
        """
        if lost := lost_on(connection, executed):
            raise NotFound(f"the source does not have transactions behind which its log was to be read: {lost}")
        if not self.mariadb:
            connection.dump = dump_by_gtids(executed, self.server_id, self.blocking)


def _raw(event: Any) -> RawEvent:
    header = event.packet
    type_ = header.event_type
    hidden = type_ - _TYPE_OFFSET
    return RawEvent(
        hidden if hidden in _HIDDEN_TYPES else type_,
        header.timestamp,
        header.log_pos,
        header.event_size,
        header.flags,
        header.packet.get_all_data(),
        event,
    )


def _readable_error(error: pymysql.err.MySQLError, user: str) -> Exception:
    code, text = (*error.args, "")[:2]
    if code == _NO_SUCH_POSITION:
        return NotFound(f"the source's log does not have the position where reading was to start: {text}")
    if code in _DENIED:
        return Rejected(
            f"the source refuses its log: {text}; run: GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO {user}"
        )
    return TryAgain(f"the source's log cannot be read: {error}")
