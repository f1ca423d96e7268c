"""The size of a table, as the server estimates it."""

from __future__ import annotations

from dataclasses import dataclass

import pymysql

from onefold.core.errors import TryAgain
from onefold.mysql.catalog import TableName
from onefold.mysql.connection import query, server_reason

_SIZE = "SELECT TABLE_ROWS, DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@dataclass(frozen=True)
class TableSize:
    """The rows of a table, and the bytes that they take at the server."""

    rows: int
    size: int

    def __str__(self) -> str:
        """Return the size for people.

        Examples:
            >>> str(TableSize(1_200_000, 350_000_000))
            'about 1,200,000 rows, 350.0 MB'
        """
        size, unit = float(self.size), 0
        while size >= 1000 and unit < len(_UNITS) - 1:
            size, unit = size / 1000, unit + 1
        return f"about {self.rows:,} rows, {size:.{1 if unit else 0}f} {_UNITS[unit]}"


def table_size(connection: pymysql.Connection, name: TableName) -> TableSize:
    """Return the server's estimate of a table's size; zero for a table that does not exist.

    A server updates its estimate from time to time, and MySQL shows one that may be a day old.

    Raises:
        TryAgain: the connection was lost.
    """
    try:
        found = query(connection, _SIZE, (name.database, name.table))
    except pymysql.err.MySQLError as error:
        raise TryAgain(f"the size of {name} cannot be read: {server_reason(error)}") from error
    rows, size = found[0] if found else (0, 0)
    return TableSize(int(rows or 0), int(size or 0))
