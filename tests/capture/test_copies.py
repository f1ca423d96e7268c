"""What makes capture copy a table: a snapshot, a request, new patterns, and changes that the log does not show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.capture import CREATE, Bench, begin, bench_of, latest, shown
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on

from onefold.mysql.table_filter import TableFilter

pytestmark = on(MariaDb, MySql)


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    return bench_of(source, tmp_path)


def test_rows_from_before_the_start_are_copied_once_with_a_snapshot(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')", "CREATE TABLE u (id INT PRIMARY KEY)")
    assert bench.once(start=begin(source)) == []
    records = bench.once(snapshot=True)
    assert {record["metadata"]["ingestion_method"] for record in records} == {"SNAPSHOT"}
    assert latest(records) == shown(source, "t")
    assert len(bench.once(snapshot=True)) == 2


# Changes of stored rows that the log does not show; tests/mysql/test_logged_statements.py has all other statements.
UNLOGGED = [
    "ALTER TABLE t ADD COLUMN c INT DEFAULT 5",
    "ALTER TABLE t CHANGE name title VARCHAR(40)",
    "TRUNCATE t",
    "UPDATE t SET name = 'x'",
]


@pytest.mark.parametrize("statement", UNLOGGED)
def test_a_table_with_unlogged_changes_of_rows_is_copied_again(bench: Bench, source: SourceDatabase, statement: str) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    before = len(bench.once(start=start))
    if statement.startswith(("UPDATE", "DELETE")):
        source.run("SET SESSION binlog_format = 'STATEMENT'", statement, "SET SESSION binlog_format = 'ROW'")
    else:
        source.run("SET SESSION sql_mode = ''", statement)
    again = bench.once()[before:]
    assert {record["metadata"]["ingestion_method"] for record in again} <= {"SNAPSHOT"}
    assert latest(again) == shown(source, "t")
    assert [one["copy"]["table"] for one in bench.checkpoint()["sweeps"]] == ["t"]


def test_statements_that_change_no_stored_row_copy_nothing(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(
        CREATE,
        "INSERT INTO t VALUES (1, 'a')",
        "ALTER TABLE t ADD COLUMN c INT, ADD INDEX (name), COMMENT 'x'",
        "CREATE TABLE u (id INT)",
        "ANALYZE TABLE t",
    )
    assert len(bench.once(start=start)) == 1
    assert bench.checkpoint()["sweeps"] == []


def test_a_renamed_table_is_copied_under_its_new_name(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')", "RENAME TABLE t TO u")
    found = latest(bench.once(start=start))
    assert found[(source.name, "u", 1)] == {"id": 1, "name": "a"}


def test_a_table_created_under_the_name_of_a_dropped_one_is_copied(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')", "DROP TABLE t")
    bench.once(start=start)
    assert bench.checkpoint()["sweeps"] == []
    source.run(CREATE, "INSERT INTO t VALUES (1, 'c')")
    bench.once()
    assert [one["copy"]["table"] for one in bench.checkpoint()["sweeps"]] == ["t"]


def test_tables_are_copied_again_on_request(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')", "CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (1)")
    assert bench.once() == []
    records = bench.once(again=TableFilter((f"{source.name}.t",)))
    assert latest(records) == shown(source, "t")


def test_tables_that_new_patterns_add_are_copied(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')", "CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (1)")
    wide, narrow = bench.patterns, TableFilter((f"{source.name}.t",))
    bench.patterns = narrow
    assert latest(bench.once(snapshot=True)) == shown(source, "t")
    bench.patterns = wide
    records = bench.once()
    assert (len(records), latest(records)) == (2, shown(source, "t", "u"))
    assert len(bench.once()) == 2


@pytest.mark.parametrize("known", [True, False], ids=["no copy was requested", "an older checkpoint"])
def test_new_patterns_copy_nothing_where(bench: Bench, source: SourceDatabase, known: bool) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')", "CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (1)")
    wide, bench.patterns = bench.patterns, TableFilter((f"{source.name}.t",))
    before = len(bench.once(snapshot=not known))
    path = bench.folder / "checkpoint" / "checkpoint.json"
    if not known:
        path.write_text(json.dumps({**bench.checkpoint(), "patterns": None}))
    bench.patterns = wide
    assert len(bench.once()) == before
    assert bench.checkpoint()["patterns"] == {"include": [f"{source.name}.*"], "exclude": []}


def test_a_table_that_is_left_out_is_no_longer_copied(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    bench.once()
    path = bench.folder / "checkpoint" / "checkpoint.json"
    place = bench.checkpoint()["place"]
    path.write_text(json.dumps({**bench.checkpoint(), "wanted": [{"database": source.name, "table": "t", "since": place}]}))
    bench.patterns = TableFilter((source.name,), (f"{source.name}.t",))
    assert bench.once() == []
    assert bench.checkpoint()["wanted"] == []


def test_a_load_that_is_logged_as_a_statement_copies_its_table(bench: Bench, source: SourceDatabase, tmp_path: Path) -> None:
    start = begin(source)
    (tmp_path / "rows").write_text("1\ta\n2\tb\n")
    load = f"LOAD DATA INFILE '{tmp_path / 'rows'}' INTO TABLE t"
    source.run(CREATE, "CREATE TABLE u (id INT)", "SET SESSION binlog_format = 'STATEMENT'", load)
    assert latest(bench.once(start=start)) == shown(source, "t")
    assert [one["copy"]["table"] for one in bench.checkpoint()["sweeps"]] == ["t"]
