"""Copies from MySQL without locks: a read begins when tables show what is in the log, and nobody waits for the read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pymysql
import pytest
from support.database_servers import DatabaseServer, MySql, new_server
from support.snapshot import chunks, everything, fold, fresh
from support.source_database import WAIT_SECONDS, SourceDatabase, end_of_log, numbers
from support.writers import in_the_log_only, writers_at_work

from onefold.mysql.connection import connect, query
from onefold.mysql.snapshot import consistent_read
from onefold.mysql.snapshot.chunks import Chunk, next_chunk
from onefold.mysql.snapshot.commit_barrier import tables_show_log

GTIDS = {"GTIDs": "ON", "no GTIDs": "OFF"}


@pytest.fixture(scope="module", params=list(GTIDS.values()), ids=list(GTIDS))
def server(request: pytest.FixtureRequest) -> Iterator[DatabaseServer]:
    modes = (f"--gtid-mode={request.param}", f"--enforce-gtid-consistency={request.param}")
    with new_server(MySql, *modes, "--transaction-isolation=READ-COMMITTED") as found:
        yield found


@pytest.fixture
def reader(source: SourceDatabase) -> Iterator[pymysql.Connection]:
    with closing(connect(source.server.address)) as connection:
        yield connection


@pytest.fixture(autouse=True)
def _without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No read of these tests may fall back to locks."""
    monkeypatch.setattr(consistent_read, "tables_show_log", lambda connection: tables_show_log(connection, 60))


def test_the_barrier_holds_while_a_logged_transaction_is_not_visible(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES (1, 'old')")
    assert tables_show_log(source.connection, 0)
    with in_the_log_only(source, f"UPDATE {source.name}.t SET v = 'new'"):
        assert not tables_show_log(source.connection, 0)
    assert tables_show_log(source.connection, 60)


def test_the_barrier_holds_while_a_prepared_transaction_is_being_committed(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES (1, 'old')")
    source.prepare("'x'", "UPDATE t SET v = 'new'")
    assert tables_show_log(source.connection, 0), "a transaction that is prepared holds nobody up"
    with in_the_log_only(source, "XA COMMIT 'x'"):
        assert source.rows("SELECT v FROM t") == [("old",)]
        assert not tables_show_log(source.connection, 0)


@pytest.mark.parametrize("key", ["PRIMARY KEY", ""], ids=["pages", "a pass"])
def test_a_read_waits_until_the_table_shows_what_is_in_the_log(
    source: SourceDatabase, reader: pymysql.Connection, key: str
) -> None:
    source.run(f"CREATE TABLE t (id INT {key}, v TEXT)", "INSERT INTO t VALUES (1, 'old')")
    waits = "SELECT COUNT(*) FROM performance_schema.events_statements_history WHERE SQL_TEXT LIKE %s"
    before = query(source.connection, waits, ("SHOW GLOBAL STATUS LIKE%",))
    with ThreadPoolExecutor() as pool:
        with in_the_log_only(source, f"UPDATE {source.name}.t SET v = 'new'"):
            assert source.rows("SELECT v FROM t") == [("old",)]
            reading = pool.submit(next_chunk, reader, fresh(source), 1)
            while query(source.connection, waits, ("SHOW GLOBAL STATUS LIKE%",)) == before:
                assert not reading.done(), reading.result()
        chunk = reading.result()
    assert chunk
    assert chunk.rows == ((1, "new"),)


@pytest.mark.parametrize("key", ["PRIMARY KEY", ""], ids=["pages", "a pass"])
def test_a_read_does_not_wait_for_a_transaction_that_has_not_committed(
    source: SourceDatabase, reader: pymysql.Connection, key: str
) -> None:
    source.run(f"CREATE TABLE t (id INT {key}, v TEXT)", "INSERT INTO t VALUES (1, 'old')")
    source.run("BEGIN", "UPDATE t SET v = 'new'")
    chunk = next_chunk(reader, fresh(source), 1)
    assert chunk
    assert chunk.rows == ((1, "old"),)
    source.run("COMMIT")
    (_, change) = source.changes()
    assert chunk.position.order < change.position.order, "the change is published above the row that was read"


@pytest.mark.parametrize("key", ["PRIMARY KEY", ""], ids=["pages", "a pass"])
def test_a_row_can_be_written_while_its_chunk_is_read(
    source: SourceDatabase, reader: pymysql.Connection, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    source.run(f"CREATE TABLE t (id INT {key}, v TEXT)", "INSERT INTO t VALUES (1, 'old')")
    source.run("SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 1")
    describe, written = consistent_read.describe, []

    def describe_and_write(*args: object) -> object:
        """The second description of a read comes when its view has begun, and before its rows are read."""
        found = describe(*args)  # type: ignore[arg-type]
        written.append(end_of_log(source.connection))
        source.run("UPDATE t SET v = CONCAT(v, '+')")  # fails after a second if the read held a lock
        return found

    monkeypatch.setattr(consistent_read, "describe", describe_and_write)
    chunk = next_chunk(reader, fresh(source), 1)
    assert chunk
    assert (len(written), chunk.rows) == (1, ((1, "old"),))
    assert chunk.position.order <= written[0].order, "the change ranks above the row that was read"


def reads_of_a_changing_table(source: SourceDatabase, number: int) -> list[list[Chunk]]:
    """Read the table as often as it takes for something to have been written during so many of the reads."""
    taken, end = list[list[Chunk]](), time.monotonic() + WAIT_SECONDS
    while len(taken) < number:
        assert time.monotonic() < end, "nothing was written meanwhile"
        read = list(chunks(source, 7))
        if len({chunk.position for chunk in read}) > 1:
            taken.append(read)
    return taken


def test_with_writers_at_work_nobody_waits_for_a_lock_and_nothing_is_stale(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", f"INSERT INTO t SELECT seq, 0 FROM {numbers(1, 60)}")
    with writers_at_work(source, 1):  # one writer: several would wait for each other
        waits = source.rows("SHOW GLOBAL STATUS LIKE 'Innodb\\_row\\_lock\\_waits'")
        taken = reads_of_a_changing_table(source, 8)
        assert source.rows("SHOW GLOBAL STATUS LIKE 'Innodb\\_row\\_lock\\_waits'") == waits
    changes, table = source.changes(), sorted(everything(source), key=repr)
    for read in taken:
        assert fold(source, read, changes, ["id"]) == table
