"""Which ALTER TABLE leads to a copy: each line of the table in the docs, on real servers.

After the ALTER and further changes, what has landed equals what a new copy of the table lands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pymysql
import pytest
from support.capture import Bench, begin, bench_of, eventually, latest, shown
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on

pytestmark = on(MariaDb, MySql)

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "alter-table.md").read_text()
CREATE = re.findall(r"```sql\nCREATE TABLE t (.*?)```", TEXT, re.DOTALL)[0]
LINES = re.findall(r"^\| `(.+?)` \| (yes|no) \|", TEXT, re.MULTILINE)
ROWS = [
    "(1, 'new', 'a,b', 'é', 'n1', 'c1', 0.50, 2147483646, '2020-02-29', '2020-02-29 03:04:05', x'00ff', 1.5, DEFAULT)",
    "(2, 'paid', '', ' b ', NULL, 'c2', -1.25, -5, '1999-12-31', '1999-12-31 23:59:59', x'6100', -0.1, DEFAULT)",
    "(3, 'paid', NULL, NULL, 'n3', 'c3', NULL, NULL, NULL, NULL, NULL, NULL, DEFAULT)",
    "(4, 'new', 'b', '', '', 'c4', 99999999.99, 0, '1000-01-01', '9999-12-31 23:59:59', x'', 999.9, DEFAULT)",
]
FURTHER = (
    "UPDATE {} SET quantity = 7 WHERE id = 1",
    "DELETE FROM {} WHERE id = 2",
    "INSERT IGNORE INTO {} (code) VALUES ('c5')",
)
# These lines cut off or refuse some of the values above.
NARROWER = {
    "MODIFY quantity SMALLINT": "UPDATE {} SET quantity = 300 WHERE id = 1",
    "MODIFY quantity INT UNSIGNED": "UPDATE {} SET quantity = 5 WHERE id = 2",
    "MODIFY name VARCHAR(30) CHARACTER SET greek": "UPDATE {} SET name = 'e' WHERE id = 1",
    "MODIFY at TIMESTAMP NULL": "UPDATE {} SET at = '2020-06-01 12:00:00'",
}


@pytest.fixture(autouse=True)
def _strict(source: SourceDatabase) -> None:
    """Write in the server's own mode, as clients do, which is strict; capture's sessions are not."""
    source.run("SET SESSION sql_mode = DEFAULT")
    ((mode,),) = source.rows("SELECT @@SESSION.sql_mode")
    assert "STRICT_TRANS_TABLES" in mode


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    return bench_of(source, tmp_path)


def copied(records: Iterable[dict[str, Any]]) -> set[str]:
    return {one["metadata"]["table_name"] for one in records if one["metadata"]["ingestion_method"] == "SNAPSHOT"}


def test_every_line_of_the_docs_is_copied_or_not_and_stays_right(
    bench: Bench, source: SourceDatabase, tmp_path: Path
) -> None:
    assert {line[1] for line in LINES} == {"yes", "no"}
    tables = {f"t{number}": alter for number, (alter, _) in enumerate(LINES)}
    source.run("CREATE TABLE done (id INT PRIMARY KEY)", *(f"CREATE TABLE {table} {CREATE}" for table in tables))
    with bench.running(start=begin(source)):
        for table, alter in tables.items():
            source.run(*(f"INSERT INTO {table} VALUES {row}" for row in ROWS))
            source.run(*(NARROWER[one].format(table) for one in (alter,) if one in NARROWER))
        land(bench, source)
        before = bench.publisher.count()
        for table, alter in tables.items():
            source.run(f"ALTER TABLE {table} {alter}", *(one.format(table) for one in FURTHER))
        land(bench, source)
    records = bench.once()
    found = copied(records[before:])
    assert {alter: "yes" if table in found else "no" for table, alter in tables.items()} == dict(LINES)
    check_equal(source, records, tmp_path, tables)


def land(bench: Bench, source: SourceDatabase) -> None:
    """Wait until capture has read the log to its present end."""
    ((number,),) = source.rows("SELECT COUNT(*) FROM done")
    source.run(f"INSERT INTO done VALUES ({number})")
    eventually(lambda: (source.name, "done", number) in latest(bench.publisher.records()))


def check_equal(source: SourceDatabase, records: list[dict[str, Any]], folder: Path, tables: dict[str, str]) -> None:
    """Compare what has landed with a new copy of each table, in the columns that the table has now."""
    now = latest(bench_of(source, folder / "anew").once(snapshot=True))
    then = latest(records)
    for table, alter in tables.items():
        if "PRIMARY KEY (id, code)" in alter:
            continue  # rows of the former key disappear by a delete scan, which needs a warehouse
        expected = {key: row for key, row in now.items() if key[1] == table}
        landed = {key: row for key, row in then.items() if key[1] == table}
        assert expected.keys() == landed.keys(), alter
        for key, row in expected.items():
            assert {name: united(landed[key].get(name)) for name in row} == {
                name: united(value) for name, value in row.items()
            }, alter


def united(value: Any) -> Any:
    """Return a landed value as the least common type has it: numbers as NUMERIC, dates and times as DATETIME."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d( [0-9:.]+)?", value):
        return datetime.fromisoformat(value)
    if isinstance(value, int) or (isinstance(value, str) and re.fullmatch(r"-?\d+\.\d+", value)):
        return Decimal(value)
    return value


T = "CREATE TABLE t (id INT PRIMARY KEY, kind ENUM('a'), name VARCHAR(9), n INT, u INT NOT NULL, UNIQUE by_u (u))"
FIRST = "INSERT INTO t VALUES (1, 'a', 'x', 1, 1), (2, 'a', NULL, NULL, 2)"


def method(bench: Bench, before: int) -> set[str]:
    return {record["metadata"]["ingestion_method"] for record in bench.publisher.records()[before:]}


def run_after(bench: Bench, source: SourceDatabase, *statements: str) -> set[str]:
    """Run statements while no process runs, and then a process; return how its rows were read."""
    before = bench.publisher.count()
    source.run(*statements)
    bench.once()
    return method(bench, before)


def test_what_the_checkpoint_knows_of_a_table_saves_a_copy_after_a_restart(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(T, FIRST)
    bench.once(start=start)
    assert run_after(bench, source, "ALTER TABLE t MODIFY kind ENUM('a', 'b'), MODIFY name VARCHAR(90)") == set()
    assert run_after(bench, source, "INSERT INTO t VALUES (3, 'b', 'y', 3, 3)") == {"BINLOG"}
    assert run_after(bench, source, "ALTER TABLE t DROP COLUMN n") == set()
    assert latest(bench.publisher.records())[(source.name, "t", 1)]["n"] == 1


def test_a_column_that_comes_back_after_a_drop_is_copied(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(T, FIRST)
    bench.once(start=start)
    assert run_after(bench, source, "ALTER TABLE t DROP COLUMN n") == set()
    assert bench.checkpoint()["form"] == 3
    assert run_after(bench, source, "ALTER TABLE t ADD COLUMN other INT") == set()
    mark = "M!100000" if source.on_mariadb else "!80000"  # which other servers do not execute
    comes_back = f"ALTER TABLE t /*{mark} ADD COLUMN `N` INT, */ COMMENT 'x'"
    assert run_after(bench, source, comes_back) == {"SNAPSHOT"}
    assert latest(bench.publisher.records()) == shown(source, "t")
    assert bench.checkpoint()["form"] == 1, "the copy has replaced the rows that had the dropped column"
    assert run_after(bench, source, "UPDATE t SET name = 'q'", "ALTER TABLE t DROP other, ADD x INT") == {"BINLOG"}


GENERATED = [
    ("v VARCHAR(9) CHARACTER SET latin1", "OCTET_LENGTH(v)", "'é'", "MODIFY v VARCHAR(9) CHARACTER SET utf8mb4"),
    ("v VARCHAR(9) CHARACTER SET latin1", "OCTET_LENGTH(v)", "'é'", "CONVERT TO CHARACTER SET utf8mb4"),
    ("`v``w` DECIMAL(4, 1)", "CONCAT(`V``W`)", "1.5", "MODIFY `v``w` DECIMAL(8, 4)"),
    ("v DATE", "CAST(v AS CHAR(20))", "'2020-01-01'", "MODIFY v DATETIME"),
    ("v INT UNSIGNED", "CONCAT(v)", "7", "MODIFY v INT UNSIGNED ZEROFILL"),
]


@pytest.mark.parametrize("kind", ["STORED", "VIRTUAL"])
def test_generated_columns_that_are_computed_again_are_copied(bench: Bench, source: SourceDatabase, kind: str) -> None:
    start = begin(source)
    for number, (column, expression, value, _) in enumerate(GENERATED):
        generated = f"g VARCHAR(30) AS ({expression}) {kind}, other VARCHAR(9) AS (CONCAT(id)) {kind}"
        source.run(f"CREATE TABLE t{number} (id INT PRIMARY KEY, {column}, n INT, name TEXT, {generated})")
        source.run(f"INSERT INTO t{number} VALUES (1, {value}, 1, 'x', DEFAULT, DEFAULT)")
    bench.once(start=start)
    for number, (_, _, _, alter) in enumerate(GENERATED):
        # No generated column is computed of this one.
        assert run_after(bench, source, f"ALTER TABLE t{number} MODIFY n BIGINT") == set()
        source.run(f"UPDATE t{number} SET n = 2")
        assert run_after(bench, source, f"ALTER TABLE t{number} {alter}") == {"BINLOG", "SNAPSHOT"}, alter
        ((computed,),) = source.rows(f"SELECT g FROM t{number}")
        assert latest(bench.publisher.records())[(source.name, f"t{number}", 1)]["g"] == computed, alter


def test_partitions_by_hash_and_key_copy_nothing(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run("CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 1), (-2, 2)")
    bench.once(start=start)
    for part in ("HASH (id) PARTITIONS 2", "LINEAR HASH (ABS(id))", "KEY () PARTITIONS 3", "LINEAR KEY (id)"):
        assert run_after(bench, source, f"ALTER TABLE t PARTITION BY {part}") == set(), part
    assert run_after(bench, source, "ALTER TABLE t REMOVE PARTITIONING", "UPDATE t SET n = 3") == {"BINLOG"}
    assert latest(bench.publisher.records()) == shown(source, "t")


def test_in_doubt_a_table_is_copied(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(T, FIRST)
    bench.once(start=start)
    source.run("SET SESSION sql_mode = ''")
    assert run_after(bench, source, "ALTER TABLE t MODIFY name VARCHAR(90) NOT NULL") == {"SNAPSHOT"}
    assert latest(bench.publisher.records()) == shown(source, "t")
    # Of the structure after that ALTER no row is in the log.
    assert run_after(bench, source, "ALTER TABLE t MODIFY name VARCHAR(99) NOT NULL") == {"SNAPSHOT"}
    source.run("SET SESSION sql_mode = DEFAULT")
    assert run_after(bench, source, "UPDATE t SET n = 7 WHERE id = 1", "ALTER TABLE t MODIFY n BIGINT") == {"BINLOG"}


def test_a_change_of_the_key_by_an_index_is_noticed_by_the_next_row(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run("CREATE TABLE t (id INT, u INT NOT NULL, v INT NOT NULL, UNIQUE by_u (u), UNIQUE by_v (v))")
    source.run("INSERT INTO t VALUES (1, 1, 10), (2, 2, 20)")
    bench.once(start=start)
    assert run_after(bench, source, "ALTER TABLE t DROP INDEX by_u") == set()
    assert run_after(bench, source, "UPDATE t SET id = 3 WHERE v = 10") == {"BINLOG", "SNAPSHOT"}
    assert bench.publisher.records()[-1]["metadata"]["primary_key"] == ["v"]


def test_a_rename_is_announced_as_a_rename(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(T, FIRST)
    bench.once(start=start)
    source.run("ALTER TABLE t RENAME TO u", "CREATE TABLE v LIKE u", "RENAME TABLE u TO w, v TO u")
    bench.once()
    bodies = bench.publisher.bodies("schema-changes")
    names = [
        (body["table"], body["changes"][0]["kind"], body["changes"][0]["old"], body["changes"][0]["new"]) for body in bodies
    ]
    of = source.name
    assert names == [
        ("t", "table renamed", f"{of}.t", f"{of}.u"),
        ("v", "table renamed", f"{of}.v", f"{of}.u"),
    ], "another table has the name u at once"
    found = latest(bench.publisher.records())
    assert {key[2] for key in found if key[1] == "w"} == {1, 2}


NULLABLE = (
    "INT", "VARCHAR(9)", "TEXT", "DATE", "DATETIME", "TIME", "ENUM('a')", "SET('a')", "BLOB", "DECIMAL(5, 2)",
    "VARBINARY(9)", "BIT(3)", "DOUBLE",
)  # fmt: skip
REFUSED = [
    *((f"v {type_}", "NULL", f"MODIFY v {type_} NOT NULL") for type_ in NULLABLE),
    ("v VARCHAR(9) CHARACTER SET utf8mb4", "'日'", "MODIFY v VARCHAR(9) CHARACTER SET latin1"),
    ("v TEXT CHARACTER SET utf8mb4", "'é'", "MODIFY v TEXT CHARACTER SET ascii"),
    ("v VARCHAR(9) CHARACTER SET utf8mb4", "'😀'", "MODIFY v VARCHAR(9) CHARACTER SET utf8mb3"),
]


@pytest.mark.parametrize(("column", "value", "alter"), REFUSED)
def test_in_strict_mode_a_server_refuses_what_would_change_values(
    source: SourceDatabase, column: str, value: str, alter: str
) -> None:
    """Otherwise NOT NULL, and a character set that the statement leaves to the table, would need a copy."""
    source.run(f"CREATE TABLE t (id INT PRIMARY KEY, {column})", f"INSERT INTO t VALUES (1, {value})")
    with pytest.raises(pymysql.err.MySQLError):
        source.run(f"ALTER TABLE t {alter}")
