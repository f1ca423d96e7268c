"""Cascading foreign keys: children are copied where the log lacks their changes, and only there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.capture import begin, bench_of, eventually, latest, shown
from support.database_servers import DatabaseServer, MariaDb, MySql, new_server
from support.source_database import SourceDatabase, end_of_log, numbers, on

from onefold.capture.cascades import Cascades, cascades_of, read_cascades
from onefold.capture.checkpoint import Progress
from onefold.capture.source import CapturedSource
from onefold.mysql.binlog.events import LogPosition, RowsChanged
from onefold.mysql.binlog.rows import Row
from onefold.mysql.catalog import TableName
from onefold.mysql.connection import connect, query
from onefold.mysql.foreign_keys import ForeignKeyColumn, rules_of
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.mysql.table_filter import TableFilter

PARENT = "CREATE TABLE parent (id INT PRIMARY KEY, code INT UNIQUE)"
BOTH = "ON DELETE CASCADE ON UPDATE CASCADE"


def child(name: str, rule: str, parent: str = "parent") -> str:
    return f"CREATE TABLE {name} (id INT PRIMARY KEY, p INT UNIQUE, FOREIGN KEY (p) REFERENCES {parent} (id) {rule})"


def copies(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["metadata"]["ingestion_method"] == "SNAPSHOT"]


@on(MariaDb, long=MySql)
@pytest.mark.parametrize("captured", ["*", "child"], ids=["parent captured", "parent left out"])
@pytest.mark.parametrize(
    ("rule", "statement", "follows"),
    [
        ("ON DELETE CASCADE", "DELETE FROM parent WHERE id = 1", True),
        ("ON DELETE SET NULL", "DELETE FROM parent WHERE id = 1", True),
        ("ON UPDATE CASCADE", "UPDATE parent SET id = 9 WHERE id = 1", True),
        ("ON UPDATE SET NULL", "UPDATE parent SET id = 9 WHERE id = 1", True),
        (BOTH, "REPLACE INTO parent VALUES (1, 5)", True),
        (BOTH, "UPDATE parent SET code = 9 WHERE id = 1", False),
        (BOTH, "INSERT INTO parent VALUES (9, 9)", False),
    ],
)
def test_children_are_copied_only_where_the_log_lacks_their_changes(
    source: SourceDatabase, tmp_path: Path, rule: str, statement: str, follows: bool, captured: str
) -> None:
    bench = bench_of(source, tmp_path, f"{source.name}.{captured}")
    start = begin(source)
    source.run(
        PARENT, child("child", rule), "INSERT INTO parent VALUES (1, 1)", "INSERT INTO child VALUES (1, 1), (2, NULL)"
    )
    bench.once(start=start)
    source.run(statement)
    records = bench.once()
    copied = follows and source.on_mariadb
    assert [one["copy"]["table"] for one in bench.checkpoint()["sweeps"]] == (["child"] if copied else [])
    found = latest(copies(records) if copied else records)
    assert {key: row for key, row in found.items() if key[1] == "child"} == shown(source, "child")
    assert {record["metadata"]["table_name"] for record in records} == (
        {"parent", "child"} if captured == "*" else {"child"}
    )


@on(MariaDb, MySql)
def test_an_excluded_child_is_not_published_and_its_own_children_are_right(source: SourceDatabase, tmp_path: Path) -> None:
    bench = bench_of(source, tmp_path, f"{source.name}.parent", f"{source.name}.grandchild")
    start = begin(source)
    grandchild = child("grandchild", "ON DELETE SET NULL", "child").replace("(id) ON", "(p) ON")
    source.run(
        PARENT, child("child", BOTH), grandchild, "INSERT INTO parent VALUES (1, 1), (2, 2)",
        "INSERT INTO child VALUES (1, 1), (2, 2)", "INSERT INTO grandchild VALUES (1, 1), (2, 2)",
        "DELETE FROM parent WHERE id = 1",
    )  # fmt: skip
    records = bench.once(start=start)
    reported = copies(records) if source.on_mariadb else records
    assert {record["metadata"]["table_name"] for record in records} == {"parent", "grandchild"}
    assert {key: row for key, row in latest(reported).items() if key[1] == "grandchild"} == shown(source, "grandchild")
    assert shown(source, "grandchild")[source.name, "grandchild", 1]["p"] is None
    assert (copies(records) != []) is source.on_mariadb


@on(MariaDb, MySql)
def test_names_in_backticks_and_a_parent_in_another_database_are_read(source: SourceDatabase) -> None:
    """Neither the words in a comment nor the name of a constraint are taken for rules."""
    other = f"{source.name}_`b"
    quoted = f"`{other.replace('`', '``')}`"
    source.run(
        f"CREATE DATABASE {quoted}", f"CREATE TABLE {quoted}.`p (``1` (a INT, b INT, PRIMARY KEY (a, b))",
        "CREATE TABLE `c ``d` (id INT PRIMARY KEY COMMENT 'CONSTRAINT `x` FOREIGN KEY (a) ON DELETE CASCADE', a INT, b INT, "
        f"CONSTRAINT `x ON ``DELETE` FOREIGN KEY (a, b) REFERENCES {quoted}.`p (``1` (a, b) ON UPDATE SET NULL, "
        f"CONSTRAINT y FOREIGN KEY (a, b) REFERENCES {quoted}.`p (``1` (a, b) ON DELETE CASCADE)",
    )  # fmt: skip
    with connect(source.server.reader) as connection:
        rules = rules_of(connection, TableName(source.name, "c `d"))
        assert rules == {"x ON `DELETE": ("RESTRICT", "SET NULL"), "y": ("CASCADE", "RESTRICT")}
        found = read_cascades(connection, TableFilter((f"{source.name}.*",)))
    assert found.watched == {TableName(other, "p (`1")}
    assert found.hidden == frozenset()


@on(MariaDb)
def test_foreign_keys_that_a_grant_shows_are_followed_from_then_on(
    source: SourceDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user without SELECT on all tables sees nothing of `hidden`, whose rows another table changes."""
    hidden, user = f"{source.name}_hidden", f"{source.name}_few"
    source.run(
        f"CREATE DATABASE {hidden}", f"CREATE USER {user}@'%' IDENTIFIED BY ''",
        f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {user}@'%'",
        f"GRANT SELECT ON {source.name}.* TO {user}@'%'",
        PARENT, child(f"{hidden}.middle", BOTH, f"{source.name}.parent").replace("p INT UNIQUE", "p INT, UNIQUE (p)"),
        child("child", BOTH, f"{hidden}.middle").replace("(id) ON", "(p) ON"), "INSERT INTO parent VALUES (1, 1), (2, 2)",
        f"INSERT INTO {hidden}.middle VALUES (1, 1), (2, 2)", "INSERT INTO child VALUES (1, 1), (2, 2)",
    )  # fmt: skip
    bench = bench_of(source, tmp_path)
    bench.server = replace(source.server, user=user)
    bench.once(snapshot=True)
    (line,) = [one for one in map(json.loads, capsys.readouterr().out.splitlines()) if one["event"] == "foreign_keys_hidden"]
    assert (line["severity"], line["tables"]) == ("WARNING", [f"{hidden}.middle"])
    remedy = CapturedSource(bench.server.reader, bench.patterns, 1).hidden_foreign_keys()[0].partition("run: ")[2]
    assert remedy == f"GRANT SELECT ON `{hidden}`.`middle` TO '{user}'@'%'"
    source.run(remedy, "DELETE FROM parent WHERE id = 1")
    assert latest(copies(bench.once())[4:]) == shown(source, "child")
    assert "foreign_keys_hidden" not in capsys.readouterr().out
    source.run(f"DROP USER {user}@'%'")


@on(MySql)
def test_one_parent_with_many_children_copies_none_of_them(source: SourceDatabase, tmp_path: Path) -> None:
    bench = bench_of(source, tmp_path)
    start = begin(source)
    source.run(
        PARENT, child("child", BOTH).replace("p INT UNIQUE", "p INT"), "INSERT INTO parent VALUES (1, 1), (2, 2)",
        f"INSERT INTO child SELECT seq, 1 + (seq > 1) FROM {numbers(1, 900)}", "DELETE FROM parent WHERE id = 1",
    )  # fmt: skip
    before = len(bench.once(start=start))
    assert before == 2 + 900 + 2
    source.run("DELETE FROM parent WHERE id = 2")
    records = bench.once()
    assert [record["metadata"]["change_type"] for record in records[before:]] == ["DELETE"] * 900
    assert (latest(records), copies(records)) == ({}, [])


@on(MariaDb, MySql)
def test_children_of_an_unreadable_parent_are_copied_only_where_the_log_lacks_their_changes(
    source: SourceDatabase, tmp_path: Path
) -> None:
    bench = bench_of(source, tmp_path)
    start = begin(source)
    parent = "CREATE TABLE parent (id INT PRIMARY KEY, name CHAR(3) CHARACTER SET swe7)"
    source.run(parent, child("child", BOTH), "INSERT INTO parent VALUES (1, 'a')", "INSERT INTO child VALUES (1, 1)")
    bench.once(start=start)
    source.run("DELETE FROM parent")
    records = bench.once()
    assert {record["metadata"]["table_name"] for record in records} == {"child"}
    assert [one["copy"]["table"] for one in bench.checkpoint()["sweeps"]] == (["child"] if source.on_mariadb else [])
    assert bool(latest(records)) is source.on_mariadb  # the delete scan deletes landed rows, and here nothing lands


@on(MariaDb, MySql)
def test_children_of_an_xa_transaction_are_copied_at_its_commit(source: SourceDatabase, tmp_path: Path) -> None:
    bench = bench_of(source, tmp_path)
    start = begin(source)
    source.run(PARENT, child("child", BOTH), "INSERT INTO parent VALUES (1, 1)", "INSERT INTO child VALUES (1, 1)")
    xid = f"'{source.name}'"
    source.run(f"XA START {xid}", "DELETE FROM parent", f"XA END {xid}", f"XA PREPARE {xid}")
    assert len(latest(bench.once(start=start))) == 2
    source.run(f"XA COMMIT {xid}")
    records = bench.once()
    assert [one["copy"]["table"] for one in bench.checkpoint()["sweeps"]] == (["child"] if source.on_mariadb else [])
    assert {key[1] for key in latest(records)} == ({"child"} if source.on_mariadb else set())


def database_of(server: DatabaseServer) -> SourceDatabase:
    connection = connect(server.address)
    query(connection, "CREATE DATABASE shop")
    connection.select_db("shop")
    return SourceDatabase(server, connection, "shop", end_of_log(connection))


def test_children_of_a_server_that_leaves_foreign_keys_to_innodb_are_copied(tmp_path: Path) -> None:
    """It is as new as the one of the other tests: the version alone tells nothing."""
    with new_server(MySql, "--innodb-native-foreign-keys=ON") as server:
        source = database_of(server)
        bench = bench_of(source, tmp_path)
        start = begin(source)
        source.run(PARENT, child("child", "ON DELETE SET NULL"), "INSERT INTO parent VALUES (1, 1)")
        source.run("INSERT INTO child VALUES (1, 1)", "DELETE FROM parent")
        records = bench.once(start=start)
        assert latest(copies(records)) == shown(source, "child")
        source.connection.close()


@contextmanager
def replicated() -> Iterator[tuple[SourceDatabase, SourceDatabase]]:
    """A server whose InnoDB follows foreign keys, and a replica that would follow them itself."""
    with new_server(MySql, "--innodb-native-foreign-keys=ON") as first, new_server(MySql, "--server-id=2") as second:
        replica = connect(second.address)
        start = end_of_log(replica)
        source = database_of(first)
        source.run("CREATE USER r@'127.0.0.1'", "GRANT REPLICATION SLAVE ON *.* TO r@'127.0.0.1'")
        query(
            replica,
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {first.port}, SOURCE_USER = 'r', "
            "SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1",
        )
        query(replica, "START REPLICA")
        yield source, SourceDatabase(second, replica, "shop", start)
        for database in (source, SourceDatabase(second, replica, "shop", start)):
            database.connection.close()


def test_a_flag_in_each_event_of_a_replica_says_whether_cascades_are_logged(tmp_path: Path) -> None:
    """What its source's InnoDB did, its own InnoDB does again; what is written to it directly, it does itself."""
    with replicated() as (source, replica):
        source.run(PARENT, child("child", BOTH), "INSERT INTO parent VALUES (1, 1), (2, 2)")
        source.run("INSERT INTO child VALUES (1, 1), (2, 2)", "DELETE FROM parent WHERE id = 1")
        eventually(lambda: set(source.executed().split(",")) <= set(replica.executed().split(",")))
        replica.connection.select_db("shop")
        bench = bench_of(replica, tmp_path)
        records = bench.once(start=Progress(replica.start))
        assert latest(copies(records)) == shown(replica, "child") != {}
        count = len(copies(records))
        replica.run("DELETE FROM parent WHERE id = 2")
        logged = [event.cascades_logged for event in replica.log() if isinstance(event, RowsChanged)]
        assert logged == [False, False, False, True, True]
        assert len(copies(bench.once())) == count


# Foreign keys as values.

NO_ACTION = "NO ACTION"


LINKS = [
    ("shop", "child", "shop", "parent", "id", "CASCADE", NO_ACTION),
    ("crm", "grandchild", "shop", "child", "id", "SET NULL", "CASCADE"),
    ("shop", "follower", "shop", "parent", "name", NO_ACTION, "CASCADE"),
    ("shop", "free", "shop", "parent", "id", "RESTRICT", NO_ACTION),
]


PARENT_STRUCTURE = Structure(
    "parent", (SourceColumn("id", SourceType("int")), SourceColumn("name", SourceType("varchar", 30))), ("id",)
)


def key(child: str, child_table: str, parent: str, parent_table: str, column: str) -> ForeignKeyColumn:
    return ForeignKeyColumn(TableName(child, child_table), "fk", TableName(parent, parent_table), column)


CASCADES = cascades_of(((key(*link[:5]), link[5:]) for link in LINKS), TableFilter(("crm",)))


def changed(before: Row | None, after: Row | None, cascades: Cascades = CASCADES) -> list[str]:
    old, new = (() if row is None else (row,) for row in (before, after))
    event = RowsChanged(LogPosition(1, "bin.000001", 4), 0, "shop", PARENT_STRUCTURE, old, new)
    return sorted(str(table) for table in cascades.changed_by(event))


@pytest.mark.parametrize(
    ("before", "after", "children"),
    [
        ((1, "a"), None, ["crm.grandchild", "shop.child"]),
        ((1, "a"), (1, "b"), ["shop.follower"]),
        ((1, "a"), (2, "a"), []),
        ((1, "a"), (1, "a"), []),
        (None, (1, "a"), []),
    ],
)
def test_a_change_of_a_parent_changes_its_followers_and_theirs(
    before: Row | None, after: Row | None, children: list[str]
) -> None:
    assert changed(before, after) == children


def test_all_ancestors_of_captured_tables_are_watched() -> None:
    assert CASCADES.watched == {TableName("shop", "parent"), TableName("shop", "child")}
    assert changed((1, "a"), None, Cascades()) == []
