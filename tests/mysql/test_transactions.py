"""Transactions: the rows of a transaction are published after its commit is read, and never before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest
from support.capture import Bench, begin
from support.database_servers import MariaDb, MySql, new_server
from support.source_database import SourceDatabase, end_of_log, on
from support.transactions import TABLES, capture_once, folded_rows, logged_statements, source_rows

from onefold.capture.checkpoint import Progress
from onefold.mysql.binlog.events import Committed, IncompleteTransaction, LogPosition, RowsChanged
from onefold.mysql.binlog.stream import follow
from onefold.mysql.connection import connect, query
from onefold.mysql.table_filter import TableFilter


@on(MariaDb, MySql)
def test_nothing_of_a_large_transaction_is_published_before_its_end_is_read(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run("INSERT INTO t VALUES (1, 1)", "BEGIN", *(f"INSERT INTO u VALUES ({n}, 0)" for n in range(20)), "COMMIT")
    source.run("INSERT INTO t VALUES (2, 2)")
    (end,) = [position for position, tables in large_transactions(source, max_bytes=200) if tables == {"u"}]
    assert end
    records = capture_once(bench, 200, start=start)
    assert folded_rows(records) == source_rows(source)
    assert len(records) == 22
    assert bench.checkpoint()["place"]["offset"] >= end.offset


def large_transactions(source: SourceDatabase, max_bytes: int) -> Iterator[tuple[LogPosition, set[str]]]:
    """Yield the end of each transaction that is larger than `max_bytes`, and its tables."""
    for event in follow(
        source.server.address, source.start, TableFilter((source.name,)), 999, blocking=False, max_buffered_bytes=max_bytes
    ):
        if isinstance(event, Committed) and event.unfinished:
            assert event.unfinished.rows is None
            yield event.position, {table for _, table in event.unfinished.tables}


def test_nothing_of_a_transaction_that_a_crash_cut_off_is_published(tmp_path: Path) -> None:
    """A server is killed and its log loses the commit. The table may have the row, so the table is copied."""
    with new_server(MariaDb, "--innodb-flush-log-at-trx-commit=1") as server:
        with connect(server.address) as connection:
            query(connection, "CREATE DATABASE torn")
            start = end_of_log(connection)
            for statement in (
                "CREATE TABLE torn.t (id INT PRIMARY KEY, n INT)", "INSERT INTO torn.t VALUES (1, 1)",
                "INSERT INTO torn.t VALUES (2, 2)",
            ):  # fmt: skip
                query(connection, statement)
            end = end_of_log(connection)
        server.kill()
        with (server.data / end.file).open("r+b") as file:
            file.truncate(end.offset - XID_BYTES)
        server.start()
        with connect(server.address) as connection:
            query(connection, "INSERT INTO torn.t VALUES (3, 3)")
            rows = query(connection, "SELECT id, n FROM torn.t ORDER BY id")
        events = list(follow(server.address, start, TableFilter(("torn",)), 998, blocking=False))
        assert [event.after[0][0] for event in events if isinstance(event, RowsChanged)] == [1, 3]
        assert [event.tables for event in events if isinstance(event, IncompleteTransaction)] == [{("torn", "t")}]
        records = Bench(server, tmp_path, TableFilter(("torn",))).once(start=Progress(start))
    assert folded_rows(records) == {"t": rows}


XID_BYTES = 31
"""The size of the event that ends a transaction, with its checksum."""


def test_an_alter_that_mariadb_logs_twice_counts_when_it_is_finished(bench: Bench, source: SourceDatabase) -> None:
    source.run(TABLES[3])
    bench.once(start=Progress(source.start))
    source.run("SET SESSION binlog_alter_two_phase = 1", "ALTER TABLE u RENAME TO v, ALGORITHM = COPY")
    with pytest.raises(pymysql.err.MySQLError):
        source.run("INSERT INTO t VALUES (3, 2)", "ALTER TABLE t ADD UNIQUE (n), ALGORITHM = COPY")
    logged = [event.text for event in logged_statements(source) if event.text.startswith("ALTER")]
    assert logged == ["ALTER TABLE u RENAME TO v, ALGORITHM = COPY"]
