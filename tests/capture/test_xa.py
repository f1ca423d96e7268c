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

from onefold.capture.checkpoint import Checkpoint, Progress
from onefold.capture.state import CaptureState, lowest
from onefold.capture.xa import PreparedRows, PreparedTransaction, plus, tables_of, without
from onefold.mysql.binlog.events import Committed, LogPosition, RowsChanged
from onefold.mysql.catalog import TableName
from onefold.mysql.connection import connect, query
from onefold.mysql.snapshot.chunks import ChunkPosition, TableSnapshot
from onefold.mysql.table_filter import TableFilter


class Xa:
    """XA transactions of one test, whose sessions are over."""

    def __init__(self, source: SourceDatabase) -> None:
        self._source = source

    def prepare(self, *statements: str, xid: str = "x") -> None:
        self._source.prepare(self._name(xid), *statements)

    def end(self, how: str, xid: str = "x") -> None:
        with closing(connect(self._source.server.address)) as connection:
            query(connection, f"XA {how} {self._name(xid)}")

    def _name(self, xid: str) -> str:
        return f"'{self._source.name}', '{xid}', 7"


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    return bench_of(source, tmp_path)


@pytest.fixture
def xa(source: SourceDatabase) -> Xa:
    return Xa(source)


def copies(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["metadata"]["ingestion_method"] == "SNAPSHOT"]


@on(MariaDb, MySql)
@pytest.mark.parametrize("how", ["COMMIT", "ROLLBACK"])
def test_the_log_tells_of_both_steps_by_the_same_name(source: SourceDatabase, xa: Xa, how: str) -> None:
    source.run(CREATE)
    xa.prepare("INSERT INTO t VALUES (1, 'a')")
    xa.end(how)
    source.run("XA START 'one'", "INSERT INTO t VALUES (2, 'b')", "XA END 'one'", "XA COMMIT 'one' ONE PHASE")
    told = [event.two_phase for event in source.log() if isinstance(event, Committed)]
    steps = [(step.xid, step.step) if step else None for step in told]
    xid = f"X'{source.name.encode().hex()}',X'78',7"
    assert steps == [None, (xid, "prepared"), (xid, "committed" if how == "COMMIT" else "rolled back"), None]


@on(MariaDb, MySql)
@pytest.mark.parametrize("restart", [False, True], ids=["at once", "with a start between"])
def test_of_what_is_rolled_back_nothing_is_published(bench: Bench, source: SourceDatabase, xa: Xa, restart: bool) -> None:
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
def test_transactions_of_two_phases_alone_copy_nothing(bench: Bench, source: SourceDatabase, xa: Xa) -> None:
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
def test_a_copy_stands_below_what_is_prepared_and_it_does_not_show(
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
    assert [sweep["copy"]["start"] for sweep in bench.checkpoint()["sweeps"]] == [before]
    if key:
        assert latest(records) == shown(source, "t")


@on(MySql)
def test_a_copy_that_reads_with_locks_waits_for_what_is_prepared(bench: Bench, source: SourceDatabase, xa: Xa) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    xa.prepare("UPDATE t SET name = 'new' WHERE id = 1")
    with bench.running(start=start, snapshot=True):
        eventually(lambda: source.rows("SELECT 1 FROM performance_schema.data_lock_waits"))
        xa.end("COMMIT")
        eventually(lambda: len(copies(bench.publisher.records())) == 2)
    assert [record["data"]["name"] for record in copies(bench.publisher.records())] == ["new", "b"]
    assert latest(bench.publisher.records()) == shown(source, "t")


def test_a_copy_that_had_to_stand_above_what_is_prepared_is_made_again(bench: Bench, source: SourceDatabase, xa: Xa) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    xa.prepare("UPDATE t SET name = 'new' WHERE id = 1")
    bench.once(start=start)
    records = bench.once(again=TableFilter((source.name,)))
    assert len(copies(records)) == 2
    xa.end("COMMIT")
    records = bench.once()
    assert (len(copies(records)), latest(records)) == (4, shown(source, "t"))


def test_what_a_foreign_key_does_below_the_log_shows_when_it_is_committed(
    bench: Bench, source: SourceDatabase, xa: Xa
) -> None:
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
def test_what_was_prepared_before_the_start_makes_copies_again_only_where_they_lack_it(
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


# What is kept of them.

TABLE, OTHER = TableName("shop", "a"), TableName("shop", "b")


def place(offset: int, epoch: int = 1) -> LogPosition:
    return LogPosition(epoch, "bin.000001", offset)


def prepared(xid: str, offset: int, *tables: TableName) -> PreparedTransaction:
    return PreparedTransaction(xid, place(offset), 1_700_000_000, frozenset(tables or (TABLE,)))


def test_an_identifier_that_comes_again_is_another_transaction() -> None:
    those = plus(plus(plus((), prepared("x", 1)), prepared("y", 2)), prepared("x", 3, OTHER))
    assert [(one.xid, one.position.offset) for one in those] == [("y", 2), ("x", 3)]
    assert tables_of(those, "x") == {OTHER}
    assert without(those, "x") == (prepared("y", 2),)


def test_of_too_many_the_oldest_are_kept_as_one() -> None:
    those: tuple[PreparedTransaction, ...] = ()
    for number in range(2_000):
        those = plus(those, prepared(str(number), number, OTHER if number == 3 else TABLE))
    assert len(those) == 1_000
    assert [tables_of(those, xid) for xid in ("3", "1500")] == [{TABLE, OTHER}, {TABLE}]
    assert those[0].position == place(0)


def test_nothing_is_known_of_those_from_before_the_start() -> None:
    assert tables_of((), "x") == frozenset()


def ledger_at(
    offset: int, *those: PreparedTransaction, since: LogPosition | None = None
) -> tuple[CaptureState, ChunkPosition]:
    state = CaptureState(Checkpoint("shop-db", "shop"))
    state.request_copies([TABLE], since or lowest(1))
    copy = state.next_copy()
    assert copy
    state.mark_read(Progress(place(offset), prepared=those), place(offset - 50))
    return state, state.chunk_position(copy)


def test_rows_stand_where_the_log_is_read_but_below_what_is_prepared_of_their_table() -> None:
    assert ledger_at(500)[1] == ChunkPosition(place(450), place(500))
    assert ledger_at(500, prepared("x", 300), prepared("y", 400))[1] == ChunkPosition(place(450), place(300))
    assert ledger_at(500, prepared("x", 300, OTHER))[1] == ChunkPosition(place(450), place(500))


def test_rows_never_stand_before_the_place_that_they_are_to_show() -> None:
    assert ledger_at(500, prepared("x", 300), since=place(400))[1] == ChunkPosition(place(450), place(400))
    assert ledger_at(500, since=place(600))[1] == ChunkPosition(place(600), place(600))


@pytest.mark.parametrize(
    ("since", "before", "committed", "lacks"),
    [(400, 300, 500, True), (200, 300, 500, False), (600, 300, 500, False), (400, None, 500, True), (600, None, 500, False)],
)
def test_a_copy_lacks_a_transaction_if_it_began_between_its_two_steps(
    since: int, before: int | None, committed: int, lacks: bool
) -> None:
    for stage in ("wanted", "begun", "finished"):
        state = CaptureState(Checkpoint("shop-db", "shop"))
        state.request_copies([TABLE], place(since))
        copy = state.next_copy() if stage != "wanted" else None
        if copy and stage == "finished":
            copy.tracker.mark(TableSnapshot("shop", "a", place(since), finished=True))
        assert state.copy_may_lack(TABLE, place(committed), place(before) if before else None) == lacks
        assert not state.copy_may_lack(OTHER, place(committed), None)


def test_of_a_first_copy_that_was_finished_long_ago_nothing_is_known() -> None:
    state = CaptureState(Checkpoint("shop-db", "shop", copied=True))
    assert state.copy_may_lack(TABLE, place(500), None)
    assert not state.copy_may_lack(TABLE, place(500), place(300))


def nothing() -> RowsChanged:
    raise AssertionError("nobody reads it")


def test_rows_of_prepared_transactions_are_kept_within_a_bound() -> None:
    kept = PreparedRows(max_bytes=100)
    for offset, xid in enumerate("abc"):
        kept.keep(xid, place(offset), (nothing,), 40)
    assert [kept.find(prepared(xid, offset)) is None for offset, xid in enumerate("abc")] == [True, False, False]
    assert kept.find(prepared("b", 7)) is None  # the same name, another transaction
    kept.keep("d", place(3), (nothing,), 101)
    assert kept.find(prepared("d", 3)) is None
    kept.keep("e", place(4), (nothing,), 100)
    kept.forget("e")
    assert kept.find(prepared("e", 4)) is None
