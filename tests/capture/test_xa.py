"""XA transactions: their rows are in the log when they are prepared, and tables show them when they are committed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.capture import CREATE, Bench, begin, bench_of, eventually, latest, shown
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on
from support.xa import Xa

from onefold.capture.xa import PreparedRows, PreparedTransaction, plus, tables_of, without
from onefold.mysql.binlog.events import Committed, LogPosition, RowsChanged
from onefold.mysql.catalog import TableName
from onefold.mysql.connection import connect
from onefold.mysql.table_filter import TableFilter


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    return bench_of(source, tmp_path)


def copies(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["metadata"]["ingestion_method"] == "SNAPSHOT"]


@on(MariaDb, MySql)
@pytest.mark.parametrize("how", ["COMMIT", "ROLLBACK"])
def test_the_log_has_prepare_and_commit_under_one_identifier(source: SourceDatabase, xa: Xa, how: str) -> None:
    source.run(CREATE)
    xa.prepare("INSERT INTO t VALUES (1, 'a')")
    xa.end(how)
    source.run("XA START 'one'", "INSERT INTO t VALUES (2, 'b')", "XA END 'one'", "XA COMMIT 'one' ONE PHASE")
    found = [event.two_phase for event in source.log() if isinstance(event, Committed)]
    steps = [(step.xid, step.step) if step else None for step in found]
    xid = f"X'{source.name.encode().hex()}',X'78',7"
    assert steps == [None, (xid, "prepared"), (xid, "committed" if how == "COMMIT" else "rolled back"), None]


@on(MariaDb, MySql)
@pytest.mark.parametrize("restart", [False, True], ids=["at once", "with a start between"])
def test_a_transaction_that_is_rolled_back_is_not_published(
    bench: Bench, source: SourceDatabase, xa: Xa, restart: bool
) -> None:
    start = begin(source)
    source.run(CREATE, "CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1, 'a')")
    xa.prepare("UPDATE t SET name = 'never' WHERE id = 1", "INSERT INTO t VALUES (2, 'never')")
    if restart:
        bench.once(start=start)
        (one,) = bench.checkpoint()["prepared"]
        assert one["tables"] == [[source.name, "t"]]
    xa.end("ROLLBACK")
    records = bench.once(start=start)
    assert latest(records) == shown(source, "t")
    assert len(records) == 1
    assert bench.checkpoint()["prepared"] == []


@on(MariaDb, MySql)
def test_committed_xa_transactions_alone_copy_nothing(bench: Bench, source: SourceDatabase, xa: Xa) -> None:
    start = begin(source)
    source.run(CREATE)
    xa.prepare("INSERT INTO t VALUES (1, 'a')")
    bench.once(start=start)
    xa.end("COMMIT")
    xa.prepare("INSERT INTO t VALUES (2, 'b')", xid="y")
    xa.end("COMMIT", "y")
    records = bench.once()
    assert latest(records) == shown(source, "t")
    assert copies(records) == []


@pytest.mark.parametrize("key", ["PRIMARY KEY", ""], ids=["in chunks", "in one pass"])
def test_a_copy_ranks_below_prepared_transactions_that_it_does_not_show(
    bench: Bench, source: SourceDatabase, xa: Xa, key: str
) -> None:
    start = begin(source)
    source.run(f"CREATE TABLE t (id INT {key}, name VARCHAR(30))", "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    xa.prepare("UPDATE t SET name = 'new' WHERE id = 1")
    if key:  # without one, the first transaction has locked all rows
        xa.prepare("UPDATE t SET name = 'newer' WHERE id = 2", xid="y")
    bench.once(start=start)
    records = bench.once(snapshot=True)
    assert [record["data"]["name"] for record in copies(records)] == ["a", "b"]
    before = bench.checkpoint()["prepared"][0]["place"]
    xa.end("COMMIT")
    if key:
        xa.end("COMMIT", "y")
    records = bench.once()
    assert len(copies(records)) == 2
    assert [scan["copy"]["start"] for scan in bench.checkpoint()["sweeps"]] == [before]
    if key:
        assert latest(records) == shown(source, "t")


@on(MySql)
def test_a_copy_that_reads_with_locks_waits_for_prepared_transactions(bench: Bench, source: SourceDatabase, xa: Xa) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    xa.prepare("UPDATE t SET name = 'new' WHERE id = 1")
    with bench.running(start=start, snapshot=True):
        eventually(lambda: source.rows("SELECT 1 FROM performance_schema.data_lock_waits"))
        xa.end("COMMIT")
        eventually(lambda: len(copies(bench.publisher.records())) == 2)
    assert [record["data"]["name"] for record in copies(bench.publisher.records())] == ["new", "b"]
    assert latest(bench.publisher.records()) == shown(source, "t")


def test_a_copy_that_ranks_above_a_prepared_transaction_is_made_again_at_its_commit(
    bench: Bench, source: SourceDatabase, xa: Xa
) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    xa.prepare("UPDATE t SET name = 'new' WHERE id = 1")
    bench.once(start=start)
    records = bench.once(again=TableFilter((source.name,)))
    assert len(copies(records)) == 2
    xa.end("COMMIT")
    records = bench.once()
    assert (len(copies(records)), latest(records)) == (4, shown(source, "t"))


def test_unlogged_changes_by_a_foreign_key_are_copied_at_the_commit(bench: Bench, source: SourceDatabase, xa: Xa) -> None:
    start = begin(source)
    source.run(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE SET NULL)",
        "INSERT INTO parent VALUES (1)",
        "INSERT INTO child VALUES (1, 1)",
    )
    xa.prepare("DELETE FROM parent WHERE id = 1")
    bench.once(start=start)
    xa.end("COMMIT")
    assert latest(bench.once()) == shown(source, "child")


@pytest.mark.parametrize(
    ("how", "snapshot", "copied"), [("COMMIT", True, 2), ("COMMIT", False, 0), ("ROLLBACK", True, 1), ("ROLLBACK", False, 0)]
)
def test_transactions_prepared_before_the_start_are_copied_only_where_copies_lack_them(
    bench: Bench, source: SourceDatabase, xa: Xa, how: str, snapshot: bool, copied: int
) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    xa.prepare("UPDATE t SET name = 'new'")
    bench.once(start=begin(source), snapshot=snapshot)
    xa.end(how)
    records = bench.once()
    assert len(copies(records)) == copied
    if snapshot:
        assert latest(records) == shown(source, "t")


def test_a_prepared_transaction_outlives_the_server(bench: Bench, source: SourceDatabase, xa: Xa) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    xa.prepare("UPDATE t SET name = 'new'")
    bench.once(start=start)
    source.server.stop()
    source.server.start()
    bench.once(snapshot=True)
    xa.end("COMMIT")
    records = bench.once()
    assert len(copies(records)) == 1
    with closing(connect(source.server.address)) as connection:
        connection.select_db(source.name)
        assert latest(records) == shown(replace(source, connection=connection), "t")


# Prepared transactions and their rows in memory.

TABLE, OTHER = TableName("shop", "a"), TableName("shop", "b")


def at(offset: int, epoch: int = 1) -> LogPosition:
    return LogPosition(epoch, "bin.000001", offset)


def prepared(xid: str, offset: int, *tables: TableName) -> PreparedTransaction:
    return PreparedTransaction(xid, at(offset), 1_700_000_000, frozenset(tables or (TABLE,)))


def test_a_reused_identifier_is_another_transaction() -> None:
    known = plus(plus(plus((), prepared("x", 1)), prepared("y", 2)), prepared("x", 3, OTHER))
    assert [(one.xid, one.position.offset) for one in known] == [("y", 2), ("x", 3)]
    assert tables_of(known, "x") == {OTHER}
    assert without(known, "x") == (prepared("y", 2),)


def test_the_oldest_of_too_many_prepared_transactions_are_merged() -> None:
    known: tuple[PreparedTransaction, ...] = ()
    for number in range(2_000):
        known = plus(known, prepared(str(number), number, OTHER if number == 3 else TABLE))
    assert len(known) == 1_000
    assert [tables_of(known, xid) for xid in ("3", "1500")] == [{TABLE, OTHER}, {TABLE}]
    assert known[0].position == at(0)


def test_a_transaction_prepared_before_the_start_has_no_known_tables() -> None:
    assert tables_of((), "x") == frozenset()


def nothing() -> RowsChanged:
    raise AssertionError("these rows are not read")


def test_rows_of_prepared_transactions_are_kept_up_to_a_number_of_bytes() -> None:
    rows = PreparedRows(max_bytes=100)
    for offset, xid in enumerate("abc"):
        rows.keep(xid, at(offset), (nothing,), 40)
    assert [rows.find(prepared(xid, offset)) is None for offset, xid in enumerate("abc")] == [True, False, False]
    assert rows.find(prepared("b", 7)) is None  # the same identifier, another transaction
    rows.keep("d", at(3), (nothing,), 101)
    assert rows.find(prepared("d", 3)) is None
    rows.keep("e", at(4), (nothing,), 100)
    rows.forget("e")
    assert rows.find(prepared("e", 4)) is None
