"""The privileges of capture's user: the tables that the user may read whole, and the missing GRANT."""

from __future__ import annotations

import re

import pymysql

from onefold.mysql.catalog import TableName
from onefold.mysql.connection import query, quoted, variables

DENIED_TABLE = (1044, 1142, 1143)
_LOCKED = (1205, 3572)
DOES_NOT_EXIST = (1049, 1146)
# 2000 to 2999 are errors of the client; https://dev.mysql.com/doc/mysql-errors/8.4/en/client-error-reference.html
_FIRST_OF_SERVER = 1000
_OF_CLIENT = range(2000, 3000)
_SHUTDOWN = (1040, 1053, 1077, 1152, 1158, 1159, 1160, 1161, 1927)
_GLOBAL = """
SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'SELECT' AND GRANTEE = %s
"""
_INVISIBLE = re.compile(r"^  (`(?:[^`]|``)+`) .*/\*!80023 INVISIBLE \*/", re.MULTILINE)
"""An invisible column in the output of MySQL's `SHOW CREATE TABLE`."""
_LOCK_SECONDS = 2
"""A check does not wait long for another session that has locked a table."""


def grantee(connection: pymysql.Connection) -> str:
    """Return the user of a connection as a GRANT names it: `'onefold'@'%'`."""
    ((user,),) = query(connection, "SELECT CURRENT_USER()")
    name, _, host = str(user).rpartition("@")
    return "@".join("'{}'".format(part.replace("\\", "\\\\").replace("'", "''")) for part in (name, host))


def grant(right: str, on: str, connection: pymysql.Connection) -> str:
    """Return the advice to give the user of a connection a privilege.

    Args:
        right: the privileges, separated by commas.
        on: the tables, as a GRANT names them.
        connection: the connection of the user.
    """
    return f"run: GRANT {right} ON {on} TO {grantee(connection)}"


def table_sql(name: TableName) -> str:
    """Return a table's name, quoted for SQL."""
    return f"{quoted(name.database)}.{quoted(name.table)}"


def reads_everything(connection: pymysql.Connection) -> bool:
    """Return whether the user has SELECT on all tables, so that no table has to be checked by itself."""
    # With partial_revokes, a privilege on all tables may be revoked for some databases.
    if variables(connection).get("partial_revokes", "OFF").upper() in ("ON", "1"):
        return False
    ((found,),) = query(connection, _GLOBAL, (grantee(connection),))
    return bool(found)


def may_lock(connection: pymysql.Connection, name: TableName) -> bool:
    """Return whether the user may lock a table, as copies of some tables do. Locks of other sessions do not matter.

    Raises:
        MySQLError: the connection is broken.
    """
    query(connection, f"SET SESSION lock_wait_timeout = {_LOCK_SECONDS}")
    try:
        query(connection, f"LOCK TABLES {table_sql(name)} READ")
    except pymysql.err.MySQLError as error:
        if is_connection_error(error):
            raise
        return error.args[0] not in DENIED_TABLE
    query(connection, "UNLOCK TABLES")
    return True


def is_connection_error(error: pymysql.err.MySQLError) -> bool:
    """Return whether an error is about the connection, not the statement: a client error, or a server that shuts down."""
    code = error.args[0] if error.args else 0
    return not isinstance(code, int) or code < _FIRST_OF_SERVER or code in _SHUTDOWN or code in _OF_CLIENT


def _invisible_columns(connection: pymysql.Connection, name: TableName) -> list[str]:
    ((_, text),) = query(connection, f"SHOW CREATE TABLE {table_sql(name)}")
    return _INVISIBLE.findall(text)


def missing_select(connection: pymysql.Connection, name: TableName, visible: bool = True) -> str | None:
    """Return the server's words where the user lacks SELECT on a table or on some of its columns.

    `SELECT *` needs the privilege on every column, while information_schema shows only the columns that the user may see.
    MySQL leaves INVISIBLE columns out of `*`. `SHOW CREATE TABLE` shows them, and both servers show foreign keys, only to
    users with a privilege on the whole table.

    Args:
        connection: the connection of the user.
        name: the table.
        visible: whether information_schema shows the table. A table that it does not show may not exist any more.

    Raises:
        MySQLError: the connection is broken, or the table cannot be read for another reason.
    """
    query(connection, f"SET SESSION lock_wait_timeout = {_LOCK_SECONDS}")
    try:
        query(connection, f"SELECT {'*' if visible else '1'} FROM {table_sql(name)} LIMIT 0")
        if visible:
            columns = ", ".join(["1", *_invisible_columns(connection, name)])
            query(connection, f"SELECT {columns} FROM {table_sql(name)} LIMIT 0")
    except pymysql.err.MySQLError as error:
        code, text = (*error.args, "")[:2]
        if code in DENIED_TABLE:
            return str(text)
        if code not in (*_LOCKED, *DOES_NOT_EXIST):
            raise
    return None
