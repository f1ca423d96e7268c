"""An event of the binary log as bytes, and the numbers of the event types.

Sources: libs/mysql/binlog/event/binlog_event.h of https://github.com/mysql/mysql-server (`Log_event_type`), and
sql/log_event.h of https://github.com/MariaDB/server, whose own types begin at 160.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
WITHOUT_ROWS = (36, 37)
"""Events of group replication: TRANSACTION_CONTEXT_EVENT and VIEW_CHANGE_EVENT."""
IGNORABLE = 0x80
"""The flag LOG_EVENT_IGNORABLE_F: a reader that does not know the type may skip the event."""

# Each packet begins with a status byte (0: OK). The header of 19 bytes follows: timestamp 4, type 1, server 4, size of the
# event 4, offset of the next event 4, flags 2; all numbers are little-endian. Source: "Binlog Event Header",
# https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
_HEADER_END = 20
_SERVER = slice(6, 10)


@dataclass(frozen=True)
class RawEvent:
    """An event as the library delivers it, with the packet in which the event came."""

    type: int
    timestamp: int
    end: int
    """The offset of the next event, in 32 bits; zero for an event that is not in the log."""
    size: int
    flags: int
    packet: bytes
    parsed: Any
    """The library's own reading, used for events that are neither rows nor statements."""

    def body(self, checksum_size: int) -> bytes:
        """Return the bytes between the header and the checksum."""
        return self.packet[_HEADER_END : len(self.packet) - checksum_size]

    @property
    def server_id(self) -> int:
        """Return the `server_id` of the server that wrote the event."""
        return int.from_bytes(self.packet[_SERVER], "little")
