"""What a server has to be set to before its log can be captured: all faults at once, each with what mends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pymysql

from onefold.capture.charsets import SUPPORTED
from onefold.capture.information_schema import TableName
from onefold.capture.patterns import SYSTEM, Patterns
from onefold.capture.selecting import quoted
from onefold.capture.server import log_status, query, variables
from onefold.errors import InvalidSettings

_OTHERS = "TABLE_SCHEMA NOT IN ({marks})"
# Not joined to each other: MariaDB compares each row of the one with each row of the other.
_TABLES = f"""
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES
WHERE {_OTHERS} AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')
"""
_COLUMNS = f"""
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, IS_NULLABLE, COLUMN_DEFAULT
FROM information_schema.COLUMNS WHERE {_OTHERS} ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
"""
_OLD_TIMES = ("/* mariadb-5.3 */", "/* 5.5 binary format */")


@dataclass(frozen=True)
class ColumnFacts:
    """What a check asks of a column."""

    name: TableName
    table_type: str
    column: str
    column_type: str
    charset: str | None
    collation: str | None
    nullable: str
    default: str | None
    """As SQL: what MariaDB tells."""


def check_server(connection: pymysql.Connection, patterns: Patterns) -> None:
    """
    Raises:
        InvalidSettings: every fault of the server's settings and tables.
    """
    marks = ", ".join(["%s"] * len(SYSTEM))
    types = {TableName(*row[:2]): row[2] for row in query(connection, _TABLES.format(marks=marks), SYSTEM)}
    rows = query(connection, _COLUMNS.format(marks=marks), SYSTEM)
    columns = [ColumnFacts(name, types[name], *row[2:]) for row in rows if (name := TableName(*row[:2])) in types]
    found = variables(connection)
    faults = [*setting_faults(found), *table_faults(columns, patterns)]
    if _is_on(found, "log_bin"):
        _, _, only, never, *_ = log_status(connection)
        databases = {name.database for name in types if patterns.match(name.database, name.table)}
        faults += database_faults(databases, only or "", never or "")
    if faults:
        raise InvalidSettings(faults)


def setting_faults(found: Mapping[str, str]) -> Iterator[str]:
    """What in a server's variables keeps its log from being read."""
    if not _is_on(found, "log_bin"):
        yield "the source writes no log; put `log_bin = mysql-bin` under [mysqld] in its configuration, then restart it"
    wanted = {"binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_metadata": "FULL"}
    for name, value in wanted.items():
        if name not in found:
            yield f"the source has no {name}: capture needs MySQL 8.0.1 or later, or MariaDB 10.5 or later"
        elif found[name].upper() != value:
            yield _wrong(found, name, f"'{value}'")
    if "PARTIAL_JSON" in found.get("binlog_row_value_options", "").upper():
        yield _wrong(found, "binlog_row_value_options", "''")
    for name in ("log_bin_compress", "binlog_transaction_compression"):
        if _is_on(found, name):
            yield _wrong(found, name, "OFF")
    if _is_on(found, "read_only") and not (_is_on(found, "log_slave_updates") or _is_on(found, "log_replica_updates")):
        yield (
            "the source is read-only, and its log leaves out what it replicates; put `log_slave_updates = ON` (MySQL: "
            "`log_replica_updates`) under [mysqld] in its configuration and restart it, or capture its primary"
        )


def _is_on(found: Mapping[str, str], name: str) -> bool:
    return found.get(name, "OFF").upper() in ("ON", "1")


def database_faults(databases: Iterable[str], only: str, never: str) -> Iterator[str]:
    """Databases whose changes a server does not log: both lists are the server's own, with commas."""
    for database in sorted(databases):
        if (only and database not in only.split(",")) or database in never.split(","):
            yield (
                f"the log leaves out the database {database}; change binlog_do_db and binlog_ignore_db in the configuration "
                "and restart the source, or exclude it"
            )


def _wrong(found: Mapping[str, str], name: str, value: str) -> str:
    statement = f"SET GLOBAL {name} = {value}"
    lasting = f"SET PERSIST {name} = {value}"
    mend = f"{statement}; and put it into the configuration" if "aria_block_size" in found else lasting
    return f"the source's {name} is {found[name]}; run: {mend}; and let all sessions connect again"


def table_faults(columns: Iterable[ColumnFacts], patterns: Patterns) -> Iterator[str]:
    """What keeps tables from being read, one fault for each column, and one for a table that is versioned by its server."""
    versioned: set[TableName] = set()
    for facts in columns:
        if not patterns.match(facts.name.database, facts.name.table):
            continue
        if "COMPRESSED" in facts.column_type:
            yield f"{facts.name}.{facts.column} is COMPRESSED, which cannot be read; {_uncompress(facts)}"
        if facts.table_type == "SYSTEM VERSIONED":
            versioned.add(facts.name)
        if facts.column_type.startswith("vector"):
            yield f"{facts.name}.{facts.column} is a VECTOR, which cannot be read; exclude the table"
        if any(mark in facts.column_type for mark in _OLD_TIMES):
            yield f"{facts.name}.{facts.column} holds times in an old form; run: ALTER TABLE {_table(facts)} FORCE"
        if facts.charset is not None and facts.charset not in SUPPORTED:
            mend = f"run: ALTER TABLE {_table(facts)} CONVERT TO CHARACTER SET utf8mb4"
            yield f"{facts.name}.{facts.column} has the charset {facts.charset}, which cannot be read; {mend}"
    for name in sorted(versioned):
        yield f"{name} is a system-versioned table, whose log holds its history as rows; exclude it"


def _table(facts: ColumnFacts) -> str:
    return f"{quoted(facts.name.database)}.{quoted(facts.name.table)}"


def _uncompress(facts: ColumnFacts) -> str:
    """MODIFY drops whatever it does not say again."""
    parts = [
        facts.column_type.split(" /*")[0],
        f"CHARACTER SET {facts.charset} COLLATE {facts.collation}" if facts.charset else "",
        "NOT NULL" if facts.nullable == "NO" else "",
        f"DEFAULT {facts.default}" if facts.default is not None else "",
    ]
    return f"run: ALTER TABLE {_table(facts)} MODIFY {quoted(facts.column)} {' '.join(part for part in parts if part)}"
