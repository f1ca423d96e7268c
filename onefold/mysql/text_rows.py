"""The rows of a query of one text, as the bytes that the server sends, many at a time.

PyMySQL makes a packet and a tuple of Python's values for each row. Where a row is a text that goes to a file as it is, that
is most of the time. Here the bytes that have come are divided into rows, and nothing else.

Source: "Text Resultset Row" and "Length-Encoded Integer", MySQL, "Client/Server Protocol",
https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset.html, 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pymysql
from pymysql.constants import CR
from pymysql.cursors import SSCursor

_READ, _BLOCK = 1 << 16, 1 << 19
"""Bytes that are asked for at once, and of the rows that are handed on at once: servers send some 16 KB at a time."""
_HEADER, _MOST = 4, (1 << 24) - 1
"""The bytes before a packet, and the size of a packet that another one continues."""
_ERROR, _END, _END_SIZE, _NULL = 0xFF, 0xFE, 9, 0xFB
_STARTS = {0xFC: 3, 0xFD: 4, 0xFE: 9}
"""The bytes of the length of a text, by the first one; that is the length itself, where it is none of these."""


def text_rows(connection: pymysql.Connection, sql: str) -> Iterator[list[bytes | None]]:
    """Yield the texts of a query of one column, in lists of those that have come.

    Memory: twice 512 KB, or one row.

    Args:
        connection: takes no other query before the last row was read; a caller that stops before closes it.
        sql: the query.

    Raises:
        MySQLError: of the server, or the connection was lost.
    """
    with closing(connection.cursor(SSCursor)) as cursor:
        cursor.execute(sql)
        result: Any = cursor._result
        # From here on PyMySQL has nothing to read of this result, also where an error ends it.
        result.unbuffered_active = False
        for rows in _divided(connection):
            yield [None if row[0] == _NULL else row[_STARTS.get(row[0], 1) :] for row in rows]


def _divided(connection: pymysql.Connection) -> Iterator[list[bytes]]:
    """Yield the packets of the rows of a result whose columns have been read."""
    rows: list[bytes] = []
    data, parts, taken = b"", b"", 0
    while True:
        data += _more(connection)
        at = 0
        while (start := at + _HEADER) <= len(data):
            size = data[at] | data[at + 1] << 8 | data[at + 2] << 16
            if (end := start + size) > len(data):
                break
            at, row = end, data[start:end]
            if parts or size == _MOST:
                parts += row
                if size == _MOST:
                    continue
                row, parts = parts, b""
            elif row[0] == _ERROR:
                pymysql.err.raise_mysql_exception(row)
            elif row[0] == _END and size < _END_SIZE:
                yield rows
                return
            rows.append(row)
        data, taken = data[at:], taken + at
        if taken > _BLOCK:
            yield rows
            rows, taken = [], 0


def _more(connection: Any) -> bytes:
    """Return the next bytes of the server, at least one.

    Raises:
        OperationalError: there are none.
    """
    reason: object = "the server ended the connection"
    try:
        if found := connection._rfile.read1(_READ):
            return bytes(found)
    except OSError as error:
        reason = error
    connection._force_close()
    raise pymysql.err.OperationalError(CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query ({reason})")
