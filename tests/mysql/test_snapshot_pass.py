"""Snapshots of tables without a suitable key, which are read in one pass."""

from __future__ import annotations

from contextlib import closing

import pytest
from support.database_servers import MariaDb, MySql
from support.snapshot import chunks, fresh, rows_of
from support.source_database import SourceDatabase, numbers, on

from onefold.core.errors import TryAgain
from onefold.mysql.connection import connect
from onefold.mysql.snapshot.chunks import next_chunk

pytestmark = on(MariaDb, long=MySql)

WITHOUT_PAGES = {
    "no key": "(a INT, b VARCHAR(9))",
    "a key over a prefix": "(a INT, b VARCHAR(9), PRIMARY KEY (b(2)))",
    "a key that may be NULL": "(a INT, b VARCHAR(9), UNIQUE KEY (b))",
    "an engine without transactions": "(a INT, b VARCHAR(9)) ENGINE=MyISAM",
    "an index without an order": "(a INT, b VARCHAR(9), PRIMARY KEY (b)) ENGINE=MEMORY",
}


@pytest.mark.parametrize("declared", WITHOUT_PAGES.values(), ids=WITHOUT_PAGES)
@pytest.mark.usefixtures("read_method")
def test_tables_without_an_order_are_read_in_one_pass(source: SourceDatabase, declared: str) -> None:
    check_pass(source, declared)


@on(MariaDb)
@pytest.mark.usefixtures("read_method")
def test_a_table_with_a_key_over_a_hash_is_read_in_one_pass(source: SourceDatabase) -> None:
    check_pass(source, "(a INT, b TEXT NOT NULL, UNIQUE KEY (b))")


def check_pass(source: SourceDatabase, declared: str) -> None:
    source.run(f"CREATE TABLE t {declared}", "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    read = list(chunks(source))
    assert sorted(rows_of(read)) == [(1, "a"), (2, "b"), (3, "c")]
    assert {chunk.position for chunk in read} == {read[0].progress.start}


@pytest.mark.usefixtures("read_method")
def test_a_pass_shows_the_table_as_it_was_at_its_start(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1), (2), (3)")
    read = chunks(source, 2, between=lambda _: source.run("UPDATE t SET a = a + 10"))
    assert sorted(rows_of(list(read))) == [(1,), (2,), (3,)]


def test_passes_continue_in_parallel_with_each_other_and_with_other_queries(source: SourceDatabase) -> None:
    for table in ("t", "u"):
        source.run(f"CREATE TABLE {table} (a INT)", f"INSERT INTO {table} VALUES (1), (2), (3)")
    pairs = zip(chunks(source, 2, "t"), chunks(source, 2, "u"), strict=True)
    read = [(chunk, other, source.rows("SELECT 1")) for chunk, other in pairs]
    assert sorted(row for chunk, _, _ in read for row in chunk.rows) == [(1,), (2,), (3,)]
    assert sorted(row for _, chunk, _ in read for row in chunk.rows) == [(1,), (2,), (3,)]


def test_a_pass_that_broke_off_starts_again(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1), (2), (3)")
    first = next_chunk(source.connection, fresh(source), 1, 2)
    assert first
    source.run("INSERT INTO t VALUES (4)")
    with closing(connect(source.server.address)) as connection:
        second = next_chunk(connection, first.progress, 1, 9)
    assert second
    assert (sorted(second.rows), second.progress.rows) == ([(1,), (2,), (3,), (4,)], 4)
    assert second.progress.start == second.position != first.position

    third = next_chunk(source.connection, second.progress, 1, 9)  # no progress of the pass that is open here
    assert third
    assert third.progress.rows == 4


def sessions(source: SourceDatabase) -> set[int]:
    """Those of the server, which other tests share. INNODB_TRX would name the pass's alone, but may be 0.1 s old."""
    return {number for number, *_ in source.rows("SHOW PROCESSLIST")}


def test_a_pass_whose_connection_is_lost_starts_again(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (a INT, v LONGTEXT)", f"INSERT INTO t SELECT seq, REPEAT('x', 100000) FROM {numbers(1, 300)}")
    others = sessions(source)
    first = next_chunk(source.connection, fresh(source), 1, 1)
    assert first
    (number,) = sessions(source) - others
    source.run(f"KILL {number}")
    with pytest.raises(TryAgain, match=f"the copy of {source.name}.t cannot be read on"):
        next_chunk(source.connection, first.progress, 1, 1000)
    again = next_chunk(source.connection, first.progress, 1, 1000)
    assert again
    assert len({row[0] for row in again.rows}) == again.progress.rows > 1


def test_a_pass_ends_with_the_connection_that_asked_for_it(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1), (2), (3)")
    asking = connect(source.server.address)
    assert next_chunk(asking, fresh(source), 1, 1)
    asking.close()
    del asking
    source.run("SET lock_wait_timeout = 10", "ALTER TABLE t ADD COLUMN b INT")
