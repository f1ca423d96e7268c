"""An event of the binary log as bytes, and the numbers of the event types.

Sources: libs/mysql/binlog/event/binlog_event.h of https://github.com/mysql/mysql-server (`Log_event_type`), and
sql/log_event.h of https://github.com/MariaDB/server, whose own types begin at 160.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

QUERY, ROTATE, FORMAT_DESCRIPTION, XID, EXECUTE_LOAD_QUERY, TABLE_MAP = 2, 4, 15, 16, 18, 19
HEARTBEAT, HEARTBEAT_V2, XA_PREPARE = 27, 41, 38
GTID, ANONYMOUS_GTID, TAGGED_GTID, MARIADB_GTID = 33, 34, 42, 162
WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS = (23, 30), (24, 31), (25, 32)
"""Each in its first version, which MariaDB writes, and in its second, which MySQL writes."""
ROWS_V2 = (30, 31, 32)
PARTIAL_UPDATE_ROWS = 39
TRANSACTION_STARTS = (GTID, ANONYMOUS_GTID, TAGGED_GTID, MARIADB_GTID)
"""The first event of a transaction."""
COMPRESSED = (40, *range(165, 172))
"""MySQL's TRANSACTION_PAYLOAD_EVENT, and MariaDB's compressed forms of statements and rows."""
WITHOUT_ROWS = frozenset({3, 5, 13, 14, 17, 29, 35, 36, 37, 160, 161, 163, 164})
"""Events that say nothing of rows: STOP; the INTVAR, RAND, USER_VAR, BEGIN_LOAD_QUERY and ROWS_QUERY of a statement;
PREVIOUS_GTIDS; the TRANSACTION_CONTEXT and VIEW_CHANGE of group replication; the ANNOTATE_ROWS, BINLOG_CHECKPOINT, GTID_LIST
and START_ENCRYPTION of MariaDB.
"""
IGNORABLE = 0x80
"""The flag LOG_EVENT_IGNORABLE_F: a reader that does not know the type may skip the event."""

# Each packet begins with a status byte (0: OK). The header of 19 bytes follows, all of whose numbers are little-endian:
# timestamp, type, server, size of the event, offset of the next event, flags. Source: "Binlog Event Header",
# https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
_HEADER = struct.Struct("<IBIIIH")
_HEADER_END = 1 + _HEADER.size
_CHECKSUM_BYTES = 4


class RawEvent(NamedTuple):
    """An event as bytes, with the packet in which it came. A named tuple, because every event of the log is one.

    Attributes:
        timestamp: in seconds since 1970.
        type: the number of its kind.
        server_id: the `server_id` of the server that wrote the event.
        size: in bytes, with header and checksum.
        end: the offset of the next event, in 32 bits; zero for an event that is not in the log.
        flags: bits.
        packet: the status byte and the event.
    """

    timestamp: int
    type: int
    server_id: int
    size: int
    end: int
    flags: int
    packet: bytes

    def body(self, checksum_size: int) -> bytes:
        """Return the bytes between the header and the checksum."""
        return self.packet[_HEADER_END : len(self.packet) - checksum_size]


def raw_event(packet: bytes) -> RawEvent:
    """Return the event in a packet."""
    return RawEvent._make((*_HEADER.unpack_from(packet, 1), packet))


def next_file(event: RawEvent) -> tuple[str, int]:
    """Return the file that a ROTATE_EVENT names, and the offset in it.

    Which checksums the server writes is told by the event that comes next, so this one is looked at for its own.
    """
    written, found = zlib.crc32(event.packet[1:-_CHECKSUM_BYTES]), event.packet[-_CHECKSUM_BYTES:]
    body = event.body(_CHECKSUM_BYTES if written.to_bytes(_CHECKSUM_BYTES, "little") == found else 0)
    return body[8:].decode(), int.from_bytes(body[:8], "little")


def checksum_size(event: RawEvent) -> int:
    """Return the bytes of the checksum behind each event of the file that a FORMAT_DESCRIPTION_EVENT begins.

    The event itself always has one, and before it the number of the algorithm: 1 for CRC32, 0 for none.
    """
    return _CHECKSUM_BYTES if event.packet[-_CHECKSUM_BYTES - 1] == 1 else 0
