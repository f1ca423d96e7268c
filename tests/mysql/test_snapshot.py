"""Snapshots against a real server: every row once, in chunks, right as of its position in the log."""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest
from support.database_servers import MariaDb, MySql
from support.snapshot import chunks, everything, fresh, rows_of
from support.source_database import SourceDatabase, numbers, on
from support.source_types import MYSQL_SAMPLES, SAMPLES, Sample

from onefold.core.errors import Rejected, TryAgain
from onefold.mysql.connection import connect, query
from onefold.mysql.snapshot import chunks as snapshots
from onefold.mysql.snapshot.chunks import TableSnapshot, next_chunk

pytestmark = on(MariaDb, MySql)

# How a key is declared, and its values as literals.
KEYS = [
    ("INT", "-5", "0", "7"),
    ("BIGINT UNSIGNED", "0", "9223372036854775808", "18446744073709551614", "18446744073709551615"),
    ("DECIMAL(40,10)", "-0.0000000001", "0", "123456789012345678901234567890.0000000001"),
    ("FLOAT", "-0.1", "0.1", "0.10000001", "1e38"),
    ("DOUBLE", "-0e0", "0.1", "0.30000000000000004", "5e-324"),
    ("BIT(64)", "0", "18446744073709551614", "18446744073709551615"),
    ("YEAR", "'0000'", "1901", "1999", "2000", "2155"),
    ("DATE", "'0000-00-00'", "'0000-01-01'", "'2020-00-10'", "'2020-02-30'", "'2020-03-01'"),
    ("DATETIME(6)", "'0000-00-00'", "'2020-00-10 01:02:03'", "'2020-02-29 00:00:00.000001'", "'2020-02-29 00:00:00.000002'"),
    ("TIMESTAMP(3)", "'0000-00-00'", "'2020-10-25 00:30:00.001'", "'2020-10-25 01:30:00.001'"),
    ("TIME(2)", "'-838:59:59'", "'-00:00:00.01'", "'00:00:00'", "'838:59:59'"),
    ("CHAR(9)", "''", "'a'", "'b'", "'it''s'", "'Zoë'"),
    ("VARCHAR(200)", "''", "'A'", "'b'", "'C\\\\ %s \\'\"'", "'\\n\\0'", "'ß'", "'日本'", "'😀'"),
    ("VARCHAR(9) COLLATE utf8mb4_bin", "'A'", "'B'", "'a'", "'b '", "'😀'"),
    ("VARCHAR(9) CHARACTER SET latin1", "'a'", "'é'", "x'81'", "x'FF'"),
    ("VARCHAR(9) CHARACTER SET utf16", "'a'", "'日'", "'😀'"),
    ("VARCHAR(9) CHARACTER SET gbk", "'a'", "'中文'", "'文'"),
    ("BINARY(3)", "x''", "x'0001'", "x'61'", "x'FF'"),
    ("VARBINARY(9)", "x''", "x'00'", "x'0000'", "x'61'", "x'6100'", "x'FF'"),
    ("ENUM('z','a','m')", "'none'", "'z'", "'a'", "'m'"),
    ("SET('z','a','m')", "''", "'z'", "'a'", "'z,a'", "'m'"),
    ("SET(" + ",".join(f"'v{n}'" for n in range(64)) + ")", "9223372036854775809", "9223372036854775808", "1"),
    ("BOOLEAN", "0", "1"),
]  # fmt: skip
MARIADB_KEYS = [
    ("VARCHAR(9) COLLATE utf8mb4_nopad_bin", "'a'", "'a '", "'a  '"),
    ("VARCHAR(9) COLLATE utf8mb4_uca1400_as_cs", "'a'", "'A'", "'á'"),
    ("UUID", "UUID()", "'00000000-0000-0000-0000-000000000000'", "UUID()", "'ffffffff-ffff-7fff-8fff-ffffffffffff'"),
    ("INET6", "'::'", "'::ffff:1.2.3.4'", "'2001:db8::1'"),
]
MYSQL_KEYS = [
    ("VARCHAR(9) COLLATE utf8mb4_0900_bin", "'a'", "'a '", "'a  '"),
    ("VARCHAR(9) COLLATE utf8mb4_0900_as_cs", "'a'", "'A'", "'á'"),
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[0][:40])
def test_keys_of_any_type_are_read_one_after_the_other(source: SourceDatabase, key: tuple[str, ...]) -> None:
    check_keys(source, key)


@on(MariaDb)
@pytest.mark.parametrize("key", MARIADB_KEYS, ids=lambda key: key[0])
def test_keys_of_a_type_that_only_mariadb_has_are_read(source: SourceDatabase, key: tuple[str, ...]) -> None:
    check_keys(source, key)


@on(MySql)
@pytest.mark.parametrize("key", MYSQL_KEYS, ids=lambda key: key[0])
def test_keys_of_a_type_that_only_mysql_has_are_read(source: SourceDatabase, key: tuple[str, ...]) -> None:
    check_keys(source, key)


def check_keys(source: SourceDatabase, key: tuple[str, ...]) -> None:
    declared, *values = key
    source.run("SET sql_mode = 'ALLOW_INVALID_DATES'", f"CREATE TABLE t (k {declared} PRIMARY KEY, v INT)")
    source.run(f"INSERT IGNORE INTO t VALUES {', '.join(f'({value}, {n})' for n, value in enumerate(values))}")
    assert source.rows("SELECT COUNT(*) FROM t") == [(len(values),)]
    read = list(chunks(source))
    assert rows_of(read) == everything(source, order="ORDER BY k")
    assert [len(chunk.rows) for chunk in read] == [*[1] * len(values), 0]
    assert [chunk.progress.rows for chunk in read] == [*range(1, len(values) + 1), len(values)]


@on(MariaDb)
@pytest.mark.parametrize("first", range(0, len(SAMPLES), 12))
def test_rows_of_all_types_land_as_they_do_from_the_log(source: SourceDatabase, first: int) -> None:
    check_types(source, SAMPLES[first : first + 12])


@on(MySql)
@pytest.mark.parametrize("first", range(0, len(MYSQL_SAMPLES), 12))
def test_rows_of_all_types_of_mysql_land_as_they_do_from_the_log(source: SourceDatabase, first: int) -> None:
    source.run("SET SESSION sql_mode = 'TIME_TRUNCATE_FRACTIONAL'")  # as MariaDB does
    check_types(source, [sample for sample in MYSQL_SAMPLES if sample.bigquery != "JSON"][first : first + 12])


def check_types(source: SourceDatabase, samples: list[Sample]) -> None:
    rows = [[sample.values[number % len(sample.values)] for sample in samples] for number in range(7)]
    columns = ", ".join(f"c{number} {sample.declared}" for number, sample in enumerate(samples))
    literals = (f"({number}, {', '.join(literal for literal, _ in row)})" for number, row in enumerate(rows))
    source.run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})", f"INSERT IGNORE INTO t VALUES {', '.join(literals)}")
    read = list(chunks(source, 2))
    assert rows_of(read) == [(number, *(landed for _, landed in row)) for number, row in enumerate(rows)]
    assert rows_of(read) == everything(source)
    losses = sum((Counter(dict(chunk.losses)) for chunk in read), Counter())
    assert losses == sum((Counter(dict(change.losses)) for change in source.changes()), Counter())


@pytest.mark.parametrize(
    "key",
    [
        "PRIMARY KEY (a, b, c)",
        "PRIMARY KEY (c, b, a)",
        "UNIQUE KEY `k``%s` (b, a, c)",
        "PRIMARY KEY (a DESC, b, c DESC)",
        "PRIMARY KEY (b DESC, a DESC, c DESC)",
    ],
)
@pytest.mark.parametrize("rows", [1, 7])
def test_keys_of_several_columns_are_read_in_their_order(source: SourceDatabase, key: str, rows: int) -> None:
    source.run(
        f"CREATE TABLE t (a INT NOT NULL, b ENUM('z', 'a') NOT NULL, c VARCHAR(9) NOT NULL, {key})",
        "INSERT INTO t SELECT a.seq, IF(b.seq, 'z', 'a'), CHAR(64 + c.seq) "
        f"FROM {numbers(1, 3, 'a')}, {numbers(0, 1, 'b')}, {numbers(1, 3, 'c')}",
    )
    order = key.partition("(")[2].rstrip(")")
    assert rows_of(list(chunks(source, rows))) == everything(source, order=f"ORDER BY {order}")


def test_a_page_costs_no_more_at_the_end_of_a_table_than_at_its_beginning(source: SourceDatabase) -> None:
    source.run(
        "CREATE TABLE t (tenant INT, day DATE, name VARCHAR(20), PRIMARY KEY (tenant, day, name))",
        f"INSERT INTO t SELECT 1 + (seq > 900), '2024-01-01' + INTERVAL (seq MOD 2) DAY, seq FROM {numbers(1, 1000)}",
        "ANALYZE TABLE t",
    )
    steps = "SHOW STATUS LIKE 'Handler_read_next'"
    costs = []
    for _ in chunks(source, 50, between=lambda _: costs.append(int(source.rows(steps)[0][1]))):
        pass
    # Rows that the server steps over, of 1,000: MySQL those of a page twice.
    assert max(later - earlier for earlier, later in itertools.pairwise(costs)) < (60 if source.on_mariadb else 120)


@pytest.mark.parametrize("table", ["a`b", "100%s", "Straße 日", "it's \\"])
def test_names_with_any_characters_are_read(source: SourceDatabase, table: str) -> None:
    quoted = table.replace("`", "``")
    source.run(f"CREATE TABLE `{quoted}` (`{quoted}` VARCHAR(9) PRIMARY KEY)", f"INSERT INTO `{quoted}` VALUES ('a'), ('b')")
    assert rows_of(list(chunks(source, 1, table))) == [("a",), ("b",)]


def test_a_clock_that_is_set_back_puts_no_row_below_the_start(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    first, second = itertools.islice(chunks(source, between=lambda _: source.run("SET timestamp = 1000")), 2)
    assert second.timestamp == first.timestamp == second.progress.began > 1000


def test_an_empty_table_is_one_chunk_without_rows(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY)")
    (chunk,) = chunks(source)
    assert (chunk.rows, chunk.progress.finished, chunk.progress.start) == ((), True, chunk.position)


@pytest.mark.parametrize("statements", [[], ["CREATE VIEW t AS SELECT 1"]])
def test_a_view_or_a_missing_table_has_no_chunk(source: SourceDatabase, statements: list[str]) -> None:
    source.run(*statements)
    assert next_chunk(source.connection, fresh(source), 1) is None


@on(MariaDb)
def test_a_sequence_has_no_chunk(source: SourceDatabase) -> None:
    source.run("CREATE SEQUENCE t")
    assert next_chunk(source.connection, fresh(source), 1) is None
    assert next_chunk(source.connection, TableSnapshot("no_such_database", "t"), 1) is None


def test_a_chunk_counts_its_losses(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id DATE PRIMARY KEY)", "INSERT INTO t VALUES ('0000-00-00'), ('2020-00-01'), ('2020-01-01')")
    first, second = chunks(source, 2)
    assert (first.rows, dict(first.losses)) == (((None,), (None,)), {("id", "date"): 2})
    assert (second.rows, second.losses) == ((("2020-01-01",),), ())


@pytest.mark.parametrize("declared", ["id INT PRIMARY KEY", "id INT"])
def test_large_rows_come_in_small_chunks(source: SourceDatabase, monkeypatch: pytest.MonkeyPatch, declared: str) -> None:
    monkeypatch.setattr(snapshots, "_MAX_BYTES", 1000)
    source.run(f"CREATE TABLE t ({declared}, v LONGTEXT, b BLOB)")
    source.run(f"INSERT INTO t SELECT seq, REPEAT('x', 400), '' FROM {numbers(1, 9)}")
    source.run(f"INSERT INTO t SELECT 10 + seq, '', REPEAT('x', 5000) FROM {numbers(1, 2)}")
    read = list(chunks(source, 1000))
    assert rows_of(read) == everything(source)
    assert max(len(chunk.rows) for chunk in read) == 3
    assert all(sum(len(row[1]) + len(row[2]) for row in chunk.rows[:-1]) < 1000 for chunk in read)
    assert read[-1].progress.rows == 11


def test_another_epoch_is_another_snapshot(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    first = next_chunk(source.connection, fresh(source), 1, 1)
    assert first
    again = next_chunk(source.connection, first.progress, 2, 1)
    assert again
    assert (again.rows, again.position.epoch, again.progress.start) == (((1,),), 2, again.position)


def test_a_lost_connection_is_a_reason_to_try_again(source: SourceDatabase) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY)")
    with closing(connect(source.server.address)) as connection:
        query(source.connection, f"KILL {connection.thread_id()}")
        with pytest.raises(TryAgain, match=f"the copy of {source.name}.t cannot be read on"):
            next_chunk(connection, fresh(source), 1)


def test_a_refused_lock_names_the_missing_grant(source: SourceDatabase) -> None:
    user = f"{source.name}_reader"
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY) ENGINE=MyISAM",
        f"CREATE USER {user}@'%' IDENTIFIED BY ''",
        f"GRANT SELECT, REPLICATION CLIENT ON *.* TO {user}@'%'",
    )
    address = replace(source.server.address, user=user)
    with closing(connect(address)) as connection, pytest.raises(Rejected, match="GRANT SELECT, LOCK TABLES"):
        next_chunk(connection, fresh(source), 1)
