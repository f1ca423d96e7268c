"""The foreign keys of a server, as far as a user with SELECT sees them.

MariaDB shows `information_schema.REFERENTIAL_CONSTRAINTS` only to users with a right besides SELECT. So what a foreign key
does is read from `SHOW CREATE TABLE`, which SELECT on the whole table allows on both servers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pymysql

from onefold.mysql.catalog import TableName
from onefold.mysql.connection import query, stream
from onefold.mysql.grants import DENIED_TABLE, DOES_NOT_EXIST, table_sql

_COLUMNS = """
SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL
"""
_ACTION = "CASCADE|SET NULL|SET DEFAULT|RESTRICT|NO ACTION"
_RULES = re.compile(
    rf"^\s*CONSTRAINT `((?:[^`]|``)+)` FOREIGN KEY .*\)(?: ON DELETE ({_ACTION}))?(?: ON UPDATE ({_ACTION}))?,?$",
    re.MULTILINE,
)
_DEFAULT = "RESTRICT"

Rules = tuple[str, str]
"""The actions for DELETE and for UPDATE."""


@dataclass(frozen=True)
class ForeignKeyColumn:
    """A column of a foreign key."""

    child: TableName
    name: str
    """The name of the foreign key, which is unique within the child."""
    parent: TableName
    column: str
    """The column of the parent."""


def foreign_key_columns(connection: Any) -> Iterator[ForeignKeyColumn]:
    """Yield the columns of all foreign keys that the user sees."""
    for child, child_table, name, parent, parent_table, column in stream(connection, _COLUMNS):
        yield ForeignKeyColumn(TableName(child, child_table), name, TableName(parent, parent_table), column)


def rules_of(connection: Any, child: TableName) -> dict[str, Rules]:
    """Return what the foreign keys of a table do, by their names; nothing where the user may not see it."""
    return rules_in(definition(connection, child) or "")


def rules_in(text: str) -> dict[str, Rules]:
    """Return what the foreign keys in the output of `SHOW CREATE TABLE` do, by their names.

    Examples:
        >>> rules_in("  CONSTRAINT `c` FOREIGN KEY (`p`) REFERENCES `t` (`id`) ON DELETE SET NULL,")
        {'c': ('SET NULL', 'RESTRICT')}
    """
    found = _RULES.findall(text)
    return {name.replace("``", "`"): (delete or _DEFAULT, update or _DEFAULT) for name, delete, update in found}


def definition(connection: Any, name: TableName) -> str | None:
    """Return the output of `SHOW CREATE TABLE`: empty for a table that does not exist, None where the user may not see it.

    Raises:
        MySQLError: the server does not answer, or refuses for another reason.
    """
    try:
        ((_, text, *_),) = query(connection, f"SHOW CREATE TABLE {table_sql(name)}")
    except pymysql.err.MySQLError as error:
        if error.args[0] not in (*DENIED_TABLE, *DOES_NOT_EXIST):
            raise
        return None if error.args[0] in DENIED_TABLE else ""
    return str(text)
