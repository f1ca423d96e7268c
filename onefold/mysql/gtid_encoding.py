"""GTIDs of MySQL as bytes, in its log and its protocol, without and with tags (MySQL 8.3 and later).

Sources: libs/mysql/serialization/readme.md and sql/rpl_gtid_set.cc of https://github.com/mysql/mysql-server (8.3 and later);
"COM_BINLOG_DUMP_GTID", https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_binlog_dump_gtid.html. The tests
compare both forms with a real server.
"""

from __future__ import annotations

import struct

from onefold.core.errors import InvalidInput
from onefold.mysql.gtid import GtidSet

_VERSION = 1
_FLAGS, _UUID, _NUMBER, _TAG = 0, 1, 2, 3
"""The first fields of the event, in their order; times, sizes and versions follow, which are not read."""
_UUID_BYTES = 16
_LONGEST = 8
"""The most bytes of an integer behind its first byte."""
_DUMP_BY_GTIDS = 0x1E
_NON_BLOCKING, _THROUGH_GTIDS = 1, 4
_FIRST_OFFSET = 4
_TAGGED = 1 << 56 | 1
"""The mark of a set with tags, in the first and in the last byte of the number of its servers."""


def tagged_gtid(body: bytes) -> str:
    """Return the GTID of a GTID_TAGGED_LOG_EVENT, as `uuid:tag:number`.

    Args:
        body: the event without its header and checksum.

    Raises:
        InvalidInput: the event has another form than that of MySQL 8.3 to 9.7.
    """
    try:
        return _tagged_gtid(body)
    except (IndexError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the event of a tagged GTID ends too early, or its tag is not text: {body.hex()}") from error


def _tagged_gtid(body: bytes) -> str:
    """Return the GTID of an event.

    Raises:
        InvalidInput: the event has an unknown form.
        IndexError: the event ends too early.
    """
    version, at = _integer(body, 0)
    if version != _VERSION:
        raise InvalidInput(f"the event of a tagged GTID has the form {version}, expected {_VERSION}: update Onefold")
    _, at = _integer(body, at)  # its size
    _, at = _integer(body, at)  # the last field that a reader must know
    _, at = _integer(body, _field(body, at, _FLAGS))
    uuid, at = _uuid(body, _field(body, at, _UUID))
    number, at = _integer(body, _field(body, at, _NUMBER))
    length, at = _integer(body, _field(body, at, _TAG))
    tag = body[at : at + length].decode("ascii")
    if len(tag) != length:
        raise IndexError(length)
    # A signed integer has its sign in the lowest bit; numbers of transactions are positive.
    return f"{uuid}:{tag}:{number >> 1}"


def _field(body: bytes, at: int, expected: int) -> int:
    """Return the offset of a field's value, behind the field's number.

    Raises:
        InvalidInput: the next field is another one.
    """
    found, at = _integer(body, at)
    if found != expected:
        raise InvalidInput(f"the event of a tagged GTID has the field {found} where {expected} was expected: update Onefold")
    return at


def _integer(body: bytes, at: int) -> tuple[int, int]:
    """Return an integer of 1 to 9 bytes, and the offset behind it.

    The number of lowest bits of the first byte that are 1 is the number of further bytes. A bit that is 0 ends the count,
    unless all eight bits are 1.

    Raises:
        IndexError: the event ends within the integer.

    Examples:
        >>> _integer(bytes([0x31, 0x03]), 0)
        (204, 2)
    """
    first = body[at]
    more = (~first & (first + 1)).bit_length() - 1
    end = at + 1 + more
    if end > len(body):
        raise IndexError(end)
    return int.from_bytes(body[at:end], "little") >> min(more + 1, _LONGEST), end


def _uuid(body: bytes, at: int) -> tuple[str, int]:
    """Return a UUID, each byte of which is written as an integer, and the offset behind it."""
    values = []
    for _ in range(_UUID_BYTES):
        value, at = _integer(body, at)
        values.append(f"{value:02x}")
    text = "".join(values)
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:])), at


def dump_by_gtids(executed: GtidSet, server_id: int, blocking: bool) -> bytes:
    """Return the command that asks MySQL for its log without the executed transactions.

    Args:
        executed: sets of MySQL only.
        server_id: a number that no other replica has.
        blocking: wait for more at the log's end.
    """
    flags = _THROUGH_GTIDS | (0 if blocking else _NON_BLOCKING)
    known = encode_executed(executed)
    return struct.pack("<BHIIQI", _DUMP_BY_GTIDS, flags, server_id, 0, _FIRST_OFFSET, len(known)) + known


def encode_executed(executed: GtidSet) -> bytes:
    """Return sets of MySQL as bytes. Without tags, servers before 8.3 can read the form, too.

    Each set is: UUID (16 bytes), with tags the tag behind its doubled length, number of ranges (8), and each range as its
    first number and the number behind its last (8 each).
    """
    tagged = any(":" in server for server in executed.servers)
    count = len(executed.servers)
    encoded = [struct.pack("<Q", _TAGGED | count << 8 if tagged else count)]
    for server, ranges in executed.servers.items():
        uuid, _, tag = server.partition(":")
        encoded.append(bytes.fromhex(uuid.replace("-", "")))
        if tagged:
            encoded.append(bytes([len(tag) << 1]) + tag.encode("ascii"))
        encoded.append(struct.pack("<Q", len(ranges)))
        encoded += [struct.pack("<QQ", first, last + 1) for first, last in ranges]
    return b"".join(encoded)
