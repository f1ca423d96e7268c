"""Snapshots while the table changes: folded with the changes since, they end as the table is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from support.capture import eventually
from support.database_servers import MariaDb, MySql
from support.snapshot import chunks, everything, fold, fresh, rows_of
from support.source_database import SourceDatabase, end_of_log, numbers, on
from support.writers import in_the_log_only, writers_at_work

from onefold.capture.source import CapturedSource
from onefold.core.errors import TryAgain
from onefold.mysql.connection import connect
from onefold.mysql.snapshot import consistent_read
from onefold.mysql.snapshot.chunks import Chunk, next_chunk
from onefold.mysql.table_filter import TableFilter

pytestmark = on(MariaDb, MySql)


def after_first(source: SourceDatabase, statement: str) -> Callable[[int], None]:
    """Runs a statement between the first and the second chunk."""
    return lambda number: source.run(statement) if number == 0 else None


RESTARTS = {
    "a column more": "ALTER TABLE t ADD COLUMN w INT DEFAULT 7",
    "another type": "ALTER TABLE t MODIFY v BIGINT",
    "another key": "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (v, id)",
    "another order of the key": "ALTER TABLE t MODIFY id VARCHAR(9) COLLATE utf8mb4_bin",
    "other numbers of the same values": "ALTER TABLE t MODIFY e ENUM('b', 'a')",
    "no key": "ALTER TABLE t DROP PRIMARY KEY",
}


@pytest.mark.parametrize("statement", RESTARTS.values(), ids=RESTARTS)
def test_a_table_that_is_altered_during_the_copy_is_read_again(source: SourceDatabase, statement: str) -> None:
    source.run("CREATE TABLE t (id VARCHAR(9) PRIMARY KEY, v INT NOT NULL, e ENUM('a', 'b'))")
    source.run("INSERT INTO t VALUES ('a', 3, 'a'), ('B', 2, 'b'), ('c', 1, 'a')")
    first, *others = chunks(source, 2, between=after_first(source, statement))
    assert others[-1].progress.rows == 3
    assert others[0].progress.start == others[0].position != first.position
    assert sorted(rows_of(others)) == sorted(everything(source))


CHANGES = {
    "an insert before the last key": "INSERT INTO t VALUES (0, 'new')",
    "an insert behind it": "INSERT INTO t VALUES (35, 'new')",
    "an update of a row that was read": "UPDATE t SET v = 'new' WHERE id = 10",
    "an update of one that was not": "UPDATE t SET v = 'new' WHERE id = 40",
    "a key that moves back": "UPDATE t SET id = 5 WHERE id = 40",
    "a key that moves on": "UPDATE t SET id = 45 WHERE id = 10",
    "a deletion of a row that was read": "DELETE FROM t WHERE id = 10",
    "a deletion of one that was not": "DELETE FROM t WHERE id = 40",
    "the last row that was read": "DELETE FROM t WHERE id = 20",
    "all at once": "UPDATE t SET id = 100 - id",
}


@pytest.mark.usefixtures("read_method")
def test_chunks_and_changes_between_them_give_the_table(source: SourceDatabase) -> None:
    read = {}
    for number, (name, statement) in enumerate(CHANGES.items()):
        source.run(f"CREATE TABLE t{number} (id INT PRIMARY KEY, v TEXT)")
        source.run(f"INSERT INTO t{number} VALUES (10, 'a'), (20, 'b'), (30, 'c'), (40, 'd')")
        change = statement.replace(" t ", f" t{number} ")
        read[name] = list(chunks(source, 2, f"t{number}", after_first(source, change)))
    changes = source.changes()
    for number, name in enumerate(CHANGES):
        of_table = [change for change in changes if change.structure.table == f"t{number}"]
        assert fold(source, read[name], of_table, ["id"]) == sorted(everything(source, f"t{number}"), key=repr), name


def test_the_copy_ends_if_the_table_is_emptied_or_dropped(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2), (3)")
    first = next_chunk(source.connection, fresh(source), 1, 1)
    assert first
    source.run("TRUNCATE TABLE t")
    second = next_chunk(source.connection, first.progress, 1, 1)
    assert second
    assert (second.rows, second.progress.finished) == ((), True)
    source.run("DROP TABLE t")
    assert next_chunk(source.connection, first.progress, 1, 1) is None


@pytest.mark.usefixtures("read_method")
def test_with_concurrent_writers_snapshot_and_changes_give_the_table(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", f"INSERT INTO t SELECT seq, 0 FROM {numbers(1, 60)}")
    with writers_at_work(source, 3):
        taken = [list(_patient_chunks(source, 7)) for _ in range(4)]
    changes, table = source.changes(), sorted(everything(source), key=repr)
    for read in taken:
        assert {chunk.position for chunk in read} != {read[0].position}, "nothing was written meanwhile"
        assert fold(source, read, changes, ["id"]) == table


def _patient_chunks(source: SourceDatabase, rows: int) -> Iterator[Chunk]:
    progress = fresh(source)
    while not progress.finished:
        try:
            chunk = next_chunk(source.connection, progress, 1, rows)
        except TryAgain:
            continue  # the writers and the snapshot locked each other out
        assert chunk
        yield chunk
        if progress.start is None:
            eventually(lambda at=chunk.position: end_of_log(source.connection) != at)  # type: ignore[misc]
        progress = chunk.progress


@on(MariaDb)
def test_a_logged_transaction_that_tables_do_not_show_yet_is_not_lost(source: SourceDatabase) -> None:
    """Why it does not do to ask for the end of the log and to read then, as is often done."""
    source.run("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES (1, 'old')")
    with in_the_log_only(source, f"UPDATE {source.name}.t SET v = 'new'"):
        naive = end_of_log(source.connection)
        assert source.rows("SELECT v FROM t") == [("old",)]
        start = CapturedSource(source.server.address, TableFilter(), 1).end_position(1)
        read = list(chunks(source, 9))
    (_, change) = source.changes()
    assert start.offset <= change.position.offset, "reading begins before what no copy shows"
    assert read[0].rows == ((1, "old"),)
    assert change.position.offset < naive.offset, "at that position the old row would hide the change"
    assert fold(source, read, source.changes(), ["id"]) == [(1, "new")]


@pytest.mark.parametrize("key", ["PRIMARY KEY", ""], ids=["pages", "a pass"])
def test_locks_wait_for_transactions_that_the_table_does_not_show_yet(
    source: SourceDatabase, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(consistent_read, "has_view_positions", lambda _: False)
    monkeypatch.setattr(consistent_read, "tables_show_log", lambda _: False)
    monkeypatch.setattr(consistent_read, "_LOCK_SECONDS", 0)
    source.run(f"CREATE TABLE t (id INT {key}, v TEXT)", "INSERT INTO t VALUES (1, 'old')")
    source.run("XA START 'x'", "UPDATE t SET v = 'new'", "XA END 'x'", "XA PREPARE 'x'")
    with closing(connect(source.server.address)) as connection:
        with pytest.raises(TryAgain, match=f"the copy of {source.name}.t cannot be read on"):
            next_chunk(connection, fresh(source), 1)
        source.run("XA COMMIT 'x'")
        chunk = next_chunk(connection, fresh(source), 1)
    assert chunk
    assert chunk.rows == ((1, "new"),)
