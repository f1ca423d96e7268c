"""Connections to a MySQL or MariaDB server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from onefold.core.errors import Rejected
from onefold.mysql.charsets import Dialect
from onefold.mysql.gtid import GtidSet, lost

# Text in one character set, times in UTC, identifiers in backticks, CHAR without the blanks that fill it up, and all rows: a
# server may give each session a limit of its own (`sql_select_limit`), and a copy in one pass would end there. And MySQL may
# hide the primary keys that it has generated, which its log has.
_SESSION = (
    "SET NAMES utf8mb4, time_zone = '+00:00', sql_mode = '', sql_select_limit = 18446744073709551615 "
    "/*!80030 , show_gipk_in_create_table_and_information_schema = ON */"
)
_NO_SUCH_STATEMENT = 1064
_NO_SUCH_FILE = 1220
_CONNECT_SECONDS = 10
_READ_SECONDS = 60
"""Longer than the server keeps silent: it is asked for a sign of life more often."""


@dataclass(frozen=True)
class Address:
    """A server and who asks. `tls` holds PyMySQL's `ssl_*` parameters; without any, TLS is used where the server has it,
    and nobody is made to prove who they are.
    """

    host: str
    port: int = 3306
    user: str = "root"
    password: str = field(default="", repr=False)
    tls: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def settings(self) -> dict[str, Any]:
        """What PyMySQL's `connect` takes, and the reader of the log too."""
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password.encode(),  # of a text PyMySQL would send the bytes in Latin-1
            "charset": "utf8mb4",
            "connect_timeout": _CONNECT_SECONDS,
            "read_timeout": _READ_SECONDS,
            **self.tls,
        }


def connect(address: Address) -> pymysql.Connection:
    """A connection whose session shows values as capture reads them."""
    return pymysql.connect(**address.settings(), init_command=_SESSION, autocommit=True)


def query(connection: pymysql.Connection, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)  # without values, a name may hold a %
        return list(cursor.fetchall())


def stream(connection: pymysql.Connection, sql: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query as the server sends them, without keeping any.

    The connection takes no other query before the last row was read.
    """
    with connection.cursor(SSCursor) as cursor:
        cursor.execute(sql, values or None)
        yield from cursor


def variables(connection: pymysql.Connection) -> dict[str, str]:
    """The server's settings, by lower-case name."""
    return {name.lower(): value for name, value in query(connection, "SHOW GLOBAL VARIABLES")}


def log_status(connection: pymysql.Connection) -> tuple[Any, ...]:
    """File, offset, two lists of databases, and MySQL's executed set. The older name of the statement is gone since 8.4."""
    try:
        rows = query(connection, "SHOW MASTER STATUS")
    except pymysql.err.ProgrammingError as error:
        if error.args[0] != _NO_SUCH_STATEMENT:
            raise
        rows = query(connection, "SHOW BINARY LOG STATUS")
    if not rows:
        raise Rejected("the source writes no log: see that log_bin is set, and restart it")
    return rows[0]


def executed_now(connection: pymysql.Connection) -> str | None:
    """What MySQL has executed; None while transactions are on their way, and of MariaDB, which tells it of each place.

    A transaction is in the log before it counts as executed. From before it is in the log until it counts, somebody owns its
    GTID; owners are asked for first, so that no transaction of the log is missed in between.
    """
    if is_mariadb(connection):
        return None
    ((owned, executed),) = query(connection, "SELECT @@GLOBAL.gtid_owned, @@GLOBAL.gtid_executed")
    return None if owned else str(executed)


def previous_gtids(connection: pymysql.Connection, file: str) -> str:
    """What MySQL had executed before a file of its log; nothing where the log does not have the file."""
    try:
        events = query(connection, "SHOW BINLOG EVENTS IN %s LIMIT 3", (file,))
    except pymysql.err.MySQLError as error:
        if error.args[0] != _NO_SUCH_FILE:
            raise
        return ""
    return next((str(text) for _, _, kind, _, _, text in events if kind == "Previous_gtids"), "").replace("\n", "")


def lost_on(connection: pymysql.Connection, executed: GtidSet) -> GtidSet:
    """Return the executed transactions that the server does not have."""
    names = ("gtid_binlog_state", "gtid_slave_pos") if is_mariadb(connection) else ("gtid_executed",)
    (texts,) = query(connection, f"SELECT {', '.join(f'@@GLOBAL.{name}' for name in names)}")
    return lost(executed, *texts)


def is_mariadb(connection: pymysql.Connection) -> bool:
    ((version,),) = query(connection, "SELECT VERSION()")
    return "mariadb" in version.lower()


def dialect(connection: pymysql.Connection) -> Dialect:
    """What the reading of events needs to know of the server."""
    mariadb = is_mariadb(connection)
    # Since 10.10 one name of a collation stands for several character sets, each with a number of its own: only this
    # table has them all. MySQL's of the same name has no numbers.
    source = "COLLATION_CHARACTER_SET_APPLICABILITY" if mariadb and _has_numbers(connection) else "COLLATIONS"
    rows = query(connection, f"SELECT ID, CHARACTER_SET_NAME FROM information_schema.{source} WHERE ID IS NOT NULL")
    ((case,),) = query(connection, "SELECT @@lower_case_table_names")
    return Dialect(mariadb, dict(rows), lower_names=case == 1)


def _has_numbers(connection: pymysql.Connection) -> bool:
    columns = query(
        connection,
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'information_schema' "
        "AND TABLE_NAME = 'COLLATION_CHARACTER_SET_APPLICABILITY' AND COLUMN_NAME = 'ID'",
    )
    return bool(columns)


def quoted(name: str) -> str:
    """An identifier in MySQL."""
    return f"`{name.replace('`', '``')}`"
