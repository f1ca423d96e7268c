"""Transactions over three tables of two engines, and the rows that capture publishes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import pymysql
from support.capture import Bench, latest
from support.source_database import SourceDatabase

from onefold.mysql.binlog.events import Statement
from onefold.mysql.connection import connect, query

TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE u (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE m (id INT PRIMARY KEY, n INT) ENGINE=MyISAM",
    "INSERT INTO t VALUES (1, 1), (2, 2)",
)
LOGGED = "INSERT INTO m VALUES (90, 0)"
"""A write to MyISAM: after it, MariaDB logs the rows of a transaction even if they are rolled back."""
HANDLER = """
CREATE PROCEDURE p() BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION ROLLBACK;
  START TRANSACTION; DELETE FROM t; INSERT INTO m VALUES (91, 0); INSERT INTO u VALUES (1, 1), (1, 2); COMMIT;
END
"""


def folded_rows(records: Iterable[dict[str, Any]]) -> dict[str, list[tuple[int, int]]]:
    """Return the latest rows of each table, by their key."""
    tables: dict[str, list[tuple[int, int]]] = {}
    for (_, table, id_), row in sorted(latest(records).items()):
        tables.setdefault(table, []).append((id_, row["n"]))
    return tables


def source_rows(source: SourceDatabase) -> dict[str, list[tuple[int, int]]]:
    found = {table: source.rows(f"SELECT id, n FROM {table} ORDER BY id") for table in ("t", "u", "m")}
    return {table: [(id_, n) for id_, n in rows] for table, rows in found.items() if rows}


def is_copied(records: Iterable[dict[str, Any]]) -> bool:
    return any(record["metadata"]["ingestion_method"] == "SNAPSHOT" for record in records)


ROLLED_BACK: dict[str, tuple[str, ...]] = {
    "a temporary table": ("BEGIN", "DELETE FROM t", "CREATE TEMPORARY TABLE x (a INT)", "ROLLBACK"),
    "a dropped temporary table": (
        "CREATE TEMPORARY TABLE x (a INT)", "BEGIN", "DELETE FROM t", "DROP TEMPORARY TABLE x", "ROLLBACK",
    ),
    "MyISAM": ("BEGIN", "DELETE FROM t", LOGGED, "UPDATE m SET n = 5", "INSERT INTO u VALUES (1, 1)", "ROLLBACK"),
    "MyISAM and a temporary table": (
        "BEGIN", LOGGED, "DELETE FROM t", "CREATE TEMPORARY TABLE x (a INT)", "INSERT INTO u VALUES (1, 1)", "ROLLBACK",
    ),
    "a lost connection": ("BEGIN", "DELETE FROM t", "CREATE TEMPORARY TABLE x (a INT)", "KILL"),
    "an error handler": (HANDLER, "CALL p()"),
    "a savepoint": (
        "BEGIN", "UPDATE t SET n = 7 WHERE id = 1", "SAVEPOINT `a ``É`", "DELETE FROM t WHERE id = 2", LOGGED,
        "ROLLBACK TO `A ``e`", "INSERT INTO t VALUES (3, 3)", "COMMIT",
    ),
    "a savepoint and a temporary table": (
        "BEGIN", "UPDATE t SET n = 7 WHERE id = 1", "SAVEPOINT s", "CREATE TEMPORARY TABLE x (a INT)", "DELETE FROM t",
        "ROLLBACK TO s", "INSERT INTO t VALUES (3, 3)", "COMMIT",
    ),
    "a savepoint in double quotes": (
        "SET SESSION sql_mode = 'ANSI_QUOTES'", "BEGIN", "INSERT INTO t VALUES (3, 3)", 'SAVEPOINT "a""b"', "DELETE FROM t",
        "CREATE TEMPORARY TABLE x (a INT)", 'ROLLBACK TO "a""b"', "COMMIT",
    ),
    "savepoints within each other": (
        "BEGIN", "INSERT INTO t VALUES (3, 3)", "SAVEPOINT a", "INSERT INTO t VALUES (4, 4)", "SAVEPOINT b",
        "INSERT INTO t VALUES (5, 5)", LOGGED, "ROLLBACK TO b", "INSERT INTO t VALUES (6, 6)", "ROLLBACK TO a",
        "INSERT INTO t VALUES (7, 7)", "COMMIT",
    ),
    "all of it in the end": (
        "BEGIN", "INSERT INTO t VALUES (3, 3)", "SAVEPOINT a", "DELETE FROM t", LOGGED, "ROLLBACK TO a", "ROLLBACK",
    ),
}  # fmt: skip


def run_statements(source: SourceDatabase, statements: Sequence[str]) -> None:
    """Run statements in a session of their own. Statements that the server refuses have no effect."""
    with closing(connect(source.server.address)) as connection:
        connection.select_db(source.name)
        for statement in statements:
            if statement == "KILL":
                return
            with suppress(pymysql.err.MySQLError):
                query(connection, statement)


def capture_once(bench: Bench, max_bytes: int = 8_000_000, **options: Any) -> list[dict[str, Any]]:
    """Read up to the log's end, with another bound of the buffer, and return all records published since the beginning."""
    capture = bench.capture(once=True, **options)
    capture.source = replace(capture.source, max_transaction_bytes=max_bytes)
    capture.run()
    return bench.publisher.records()


def logged_statements(source: SourceDatabase) -> list[Statement]:
    return [event for event in source.log() if isinstance(event, Statement)]


# Not ROLLBACK TO: in a function it makes MariaDB write rows without their table.
FUNCTION = """
CREATE FUNCTION f(k INT) RETURNS INT BEGIN
  INSERT IGNORE INTO t VALUES (k, 0); SAVEPOINT b; INSERT IGNORE INTO u VALUES (k, 0); RETURN 1;
END
"""


def rows_of_last_copies(records: Sequence[dict[str, Any]], bench: Bench) -> dict[str, list[tuple[int, int]]]:
    """Return the rows of each table without rows that a later copy did not contain: the sweep deletes them."""
    left: list[dict[str, Any]] = []
    starts = {one["copy"]["table"]: one["copy"]["start"] for one in bench.checkpoint()["sweeps"]}
    for record in records:
        start = starts.get(record["metadata"]["table_name"])
        position = [int(section, 16) for section in record["metadata"]["change_sequence_number"].split("/")]
        if not start or position >= [start["epoch"], int(start["file"].rpartition(".")[2]), start["offset"]]:
            left.append(record)
    return folded_rows(left)
