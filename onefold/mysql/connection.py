"""Connections to a MySQL or MariaDB server, and the questions that capture asks it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pymysql
from pymysql.constants import CR
from pymysql.cursors import SSCursor

from onefold.core.errors import Rejected
from onefold.core.text import reason_of
from onefold.mysql.charsets import Dialect
from onefold.mysql.gtid import GtidSet, lost

_ERRNO = re.compile(r"\[Errno -?\d+\] ")
_OF_SERVERS, _OF_CLIENTS = range(1_000, 100_000), range(2_000, 3_000)
"""The numbers of errors; those of clients say less than their texts. MySQL, "Error Message Elements", 2026-11."""

# Text in one character set, times in UTC, identifiers in backticks, CHAR without trailing blanks, and all rows: a server may
# limit the rows of each session (`sql_select_limit`), and a copy in one pass would end there. MySQL may also hide generated
# primary keys, which its log contains. `SHOW CREATE TABLE` puts all names in backticks. Sources: "Generated Invisible
# Primary Keys" and "Server System Variables",
# https://dev.mysql.com/doc/refman/8.4/en/create-table-gipks.html, .../server-system-variables.html
_SESSION = (
    "SET NAMES utf8mb4, time_zone = '+00:00', sql_mode = '', sql_select_limit = 18446744073709551615, "
    "sql_quote_show_create = 1 "
    "/*!80030 , show_gipk_in_create_table_and_information_schema = ON */"
)
LOGIN_REFUSED = (1045, 1130, 1698)
"""Error codes of a server that does not let the user in: a wrong user or password, a host without a user, or a user without
a password. MySQL, "Server Error Message Reference", https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html,
and MariaDB, "Error Codes", https://mariadb.com/kb/en/mariadb-error-codes/, 2026-11."""
_NO_SUCH_STATEMENT = 1064
_NO_SUCH_FILE = 1220
_CONNECT_SECONDS = 10
_READ_SECONDS = 60
"""Longer than the server is silent: the reader of the log asks for a heartbeat more often."""


@dataclass(frozen=True)
class Address:
    """A server and its user.

    `tls` holds PyMySQL's `ssl_*` parameters. Without any, TLS is used if the server offers it, without checking
    certificates.
    """

    host: str
    port: int = 3306
    user: str = "root"
    password: str = field(default="", repr=False)
    tls: Mapping[str, Any] = field(default_factory=dict, repr=False)
    silent_seconds: int = _READ_SECONDS
    """How long the server may send nothing."""

    def settings(self) -> dict[str, Any]:
        """Return the arguments of PyMySQL's `connect`, which the reader of the log takes, too.

        Raises:
            OperationalError: the host cannot be the name of one, so no server can be reached.
        """
        try:
            self.host.encode("idna")
        except UnicodeError as error:
            text = f"{self.host!r} is not the name of a host: {reason_of(error)}"
            raise pymysql.err.OperationalError(CR.CR_CONN_HOST_ERROR, text) from error
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password.encode(),  # PyMySQL would encode text in Latin-1
            "charset": "utf8mb4",
            "connect_timeout": _CONNECT_SECONDS,
            "read_timeout": self.silent_seconds,
            **self.tls,
        }


def server_reason(error: Exception) -> str:
    """Return what a server or its client says, with the number of a server's error and without those of the system.

    Examples:
        >>> server_reason(pymysql.err.OperationalError(1146, "Table 'shop.x' doesn't exist"))
        "Table 'shop.x' doesn't exist (error 1146)"
    """
    code, *_ = error.args or (0,)
    text = _ERRNO.sub("", str(error.args[-1] if error.args else "no reason is given"))
    return f"{text} (error {code})" if code in _OF_SERVERS and code not in _OF_CLIENTS else text


def connect(address: Address) -> pymysql.Connection:
    """Open a connection whose session shows values as capture reads them."""
    return pymysql.connect(**address.settings(), init_command=_SESSION, autocommit=True)


def query(connection: pymysql.Connection, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query.

    Args:
        connection: the connection.
        sql: the query, with `%s` for each value.
        values: the values.
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)  # without values, a name may hold a %
        return list(cursor.fetchall())


def stream(connection: pymysql.Connection, sql: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query as the server sends them, with one in memory at a time.

    The connection takes no other query before the last row was read.

    Args:
        connection: the connection.
        sql: the query, with `%s` for each value.
        values: the values.
    """
    with connection.cursor(SSCursor) as cursor:
        cursor.execute(sql, values or None)
        yield from cursor


def variables(connection: pymysql.Connection) -> dict[str, str]:
    """Return the server's settings, by lower-case name."""
    return {name.lower(): value for name, value in query(connection, "SHOW GLOBAL VARIABLES")}


def log_status(connection: pymysql.Connection) -> tuple[Any, ...]:
    """Return file, offset, `binlog_do_db`, `binlog_ignore_db`, and MySQL's executed set.

    Raises:
        Rejected: the server writes no log.
        ProgrammingError: the server refuses the statement.
    """
    # MySQL 8.4 and later know the newer name of the statement only.
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
    """Return MySQL's executed set; None while transactions commit, and for MariaDB, which has the set of each position.

    A transaction is in the log before it counts as executed. Until it counts, a session owns its GTID. The owned GTIDs are
    asked for first, so that no transaction of the log is missed in between.
    """
    if is_mariadb(connection):
        return None
    ((owned, executed),) = query(connection, "SELECT @@GLOBAL.gtid_owned, @@GLOBAL.gtid_executed")
    return None if owned else str(executed)


def previous_gtids(connection: pymysql.Connection, file: str) -> str:
    """Return MySQL's executed set at the beginning of a file of its log; empty if the log does not have the file.

    Raises:
        MySQLError: the server does not answer, or refuses the statement.
    """
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
    """Return whether the server is MariaDB, and not MySQL."""
    ((version,),) = query(connection, "SELECT VERSION()")
    return "mariadb" in version.lower()


def dialect(connection: pymysql.Connection) -> Dialect:
    """Return the properties of a server that decide how events are read."""
    mariadb = is_mariadb(connection)
    # Since MariaDB 10.10 one collation may belong to several character sets, with a number for each: only this table has all
    # of them. MySQL's table of the same name has no numbers. Source:
    # https://mariadb.com/kb/en/information-schema-collation_character_set_applicability-table/
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
    """Return an identifier in backticks.

    Examples:
        >>> quoted("a`b")
        '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"
