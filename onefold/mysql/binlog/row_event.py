"""Row events: the rows that one event inserted, updated or deleted, from the event's body.

The body: number of the table (6 bytes), flags (2), in version 2 the length of extra data and the extra data, the number of
columns (a packed integer), one bitmap of the columns present (for updates two, before and after), then the row images.

Sources: `Rows_event` in libs/mysql/binlog/event/rows_event.h of https://github.com/mysql/mysql-server;
"ROWS_EVENT_V1/V2", https://mariadb.com/kb/en/rows_event_v1v2/.
"""

from __future__ import annotations

import struct

from onefold.core.errors import InvalidInput
from onefold.core.text import shown_list
from onefold.mysql.binlog.events import LogPosition, RowEvent, RowsChanged, UnreadableRows
from onefold.mysql.binlog.raw_event import DELETE_ROWS, PARTIAL_UPDATE_ROWS, ROWS_V2, UPDATE_ROWS
from onefold.mysql.binlog.rows import DecodedRows, replace_unrepresentable, row_reader
from onefold.mysql.table import Structure

_SQL_FOREIGN_KEYS = 1 << 4
"""`USE_SQL_FOREIGN_KEY_F` of MySQL 9.6 and later: the server, and not InnoDB, followed the foreign keys, so that the rows of
children are events of their own (MySQL's source, libs/mysql/binlog/event/rows_event.h, `Rows_event::enum_flag`, 9.7)."""
_NO_TABLE = 0xFFFFFF
"""The number in an event that has no rows and only ends a statement."""
_POST_HEADER = 8

MALFORMED = (LookupError, ValueError, struct.error)
"""What Python raises for bytes of an unexpected form. Only one table is concerned, and other tables go on."""


def table_id_of(body: bytes) -> int | None:
    """Return the number of the table whose rows an event has; None for an event without rows."""
    table_id = int.from_bytes(body[:6], "little")
    return None if table_id == _NO_TABLE else table_id


def are_cascades_logged(body: bytes) -> bool:
    """Return whether the rows that foreign keys changed along with these are in MySQL's log themselves."""
    return bool(int.from_bytes(body[6:8], "little") & _SQL_FOREIGN_KEYS)


def decode_rows(
    kind: int, timestamp: int, position: LogPosition, database: str, structure: Structure, body: bytes, cascades_logged: bool
) -> RowEvent:
    """Return the rows of an event; `UnreadableRows` where the rows or the structure cannot be read.

    Args:
        kind: the type of the event.
        timestamp: seconds.
        position: where the event begins.
        database: the table's database.
        structure: the table's structure.
        body: the event without header and checksum.
        cascades_logged: see `are_cascades_logged`.
    """
    try:
        read = row_reader(structure)
    except InvalidInput as error:  # text in a character set that cannot be read
        reason = f"{database}.{structure.table}: {shown_list(error.problems, joint='; ')}"
        return UnreadableRows(position, timestamp, database, structure.table, "structure", reason, cascades_logged)
    try:
        rows, has_losses = read(body, _first_image(kind, f"{database}.{structure.table}", structure, body))
    except (InvalidInput, *MALFORMED) as error:
        reason = error_reason(f"{database}.{structure.table}", error)
        return UnreadableRows(position, timestamp, database, structure.table, "rows", reason, cascades_logged)
    # The images of an update alternate: before, after, before, after ...
    is_update, is_deletion = kind in UPDATE_ROWS, kind in DELETE_ROWS
    before, after = (rows[::2], rows[1::2]) if is_update else (rows, []) if is_deletion else ([], rows)
    old, new = (
        replace_unrepresentable(structure, some) if has_losses else DecodedRows(tuple(some)) for some in (before, after)
    )
    losses = old.losses if is_deletion else new.losses
    return RowsChanged(position, timestamp, database, structure, old.rows, new.rows, losses, cascades_logged)


def error_reason(table: str, error: Exception) -> str:
    """Return what an error says about a table. Python's own errors say only that the bytes have an unknown form."""
    if isinstance(error, InvalidInput):
        return shown_list(error.problems, joint="; ")
    return f"{table}: the log holds bytes of a form that is not understood ({type(error).__name__}: {error})"


def _first_image(kind: int, table: str, structure: Structure, body: bytes) -> int:
    """Return the offset of the first image.

    Raises:
        InvalidInput: an image does not have all columns, so a row cannot be published whole.
    """
    if kind == PARTIAL_UPDATE_ROWS:
        raise InvalidInput(
            f"{table}: the log holds parts of JSON only, which a session wrote with binlog_row_value_options = PARTIAL_JSON"
        )
    # The length of the extra data counts its own two bytes.
    at = _POST_HEADER + (int.from_bytes(body[8:10], "little") if kind in ROWS_V2 else 0)
    count = len(structure.columns)
    at += 1 if body[at] < 251 else 3  # a packed integer: a table has at most 4096 columns
    size = (count + 7) // 8
    for _ in range(2 if kind in UPDATE_ROWS else 1):
        if int.from_bytes(body[at : at + size], "little") & (1 << count) - 1 != (1 << count) - 1:
            raise InvalidInput(
                f"{table}: the log does not hold whole rows: a session wrote with another binlog_row_image than FULL"
            )
        at += size
    return at
