"""The log of a real server: its events, the positions where reading may start again, and logs that are refused."""

from __future__ import annotations

import itertools
import json

import pymysql
import pytest
from support.database_servers import DatabaseServer, MariaDb, MySql
from support.source_database import SourceDatabase, end_of_log, on

from onefold.capture.records import Origin, Record, change_records
from onefold.changelog.position import Position
from onefold.core.errors import NotFound, Rejected, TryAgain
from onefold.landing.table import versioned_table
from onefold.landing.version import version_of_structure
from onefold.mysql.binlog.events import Committed, Gtid, LogEvent, LogFileStarted, LogPosition, RowsChanged, Statement
from onefold.mysql.binlog.log_socket import LogSocket
from onefold.mysql.binlog.stream import follow
from onefold.mysql.catalog import TableName, structure_of, structures
from onefold.mysql.connection import Address, connect, query
from onefold.mysql.gtid import read_executed
from onefold.mysql.table_filter import TableFilter

pytestmark = on(MariaDb, MySql)

_server_ids = itertools.count(5000)

CREATE = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(30))"
# Each statement, and whether the structure that follows is another version.
ALTERS = [
    ("ADD COLUMN c INT DEFAULT 5 AFTER id", True),
    ("ADD COLUMN c INT", True),
    ("DROP COLUMN name", True),
    ("CHANGE name title VARCHAR(30)", True),
    ("MODIFY name VARCHAR(31)", True),
    ("MODIFY name TEXT", True),
    ("MODIFY id BIGINT", True),
    ("MODIFY id INT UNSIGNED", True),
    ("MODIFY name VARCHAR(30) CHARACTER SET latin1", True),
    ("MODIFY name VARBINARY(120)", True),
    ("MODIFY name VARCHAR(30) FIRST", True),
    ("RENAME TO u", True),
    ("MODIFY name VARCHAR(30) COLLATE utf8mb4_bin", False),
    ("MODIFY name VARCHAR(120) CHARACTER SET ascii", False),
    ("MODIFY name VARCHAR(30) NOT NULL", False),
    ("MODIFY id INT(3)", False),
    ("ADD INDEX (name)", False),
    ("DROP PRIMARY KEY", False),
    ("COMMENT 'x', FORCE", False),
]  # fmt: skip


@pytest.mark.parametrize(("alter", "differs"), ALTERS)
def test_an_alter_gives_the_version_that_is_specified(source: SourceDatabase, alter: str, differs: bool) -> None:
    source.run(CREATE, "INSERT INTO t (id) VALUES (1)", f"ALTER TABLE t {alter}")
    table = "u" if "RENAME" in alter else "t"
    source.run(
        f"INSERT INTO {table} (id{', name' if 'NOT NULL' in alter else ''}) VALUES (2{', 0' if 'NOT NULL' in alter else ''})"
    )
    before, after = source.changes()
    assert (version_of_structure(before.structure) != version_of_structure(after.structure)) == differs
    assert after.structure == structure_of(source.connection, TableName(source.name, table))


def test_an_event_is_read_with_the_structure_of_its_time(source: SourceDatabase) -> None:
    source.run(
        CREATE,
        "INSERT INTO t VALUES (1, 'a')",
        "ALTER TABLE t ADD COLUMN c INT AFTER id",
        "INSERT INTO t VALUES (2, 7, 'b')",
        "DROP TABLE t",
        "CREATE TABLE t (x DATE)",
        "INSERT INTO t VALUES ('2020-01-01')",
    )
    assert [change.after for change in source.changes()] == [((1, "a"),), ((2, 7, "b"),), (("2020-01-01",),)]


def test_one_structure_in_many_databases_is_one_version(source: SourceDatabase) -> None:
    names = [f"{source.name}_tenant{number}" for number in range(3)]
    for name in names:
        source.run(f"CREATE DATABASE {name}", f"USE {name}", CREATE, "INSERT INTO t VALUES (1, 'a')")
    changes = source.changes(TableFilter((f"{source.name}_tenant*.t",)))
    assert [change.database for change in changes] == names
    assert len({version_of_structure(change.structure) for change in changes}) == 1
    present = structures(source.connection, TableFilter((f"{source.name}_tenant?",)))
    assert sorted(name.database for name in present) == names
    assert set(present.values()) == {changes[0].structure}


@pytest.mark.parametrize(
    ("include", "exclude", "tables"),
    [
        ((), (), ["a", "ab", "b"]),
        (("{db}",), (), ["a", "ab", "b"]),
        (("{db}.a",), (), ["a"]),
        (("{db}.a*",), (), ["a", "ab"]),
        ((), ("{db}.a",), ["ab", "b"]),
        (("{db}.*",), ("*.b", "*.a"), ["ab"]),
        (("other",), (), []),
    ],
)
def test_patterns_choose_tables(
    source: SourceDatabase, include: tuple[str, ...], exclude: tuple[str, ...], tables: list[str]
) -> None:
    for table in ("a", "ab", "b"):
        source.run(f"CREATE TABLE {table} (id INT)", f"INSERT INTO {table} VALUES (1)")
    named = [tuple(one.format(db=source.name) for one in some) for some in (include, exclude)]
    patterns = TableFilter(named[0], named[1])
    assert [change.structure.table for change in source.changes(patterns) if change.database == source.name] == tables
    present = structures(source.connection, patterns)
    assert [name.table for name in present if name.database == source.name] == tables


def records(events: list[LogEvent]) -> list[Record]:
    """What a process would publish."""
    return [
        json.loads(record)
        for event in events
        if isinstance(event, RowsChanged)
        for record in change_records(Origin("shop-db", event.database, versioned_table(event.structure)), event)
    ]


def kinds(found: list[Record]) -> list[tuple[str, dict[str, object]]]:
    return [(record["metadata"]["change_type"], record["data"]) for record in found]


def test_every_change_of_a_row_is_a_record(source: SourceDatabase) -> None:
    source.run(
        CREATE,
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "UPDATE t SET name = 'c' WHERE id = 1",
        "UPDATE t SET id = 3 WHERE id = 2",
        "DELETE FROM t WHERE id = 1",
        "REPLACE INTO t VALUES (3, 'd')",
    )
    assert kinds(records(source.log())) == [
        ("INSERT", {"id": 1, "name": "a"}),
        ("INSERT", {"id": 2, "name": "b"}),
        ("UPDATE-INSERT", {"id": 1, "name": "c"}),
        ("UPDATE-DELETE", {"id": 2, "name": "b"}),
        ("UPDATE-INSERT", {"id": 3, "name": "b"}),
        ("DELETE", {"id": 1, "name": "c"}),
        ("UPDATE-INSERT", {"id": 3, "name": "d"}),
    ]


def test_the_greatest_position_of_a_key_is_its_last_change(source: SourceDatabase) -> None:
    source.run(
        CREATE,
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "UPDATE t SET id = id + 1 ORDER BY id DESC",
        "UPDATE t SET id = id - 1 ORDER BY id",
        "FLUSH BINARY LOGS",
        "UPDATE t SET id = id + 1 ORDER BY id DESC",
        "DELETE FROM t WHERE id = 3",
    )
    winners: dict[int, tuple[str, Record]] = {}
    for record in records(source.log())[::-1]:
        metadata = record["metadata"]
        deleted = metadata["change_type"] in ("DELETE", "UPDATE-DELETE")
        position = str(Position(metadata["change_sequence_number"], metadata["source_timestamp"], deleted=deleted))
        if record["data"]["id"] not in winners or position > winners[record["data"]["id"]][0]:
            winners[record["data"]["id"]] = position, record
    left = [record["data"] for _, record in winners.values() if not record["metadata"]["change_type"].endswith("DELETE")]
    assert sorted((row["id"], row["name"]) for row in left) == source.rows("SELECT * FROM t ORDER BY id")


def test_truncate_and_other_statements_are_yielded(source: SourceDatabase) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')", "TRUNCATE TABLE t", "ALTER TABLE t ADD c INT", "DROP TABLE t")
    statements = [event for event in source.log() if isinstance(event, Statement)]
    assert [event.text.split()[0] for event in statements] == ["CREATE", "TRUNCATE", "ALTER", "DROP"]
    assert {event.database for event in statements} == {source.name}


def test_reading_may_start_again_behind_every_transaction(source: SourceDatabase) -> None:
    source.run(
        CREATE, "CREATE TABLE m (id INT) ENGINE=MyISAM", "BEGIN", "INSERT INTO t VALUES (1, 'a')", "SAVEPOINT x",
        "INSERT INTO t VALUES (2, 'b')", "ROLLBACK TO x", "INSERT INTO t VALUES (3, 'c')", "COMMIT",
        "INSERT INTO m VALUES (1), (2)", "CREATE TABLE n AS SELECT * FROM t", "FLUSH BINARY LOGS", "DELETE FROM t",
    )  # fmt: skip
    whole = source.log()
    places = [number for number, event in enumerate(whole) if isinstance(event, Committed)]
    assert len(places) >= 6
    for number in places:
        committed = whole[number]
        assert isinstance(committed, Committed)
        patterns = TableFilter((f"{source.name}.*",))
        rest = follow(source.server.address, committed.position, patterns, next(_server_ids), blocking=False)
        # Each reading begins by telling which file it is in.
        begun, *others = rest
        assert isinstance(begun, LogFileStarted)
        assert others == whole[number + 1 :]
        assert committed.gtid


def test_reading_may_start_at_a_gtid(source: SourceDatabase) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    at = Gtid(1, read_executed(source.executed()))
    source.run("INSERT INTO t VALUES (2, 'b')")
    events = follow(source.server.address, at, TableFilter((source.name,)), next(_server_ids), blocking=False)
    (change,) = [event for event in events if isinstance(event, RowsChanged)]
    assert change.after == ((2, "b"),)
    assert change == source.changes()[-1]


def test_a_position_that_the_log_does_not_have_is_refused(source: SourceDatabase) -> None:
    gone = LogPosition(1, "mysql-bin.000999", 4)
    with pytest.raises(NotFound, match="does not have the position"):
        list(follow(source.server.address, gone, TableFilter(), next(_server_ids), blocking=False))


def test_an_offset_beyond_4_gb_is_refused(source: SourceDatabase) -> None:
    far = LogPosition(1, source.start.file, 1 << 32)
    with pytest.raises(Rejected, match="sends no log from beyond 4 GB"):
        list(follow(source.server.address, far, TableFilter(), next(_server_ids), blocking=False))


def test_a_second_reader_with_the_same_number_is_no_lost_log(source: SourceDatabase) -> None:
    """The server ends the older one: MySQL with the error of a lost position, MariaDB with one of its own."""
    number = next(_server_ids)
    older, newer = (follow(source.server.address, source.start, TableFilter(), number) for _ in range(2))
    next(older), next(newer)
    with pytest.raises(TryAgain, match=r"same --server-id|same server_uuid/server_id"):
        list(older)
    newer.close()


@pytest.mark.parametrize("host", ["a..b", "x" * 70])
def test_what_is_no_name_of_a_host_is_a_server_that_cannot_be_reached(host: str) -> None:
    with pytest.raises(pymysql.err.OperationalError, match="is not the name of a host"):
        connect(Address(host, 1))
    with pytest.raises(pymysql.err.OperationalError, match="is not the name of a host"):
        LogSocket(Address(host, 1).settings())


def test_a_server_that_does_not_answer_is_a_reason_to_try_again() -> None:
    with pytest.raises(TryAgain):
        list(follow(Address("127.0.0.1", 1), LogPosition(1, "mysql-bin.1", 4), TableFilter(), 1))


def test_a_user_without_the_privilege_gets_the_missing_grant(source: SourceDatabase) -> None:
    source.run(
        "CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'x'",
        f"GRANT SELECT ON {source.name}.* TO reader@'127.0.0.1'",
    )
    address = Address("127.0.0.1", source.server.port, "reader", "x")
    with pytest.raises(Rejected, match="GRANT REPLICATION SLAVE"):
        list(follow(address, source.start, TableFilter(), next(_server_ids), blocking=False))
    questions = "BINLOG MONITOR" if source.on_mariadb else "REPLICATION CLIENT"
    source.run(f"GRANT REPLICATION SLAVE, {questions} ON *.* TO reader@'127.0.0.1'")
    assert list(follow(address, source.start, TableFilter(), next(_server_ids), blocking=False)) == source.log(TableFilter())


def test_the_password_is_not_shown() -> None:
    assert "secret" not in repr(Address("h", 1, "u", "secret"))


@pytest.mark.long
def test_a_lost_connection_is_not_reopened(other: DatabaseServer) -> None:
    with connect(other.address) as connection:
        query(connection, "CREATE DATABASE lost")
        start = end_of_log(connection)
        query(connection, "CREATE TABLE lost.t (id INT)")
    events = follow(other.address, start, TableFilter(), next(_server_ids))
    assert [type(event) for event in itertools.islice(events, 2)] == [LogFileStarted, Statement]
    other.kill()
    other.start()
    with pytest.raises(TryAgain):
        list(events)


def test_after_a_crash_the_server_gives_tables_new_numbers(other: DatabaseServer) -> None:
    """Within one reading: a number that meant one table before the crash means another one behind it."""
    with connect(other.address) as connection:
        query(connection, "CREATE DATABASE crash")
        query(connection, "CREATE TABLE crash.a (id INT)")
        query(connection, "CREATE TABLE crash.b (name TEXT, id INT)")
    tables = ["a", "b"]
    start = None
    for order in (tables, tables[::-1]):
        other.kill()
        other.start()
        with connect(other.address) as connection:
            start = start or end_of_log(connection)
            for table in order:
                query(connection, f"INSERT INTO crash.{table} (id) VALUES (7)")
    assert start
    found = list(follow(other.address, start, TableFilter(("crash",)), next(_server_ids), blocking=False))
    rows = [(event.structure.table, event.after) for event in found if isinstance(event, RowsChanged)]
    a, b = ("a", ((7,),)), ("b", ((None, 7),))
    assert rows == [a, b, b, a]
