"""The adapter over `mysql-replication`: a server's binary log as rows, statements and ends of transactions.

The library connects and takes the log apart into events. Their bodies are read by `table_map` and `row_image`: its own
reading loses or refuses values (docs/explanation/capture-correctness.md, "Known errors of servers and of the library").
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
from onefold.mysql.binlog.decoder import LogDecoder, RawEvent
from onefold.mysql.binlog.events import Gtid, LogEvent, LogPosition, RolledBack
from onefold.mysql.binlog.transactions import MAX_BUFFERED_BYTES
from onefold.mysql.connection import Address, connect, dialect, lost_on
from onefold.mysql.grants import grantee
from onefold.mysql.gtid import GtidSet
from onefold.mysql.gtid_encoding import dump_by_gtids
from onefold.mysql.table_filter import TableFilter

_NO_SUCH_PLACE = 1236
_DENIED = (1044, 1045, 1142, 1227)
_HEARTBEAT_SECONDS = 1
_CONNECTIONS = 2
"""What one reader opens: for the log, and for questions."""
_READ_HERE = frozenset({2, 18, 19, 23, 24, 25, 30, 31, 32, 39})
"""Statements, table maps and rows, by the server's numbers of events: all that the library would take apart by itself."""
_DUMP = struct.pack("<IB", 11, 0x12)
"""How the library asks for a file without a name: the packet's length, and COM_BINLOG_DUMP."""
_FIRST_OFFSET = 4
_VEIL, _HEADER, _KIND = 64, 20, 5
"""Added to such a number, the byte _KIND of an event's header: what the library does not know, it hands on as it is."""
_EVENTS = (
    other_events.FormatDescriptionEvent, other_events.RotateEvent, other_events.XidEvent, other_events.XAPrepareEvent,
    other_events.GtidEvent, other_events.MariadbGtidEvent, other_events.HeartbeatLogEvent, other_events.NotImplementedEvent,
)  # fmt: skip
"""The others it leaves out: notes to what is read here, and settings of statements."""


def follow(
    address: Address,
    start: LogPosition | Gtid,
    table_filter: TableFilter,
    server_id: int,
    blocking: bool = True,
    committed: Mapping[LogPosition, RolledBack] | None = None,
    max_buffered_bytes: int = MAX_BUFFERED_BYTES,
) -> Generator[LogEvent]:
    """What the log holds from a place on; forever, or with `blocking=False` up to its present end.

    Args:
        server_id: a number that no other replica of the server has.
        committed: transactions that are known to be committed, by where they begin, with what of them is void.
        max_buffered_bytes: the most bytes of the log that are held for one transaction.

    Raises:
        NotFound: the log does not have that place (any more); or the server does not have all that has been executed.
        TryAgain: the connection was lost; whoever starts again has to look at the server first.
        InvalidInput, Rejected: an event cannot be read.
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
        raise _readable_error(error, user) from error


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
        return {"log_file": "", "log_pos": _FIRST_OFFSET}  # `_Veiled.dump` is what is sent instead
    # Told that it is MariaDB's, the library leaves out file and position, and reads the log from its very beginning.
    return {"log_file": start.file, "log_pos": start.offset}


class _Veiled(pymysql.connections.Connection):  # type: ignore[misc] # it has no types
    """Keeps from the library what it would take apart in vain, keep, and give up on: a column or a setting that it does not
    know ends its reading of the whole log.
    """

    dump: bytes | None = None
    """What is sent instead of the library's packet for file and place: it cannot write tagged GTIDs."""

    def _write_bytes(self, data: bytes) -> None:
        super()._write_bytes(self.dump if self.dump and data.startswith(_DUMP) else data)

    def _read_packet(self, packet_type: type[MysqlPacket] = MysqlPacket) -> MysqlPacket:
        packet = super()._read_packet(packet_type)
        data = packet.get_all_data()
        is_event = len(data) >= _HEADER and int.from_bytes(data[10:14], "little") == len(data) - 1
        if not is_event or data[_KIND] not in _READ_HERE:
            return packet
        veiled = b"".join((data[:_KIND], bytes([data[_KIND] + _VEIL]), memoryview(data)[_KIND + 1 :]))
        return packet_type(veiled, self.encoding)


@dataclass
class _Connections:
    """Connect for the library, and once only: it would connect again by itself, to whichever server answers by then."""

    start: LogPosition | Gtid
    server_id: int
    blocking: bool
    mariadb: bool
    _made: int = 0

    def __call__(self, **settings: Any) -> _Veiled:
        if self._made == _CONNECTIONS:
            raise TryAgain("the connection to the source's log was lost")
        connection = _Veiled(**settings)
        if not self._made and isinstance(self.start, Gtid):
            self._ask_by(self.start.executed, connection)
        self._made += 1
        return connection

    def _ask_by(self, executed: GtidSet, connection: _Veiled) -> None:
        """Prepare the connection that is to read the log behind what has been executed.

        It is asked itself what its server has: another connection may lead to another server.
        """
        if lost := lost_on(connection, executed):
            raise NotFound(f"the source does not have transactions behind which its log was to be read: {lost}")
        if not self.mariadb:
            connection.dump = dump_by_gtids(executed, self.server_id, self.blocking)


def _raw(event: Any) -> RawEvent:
    header = event.packet
    kind = header.event_type
    return RawEvent(
        kind - _VEIL if kind - _VEIL in _READ_HERE else kind,
        header.timestamp,
        header.log_pos,
        header.event_size,
        header.flags,
        header.packet.get_all_data(),
        event,
    )


def _readable_error(error: pymysql.err.MySQLError, user: str) -> Exception:
    code, text = (*error.args, "")[:2]
    if code == _NO_SUCH_PLACE:
        return NotFound(f"the source's log does not have the place where reading was to start: {text}")
    if code in _DENIED:
        return Rejected(
            f"the source refuses its log: {text}; run: GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO {user}"
        )
    return TryAgain(f"the source's log cannot be read: {error}")
