"""Which tables the user of capture may read whole, and the GRANT that is missing."""

from __future__ import annotations

import re

import pymysql

from onefold.mysql.catalog import TableName
from onefold.mysql.connection import is_mariadb, query, quoted, variables

_DENIED_TABLE = (1044, 1142, 1143)
_LOCKED = (1205, 3572)
_GONE = (1049, 1146)
_FIRST_OF_SERVER = 1000
_OF_CLIENT = range(2000, 3000)
_SHUTDOWN = (1040, 1053, 1077, 1152, 1158, 1159, 1160, 1161, 1927)
_GLOBAL = """
SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'SELECT' AND GRANTEE = %s
"""
_INVISIBLE = re.compile(r"^  (`(?:[^`]|``)+`) .*/\*!80023 INVISIBLE \*/", re.MULTILINE)
"""A column of what MySQL's `SHOW CREATE TABLE` gives."""
_LOCK_SECONDS = 2
"""A check does not wait for whoever has locked a table."""


def grantee(connection: pymysql.Connection) -> str:
    """The user as whom the server knows us, as a GRANT names it: `'onefold'@'%'`."""
    ((user,),) = query(connection, "SELECT CURRENT_USER()")
    name, _, host = str(user).rpartition("@")
    return "@".join("'{}'".format(part.replace("\\", "\\\\").replace("'", "''")) for part in (name, host))


def grant(right: str, on: str, connection: pymysql.Connection) -> str:
    """The statement that gives the user of a connection a right."""
    return f"run: GRANT {right} ON {on} TO {grantee(connection)}"


def table_sql(name: TableName) -> str:
    return f"{quoted(name.database)}.{quoted(name.table)}"


def reads_everything(connection: pymysql.Connection) -> bool:
    """Whether the user has SELECT on all tables, so that no table has to be asked for by itself."""
    if variables(connection).get("partial_revokes", "OFF").upper() in ("ON", "1"):
        return False
    ((found,),) = query(connection, _GLOBAL, (grantee(connection),))
    return bool(found)


def may_lock(connection: pymysql.Connection, name: TableName) -> bool:
    """Whether the user may lock a table, as copies of some tables have to. Others that have locked it do not matter."""
    query(connection, f"SET SESSION lock_wait_timeout = {_LOCK_SECONDS}")
    try:
        query(connection, f"LOCK TABLES {table_sql(name)} READ")
    except pymysql.err.MySQLError as error:
        if is_connection_error(error):
            raise
        return error.args[0] not in _DENIED_TABLE
    query(connection, "UNLOCK TABLES")
    return True


def is_connection_error(error: pymysql.err.MySQLError) -> bool:
    """Whether the connection is at fault, and not the statement: the client's own errors, and a server that shuts down."""
    code = error.args[0] if error.args else 0
    return not isinstance(code, int) or code < _FIRST_OF_SERVER or code in _SHUTDOWN or code in _OF_CLIENT


def _invisible_columns(connection: pymysql.Connection, name: TableName) -> list[str]:
    ((_, text),) = query(connection, f"SHOW CREATE TABLE {table_sql(name)}")
    return _INVISIBLE.findall(text)


def missing_select(connection: pymysql.Connection, name: TableName, visible: bool = True) -> str | None:
    """Return the server's words where the user lacks SELECT on a table or on some of its columns.

    `SELECT *` needs the right on every column: information_schema shows those only that the user may see. MySQL passes over
    INVISIBLE columns there, and tells of them only who has a right on the whole table.

    Args:
        visible: whether information_schema shows the table. One that it does not show may be gone.
    """
    query(connection, f"SET SESSION lock_wait_timeout = {_LOCK_SECONDS}")
    try:
        query(connection, f"SELECT {'*' if visible else '1'} FROM {table_sql(name)} LIMIT 0")
        if visible and not is_mariadb(connection):
            columns = ", ".join(["1", *_invisible_columns(connection, name)])
            query(connection, f"SELECT {columns} FROM {table_sql(name)} LIMIT 0")
    except pymysql.err.MySQLError as error:
        code, text = (*error.args, "")[:2]
        if code in _DENIED_TABLE:
            return str(text)
        if code not in (*_LOCKED, *_GONE):
            raise
    return None
