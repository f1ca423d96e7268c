"""Transactions: rows are published after the commit was read, and never if they were rolled back.

The source's tables are the oracle, in the end and after each transaction.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest
from capture.test_xa import Xa
from support.capture import Bench, begin, bench_of, purge
from support.database_servers import MariaDb, MySql, new_server
from support.source_database import SourceDatabase, end_of_log, on

from onefold.capture.checkpoint import Progress
from onefold.mysql.binlog import transactions
from onefold.mysql.binlog.events import Committed, IncompleteTransaction, LogPosition, RowsChanged, Statement
from onefold.mysql.binlog.stream import follow
from onefold.mysql.connection import connect, query
from onefold.mysql.table_filter import TableFilter

TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE u (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE m (id INT PRIMARY KEY, n INT) ENGINE=MyISAM",
    "INSERT INTO t VALUES (1, 1), (2, 2)",
)
LOGGED = "INSERT INTO m VALUES (90, 0)"
"""Within a transaction, MariaDB logs what is rolled back from here on."""
HANDLER = """
CREATE PROCEDURE p() BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION ROLLBACK;
  START TRANSACTION; DELETE FROM t; INSERT INTO m VALUES (91, 0); INSERT INTO u VALUES (1, 1), (1, 2); COMMIT;
END
"""


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    source.run(*TABLES[:3])
    return bench_of(source, tmp_path)


def folded_rows(records: Iterable[dict[str, Any]]) -> dict[str, list[tuple[int, int]]]:
    """The rows of each table: those of the greatest position of each key, without deletions."""
    best: dict[tuple[str, int], tuple[tuple[tuple[int, ...], bool], tuple[int, int] | None]] = {}
    for record in records:
        data, metadata = record["data"], record["metadata"]
        position = tuple(int(section, 16) for section in metadata["change_sequence_number"].split("/"))
        gone = metadata["change_type"].endswith("DELETE")
        key = metadata["table_name"], data["id"]
        rank = position, not gone
        if key not in best or rank >= best[key][0]:
            best[key] = rank, None if gone else (data["id"], data["n"])
    tables: dict[str, list[tuple[int, int]]] = {}
    for (table, _), (_, row) in best.items():
        tables.setdefault(table, []).extend([row] if row else [])
    return {table: sorted(rows) for table, rows in tables.items() if rows}


def shown(source: SourceDatabase) -> dict[str, list[tuple[int, int]]]:
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


def run(source: SourceDatabase, statements: Sequence[str]) -> None:
    """Run statements in a session of their own. Statements that the server refuses have no effect."""
    with closing(connect(source.server.address)) as connection:
        connection.select_db(source.name)
        for statement in statements:
            if statement == "KILL":
                return
            with suppress(pymysql.err.MySQLError):
                query(connection, statement)


@on(MariaDb, MySql)
@pytest.mark.parametrize("max_bytes", [8_000_000, 60], ids=["buffered", "read twice"])
@pytest.mark.parametrize("case", ROLLED_BACK)
def test_rows_that_were_rolled_back_are_not_published(
    bench: Bench, source: SourceDatabase, case: str, max_bytes: int
) -> None:
    source.run(TABLES[3])
    bench.once(start=Progress(source.start))
    run(source, ROLLED_BACK[case])
    if source.on_mariadb:
        assert any(event.text.startswith("ROLLBACK TO") for event in statements(source)) == ("savepoint" in case)
    records = once(bench, max_bytes)
    assert folded_rows(records) == shown(source)
    assert not is_copied(records)
    assert len(records) == len({record["metadata"]["change_sequence_number"] for record in records})


def once(bench: Bench, max_bytes: int = 8_000_000, **options: Any) -> list[dict[str, Any]]:
    """Read up to the log's end, with another bound of the buffer, and return all records published since the beginning."""
    capture = bench.capture(once=True, **options)
    capture.source = replace(capture.source, max_transaction_bytes=max_bytes)
    capture.run()
    return bench.publisher.records()


def statements(source: SourceDatabase) -> list[Statement]:
    return [event for event in source.log() if isinstance(event, Statement)]


@on(MariaDb, MySql)
@pytest.mark.parametrize("max_bytes", [8_000_000, 500], ids=["buffered", "read twice"])
def test_random_transactions_give_the_source_s_tables(bench: Bench, source: SourceDatabase, max_bytes: int) -> None:
    """Over all engines, with savepoints, rollbacks, failing statements and procedures; capture looks after each."""
    source.run(TABLES[3], HANDLER, "SET GLOBAL log_bin_trust_function_creators = 1", FUNCTION)
    random_ = random.Random(max_bytes)
    once(bench, max_bytes, start=Progress(source.start))
    for number in range(25):
        done = list(random_statements(random_, source.on_mariadb))
        run(source, done)
        records = once(bench, max_bytes)
        assert without_swept(records, bench) == shown(source), (number, done)


# Not ROLLBACK TO: in a function it makes MariaDB write rows without their table.
FUNCTION = """
CREATE FUNCTION f(k INT) RETURNS INT BEGIN
  INSERT IGNORE INTO t VALUES (k, 0); SAVEPOINT b; INSERT IGNORE INTO u VALUES (k, 0); RETURN 1;
END
"""


def without_swept(records: Sequence[dict[str, Any]], bench: Bench) -> dict[str, list[tuple[int, int]]]:
    """Return the rows without those that a later copy did not contain, which the sweep deletes."""
    kept: list[dict[str, Any]] = []
    starts = {one["copy"]["table"]: one["copy"]["start"] for one in bench.checkpoint()["sweeps"]}
    for record in records:
        start = starts.get(record["metadata"]["table_name"])
        position = [int(section, 16) for section in record["metadata"]["change_sequence_number"].split("/")]
        if not start or position >= [start["epoch"], int(start["file"].rpartition(".")[2]), start["offset"]]:
            kept.append(record)
    return folded_rows(kept)


@pytest.mark.parametrize("function", [False, True], ids=["again", "in a function"])
def test_if_two_savepoints_have_one_name_the_table_is_copied(bench: Bench, source: SourceDatabase, function: bool) -> None:
    """The log of both is alike, and the source is not."""
    source.run(TABLES[3], "SET GLOBAL log_bin_trust_function_creators = 1", FUNCTION)
    bench.once(start=Progress(source.start))
    inner = ("SELECT f(4)",) if function else ("INSERT INTO t VALUES (4, 0)", "SAVEPOINT b", "INSERT INTO u VALUES (4, 0)")
    run(source, ("BEGIN", "INSERT INTO t VALUES (3, 3)", "SAVEPOINT B", *inner, LOGGED, "ROLLBACK TO b", "COMMIT"))
    assert [event.text.split()[0] for event in statements(source)][-3:] == ["SAVEPOINT", "SAVEPOINT", "ROLLBACK"]
    records = bench.once()
    assert is_copied(records)
    assert without_swept(records, bench) == shown(source)
    assert ((4, 0) in shown(source)["t"]) != function


def random_statements(random_: random.Random, mixed: bool) -> Iterator[str]:
    """A transaction.

    Args:
        mixed: whether it may write tables of both kinds, as MySQL with GTIDs does not let it.
    """
    engines = ("t", "u", "m") if mixed else ("t", "u")
    yield "BEGIN"
    for _ in range(random_.randint(2, 12)):
        table, key, name = random_.choice(engines), random_.randint(1, 9), random_.choice("abcdABCD")
        yield random_.choice([
            f"INSERT INTO {table} VALUES ({key}, {key})", f"UPDATE {table} SET n = n + 1 WHERE id < {key}",
            f"DELETE FROM {table} WHERE id = {key}", f"REPLACE INTO {table} VALUES ({key}, 0)",
            f"INSERT INTO {table} VALUES ({key}, 1), ({key + 9}, 2), ({key}, 3)", f"SAVEPOINT {name}", f"SAVEPOINT {name}",
            f"ROLLBACK TO {name}", f"ROLLBACK TO {name}", f"RELEASE SAVEPOINT {name}",
            f"CREATE TEMPORARY TABLE x{key} (a INT)", f"DROP TEMPORARY TABLE x{key}", f"SELECT f({key})",
            "CALL p()" if random_.random() < 0.2 else "SELECT 1",
        ])  # fmt: skip
    yield random_.choice(["COMMIT", "COMMIT", "ROLLBACK", "KILL"])


@on(MariaDb, MySql)
def test_nothing_of_a_large_transaction_is_published_before_its_end_is_read(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run("INSERT INTO t VALUES (1, 1)", "BEGIN", *(f"INSERT INTO u VALUES ({n}, 0)" for n in range(20)), "COMMIT")
    source.run("INSERT INTO t VALUES (2, 2)")
    (end,) = [position for position, tables in skimmed(source, max_bytes=200) if tables == {"u"}]
    assert end
    records = once(bench, 200, start=start)
    assert folded_rows(records) == shown(source)
    assert len(records) == 22
    assert bench.checkpoint()["place"]["offset"] >= end.offset


def skimmed(source: SourceDatabase, max_bytes: int) -> Iterator[tuple[LogPosition, set[str]]]:
    """The ends of transactions that are larger than the bound, and their tables."""
    for event in follow(
        source.server.address, source.start, TableFilter((source.name,)), 999, blocking=False, max_buffered_bytes=max_bytes
    ):
        if isinstance(event, Committed) and event.unfinished:
            assert event.unfinished.rows is None
            yield event.position, {table for _, table in event.unfinished.tables}


@on(MariaDb, MySql)
@pytest.mark.parametrize("how", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("restart", [False, True], ids=["at once", "with a start between"])
@pytest.mark.parametrize("max_bytes", [8_000_000, 60], ids=["buffered", "read twice"])
def test_an_xa_transaction_is_published_when_it_is_committed(
    bench: Bench, source: SourceDatabase, xa: Xa, how: str, restart: bool, max_bytes: int
) -> None:
    source.run(TABLES[3])
    start = Progress(source.start)
    once(bench, max_bytes, start=start)
    temporary = ("CREATE TEMPORARY TABLE x (a INT)",) if source.on_mariadb else ()
    xa.prepare(
        "UPDATE t SET n = 7 WHERE id = 1", "SAVEPOINT s", "DELETE FROM t", *temporary, "ROLLBACK TO s",
        "INSERT INTO t VALUES (3, 3)",
    )  # fmt: skip
    source.run("INSERT INTO u VALUES (1, 1)")
    if restart:
        assert folded_rows(once(bench, max_bytes)) == shown(source)
    xa.end(how)
    source.run("INSERT INTO u VALUES (2, 2)")
    records = once(bench, max_bytes)
    assert folded_rows(records) == shown(source)
    assert not is_copied(records)
    assert len(records) == (6 if how == "COMMIT" else 4)
    assert bench.checkpoint()["prepared"] == []


def test_an_xa_transaction_whose_log_is_gone_is_copied(bench: Bench, source: SourceDatabase, xa: Xa) -> None:
    source.run(
        TABLES[3], "ALTER TABLE u ADD FOREIGN KEY (id) REFERENCES t (id) ON DELETE CASCADE", "INSERT INTO u VALUES (2, 9)"
    )
    bench.once(start=Progress(source.start))
    xa.prepare("DELETE FROM t WHERE id = 2")
    source.run("FLUSH BINARY LOGS")
    bench.once()
    purge(source)
    xa.end("COMMIT")
    bench.once()
    assert sorted(one["copy"]["table"] for one in bench.checkpoint()["sweeps"]) == ["t", "u"]


def test_rows_published_when_prepared_are_copied_again_after_a_rollback(
    bench: Bench, source: SourceDatabase, xa: Xa
) -> None:
    """A checkpoint of an earlier version does not say so."""
    source.run(TABLES[3])
    bench.once(start=Progress(source.start))
    xa.prepare("DELETE FROM t")
    bench.once()
    file = bench.folder / "checkpoint" / "checkpoint.json"
    body = bench.checkpoint()
    del body["prepared"][0]["published"]
    file.write_text(json.dumps(body))
    xa.end("ROLLBACK")
    assert is_copied(bench.once())


@pytest.fixture
def xa(source: SourceDatabase) -> Xa:
    return Xa(source)


def test_nothing_of_a_transaction_that_a_crash_cut_off_is_published(tmp_path: Path) -> None:
    """A killed server, whose log lost the commit; the table may have the row, and so is copied."""
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
"""Of the event that ends a transaction, with its checksum."""


def test_an_alter_that_mariadb_logs_twice_counts_when_it_is_finished(bench: Bench, source: SourceDatabase) -> None:
    source.run(TABLES[3])
    bench.once(start=Progress(source.start))
    source.run("SET SESSION binlog_alter_two_phase = 1", "ALTER TABLE u RENAME TO v, ALGORITHM = COPY")
    with pytest.raises(pymysql.err.MySQLError):
        source.run("INSERT INTO t VALUES (3, 2)", "ALTER TABLE t ADD UNIQUE (n), ALGORITHM = COPY")
    logged = [event.text for event in statements(source) if event.text.startswith("ALTER")]
    assert logged == ["ALTER TABLE u RENAME TO v, ALGORITHM = COPY"]


def test_the_tables_of_an_ambiguous_transaction_are_copied(
    bench: Bench, source: SourceDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.run(TABLES[3])
    bench.once(start=Progress(source.start))
    monkeypatch.setattr(transactions, "_MAX_SAVEPOINTS", 1)
    run(source, ROLLED_BACK["savepoints within each other"])
    records = bench.once()
    assert folded_rows(records) == shown(source)
    assert is_copied(records)
