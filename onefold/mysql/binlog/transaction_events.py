"""Events and statements that begin, divide and end transactions: GTIDs, savepoints and XA."""

from __future__ import annotations

import re
import struct
from uuid import UUID

from onefold.mysql.binlog.events import Statement, XaStep
from onefold.mysql.binlog.raw_event import ANONYMOUS_GTID, MARIADB_GTID, TAGGED_GTID, RawEvent
from onefold.mysql.binlog.transactions import Transaction
from onefold.mysql.ddl.tokens import words
from onefold.mysql.gtid_encoding import tagged_gtid

_GTID = struct.Struct("<x16sQ")
"""Flags, UUID and number of a GTID_LOG_EVENT. Source: libs/mysql/binlog/event/control_events.h of
https://github.com/mysql/mysql-server.
"""
_MARIADB_GTID = struct.Struct("<QI")
"""Number and domain of MariaDB's GTID_EVENT; the flags follow."""
_XA_PREPARE = struct.Struct("<BIII")
"""Whether the transaction is committed in one phase, the format of its identifier, and the lengths of both parts of that."""

# Flags of MariaDB's GTID event. Source: `Gtid_log_event` in sql/log_event.h of https://github.com/MariaDB/server;
# "GTID_EVENT", https://mariadb.com/kb/en/gtid_event/.
STANDALONE = 1
"""FL_STANDALONE: the transaction is one statement, and no COMMIT follows."""
_HAS_GROUP_COMMIT_ID = 2
_HAS_XID = 64 | 128
"""FL_PREPARED_XA and FL_COMPLETED_XA."""
_ALTER_NOT_FINISHED = 2 | 8
"""FL_START_ALTER_E1 and FL_ROLLBACK_ALTER_E1, extra flags that `binlog_alter_two_phase` causes."""

_SAVEPOINT = re.compile(r"SAVEPOINT\s|ROLLBACK(\s+WORK)?\s+TO\s", re.IGNORECASE)
XA_STATEMENT = re.compile(r"XA\s+(START|BEGIN|END|COMMIT|ROLLBACK)\s+(\S+)(\s+ONE\s+PHASE)?", re.IGNORECASE)
"""As a server writes it: `XA COMMIT X'61',X'62',1`."""


def gtid_of(event: RawEvent, body: bytes) -> str | None:
    """Return the identifier of the transaction that begins; None for an anonymous transaction.

    Raises:
        InvalidInput: a tagged GTID has an unknown form.
    """
    if event.type == ANONYMOUS_GTID:
        return None
    if event.type == TAGGED_GTID:
        return tagged_gtid(body)
    if event.type == MARIADB_GTID:
        number, domain = _MARIADB_GTID.unpack_from(body)
        return f"{domain}-{event.server_id}-{number}"
    uuid, number = _GTID.unpack_from(body)
    return f"{UUID(bytes=uuid)}:{number}"


def mariadb_flags(body: bytes) -> int:
    """Return the flags of MariaDB's GTID event."""
    return body[_MARIADB_GTID.size] if len(body) > _MARIADB_GTID.size else 0


def is_alter_unfinished(body: bytes) -> bool:
    """Return whether MariaDB's GTID event announces an ALTER that begins or was rolled back, and so has no effect yet.

    The body: sequence number (8 bytes), domain (4), flags (1); a group commit number (8) and an XA identifier (format 4, two
    lengths of 1, and the identifier) only where the flags say so; then, in MariaDB 10.8 and later, the extra flags.
    """
    flags, at = mariadb_flags(body), _MARIADB_GTID.size + 1
    at += 8 if flags & _HAS_GROUP_COMMIT_ID else 0
    if flags & _HAS_XID:
        at += 6 + sum(body[at + 4 : at + 6])
    return at < len(body) and bool(body[at] & _ALTER_NOT_FINISHED)


def prepared_step(body: bytes) -> XaStep | None:
    """Return the step of an XA_PREPARE_EVENT of MySQL, which also tells of `XA COMMIT ... ONE PHASE`: None for that."""
    one_phase, format_id, length, rest = _XA_PREPARE.unpack_from(body)
    if one_phase:
        return None
    transaction, branch = struct.unpack_from(f"{length}s{rest}s", body, _XA_PREPARE.size)
    return XaStep(f"X'{transaction.hex()}',X'{branch.hex()}',{format_id}", "prepared")


def apply_savepoint(statement: Statement, transaction: Transaction) -> None:
    """Tell a transaction about a savepoint that was set or rolled back to. Other statements do nothing.

    Servers write SAVEPOINT `a` and ROLLBACK TO `a`, in the quotes of the session.
    """
    if _SAVEPOINT.match(statement.text):
        first, *_, name = words(statement.text, statement.grammar)
        if first.key == "SAVEPOINT":
            transaction.savepoint(name.text, statement.position)
        else:
            transaction.rollback_to(name.text, statement.position)
