"""The settings that a server needs before its log can be captured: all problems at once, each with its remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pymysql

from onefold.core.errors import InvalidSettings
from onefold.mysql.catalog import tables
from onefold.mysql.connection import log_status, variables
from onefold.mysql.table_filter import TableFilter


def check_server(connection: pymysql.Connection, table_filter: TableFilter) -> None:
    """Check the settings of the whole source. `onefold.capture.table_checks` checks single tables.

    Raises:
        InvalidSettings: all problems of the server's settings.
    """
    found = variables(connection)
    problems = [*setting_problems(found)]
    if _is_on(found, "log_bin"):
        _, _, only, never, *_ = log_status(connection)
        if only or never:
            databases = {name.database for name in tables(connection, table_filter)}
            problems += database_problems(databases, only or "", never or "")
    if problems:
        raise InvalidSettings(problems)


def setting_problems(found: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables of a server that keep its log from being read, each with the statement that sets it."""
    if not _is_on(found, "log_bin"):
        yield "the source writes no log; put `log_bin = mysql-bin` under [mysqld] in its configuration, then restart it"
    expected = {"binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_row_metadata": "FULL"}
    for name, value in expected.items():
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


def database_problems(databases: Iterable[str], only: str, never: str) -> Iterator[str]:
    """Yield the captured databases whose changes a server does not log.

    Args:
        databases: the captured databases.
        only: the server's `binlog_do_db`, separated by commas.
        never: the server's `binlog_ignore_db`, separated by commas.
    """
    for database in sorted(databases):
        if (only and database not in only.split(",")) or database in never.split(","):
            yield (
                f"the log leaves out the database {database}; change binlog_do_db and binlog_ignore_db in the configuration "
                "and restart the source, or exclude it"
            )


def _wrong(found: Mapping[str, str], name: str, value: str) -> str:
    statement = f"SET GLOBAL {name} = {value}"
    lasting = f"SET PERSIST {name} = {value}"
    # MariaDB, which alone has Aria, does not know SET PERSIST.
    remedy = f"{statement}; and put it into the configuration" if "aria_block_size" in found else lasting
    return f"the source's {name} is {found[name]}; run: {remedy}; and let all sessions connect again"
