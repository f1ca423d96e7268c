"""Events of the log as bytes, as MySQL documents them, for tests without a server."""

from __future__ import annotations

import struct

from onefold.mysql.binlog.decoder import LogDecoder
from onefold.mysql.binlog.events import (
    RowsChanged,
)
from onefold.mysql.binlog.raw_event import RawEvent, raw_event
from onefold.mysql.charsets import Dialect
from onefold.mysql.table_filter import TableFilter

DIALECT = Dialect(False, {33: "utf8mb3", 63: "binary", 255: "utf8mb4", 309: "utf8mb4"})
GB = 1 << 30


def event(kind: int, end: int = 0, size: int = 50, body: bytes = b"", flags: int = 0, query: str = "") -> RawEvent:
    """An event in its packet, without a checksum; `size` need not be its own."""
    body = body or (query_body(query.encode()) if query else b"")
    header = struct.pack("<IBIIIH", 1_700_000_000, kind, 1, size, end % (1 << 32), flags)
    return raw_event(b"\0" + header + body)


def rotate(file: str) -> RawEvent:
    return event(4, body=struct.pack("<Q", 4) + file.encode())


def gtid_body(number: int) -> bytes:
    """The body of a GTID_LOG_EVENT: flags, UUID and number."""
    return b"\0" + bytes(range(16)) + struct.pack("<Q", number)


UUID = "00010203-0405-0607-0809-0a0b0c0d0e0f"


def xa_prepare(one_phase: bool) -> bytes:
    """The body of an XA_PREPARE_LOG_EVENT of `X'6162',X'ff',1`."""
    return struct.pack("<BIII", one_phase, 1, 2, 1) + b"ab\xff"


def query_body(text: bytes, settings: bytes = b"") -> bytes:
    return bytes(8) + b"\4\0\0" + struct.pack("<H", len(settings)) + settings + b"shop\0" + text


def field(kind: int, data: bytes) -> bytes:
    return bytes([kind, len(data)]) + data


def table_map(types: bytes, metadata: bytes, optional: bytes, table_id: int = 9) -> bytes:
    """A body as MySQL documents it, for shop.t."""
    names = b"\x04shop\0" + b"\x01t\0"
    nulls = b"\xff" * ((len(types) + 7) // 8)
    return (
        table_id.to_bytes(6, "little") + b"\1\0" + names + bytes([len(types)]) + types + bytes([len(metadata)]) + metadata
        + nulls + optional
    )  # fmt: skip


SIMPLE = table_map(b"\x03", b"", field(1, b"\x00") + field(4, b"\x02id") + field(8, b"\0"))


def insert(number: int, table_id: int = 9, form: int = 30) -> bytes:
    extra = b"\x02\0" if form == 30 else b""
    return table_id.to_bytes(6, "little") + b"\1\0" + extra + b"\x01\x01\x00" + struct.pack("<i", number)


XID = event(16)


def started(patterns: TableFilter | None = None) -> LogDecoder:
    decoder = LogDecoder(DIALECT, patterns or TableFilter(), epoch=3)
    assert list(decoder.read(rotate("bin.000007"))) == []
    return decoder


def rows_of(decoder: LogDecoder, *events: RawEvent) -> list[RowsChanged]:
    """The rows of a transaction: they come with its commit."""
    found = [decoded for one in (*events, XID) for decoded in decoder.read(one)]
    return [decoded for decoded in found if isinstance(decoded, RowsChanged)]
