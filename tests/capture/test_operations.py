"""Operations on a server while it is captured: tools that swap tables, other databases, unusual tables."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest
from support.capture import Bench, bench_of, eventually, latest
from support.source_database import SourceDatabase, end_of_log

from onefold.capture.cascades import may_change_cascades
from onefold.capture.checkpoint import Progress
from onefold.cli.capture import end_by_signal
from onefold.mysql.binlog.events import Statement
from onefold.mysql.snapshot import consistent_read
from onefold.mysql.table_filter import TableFilter

CREATE = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(30))"
SWAP = (
    "CREATE TABLE _t_new LIKE t",
    "ALTER TABLE _t_new ADD COLUMN z INT DEFAULT 3",
    "CREATE TRIGGER g AFTER UPDATE ON t FOR EACH ROW REPLACE INTO _t_new (id, name) VALUES (NEW.id, NEW.name)",
    "INSERT IGNORE INTO _t_new (id, name) SELECT id, name FROM t",
    "UPDATE t SET name = 'm' WHERE id = 2",
    "RENAME TABLE t TO _t_old, _t_new TO t",
    "DROP TABLE _t_old",
)
"""As pt-online-schema-change does it."""


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    return bench_of(source, tmp_path)


def begin(source: SourceDatabase) -> Progress:
    return Progress(end_of_log(source.connection))


def dropped(bench: Bench) -> list[tuple[str, str | None]]:
    return [(body["changes"][0]["kind"], body["table"]) for body in bench.publisher.bodies("schema-changes")]


def test_a_table_swapped_by_a_tool_is_right_and_not_reported_as_dropped(bench: Bench, source: SourceDatabase) -> None:
    bench.patterns = TableFilter((source.name,), ("*._*_new", "*._*_old"))
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')", *SWAP)
    records = bench.once(start=start)
    assert {record["metadata"]["table_name"] for record in records} == {"t"}
    assert list(latest(records).values()) == [{"id": 1, "name": "a", "z": 3}, {"id": 2, "name": "m", "z": 3}]
    assert dropped(bench) == []


def test_a_dropped_database_is_reported_if_its_tables_may_be_captured(bench: Bench, source: SourceDatabase) -> None:
    scratch, tenant = f"scratch_{source.name}", f"tenant_{source.name}"
    bench.patterns = TableFilter(("tenant_*.t",))
    start = begin(source)
    for database in (scratch, tenant):
        source.run(f"CREATE DATABASE {database}", f"DROP DATABASE {database}")
    bench.once(start=start)
    assert [body["database"] for body in bench.publisher.bodies("schema-changes")] == [tenant]


@pytest.mark.parametrize(
    ("include", "exclude", "may"),
    [
        ((), (), True),
        (("shop",), (), True),
        (("sh*.customer",), (), True),
        (("crm", "crm.*"), (), False),
        ((), ("shop.log",), True),
        ((), ("sh*",), False),
        (("shop",), ("shop.*",), False),
    ],
)
def test_a_database_of_which_tables_may_be_captured(include: tuple[str, ...], exclude: tuple[str, ...], may: bool) -> None:
    assert TableFilter(include, exclude).may_match("shop") is may
    assert not TableFilter().may_match("mysql")


def test_a_table_enters_quarantine_when_it_becomes_system_versioned(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE, "CREATE TABLE u (id INT PRIMARY KEY)")
    with bench.running(start=begin(source)) as capture:
        eventually(lambda: capture.saved and capture._reader.begun)
        source.run("ALTER TABLE t ADD SYSTEM VERSIONING", "INSERT INTO t VALUES (1, 'a')", "INSERT INTO u VALUES (1)")
        eventually(lambda: bench.publisher.records())
    (message,) = bench.publisher.bodies("schema-changes")
    assert "t is a system-versioned table" in message["reason"]
    assert {record["metadata"]["table_name"] for record in bench.publisher.records()} == {"u"}
    source.run("DROP TABLE t")  # other tests capture all of the server


def test_a_first_copy_without_tables_is_logged_and_made_later(
    bench: Bench, source: SourceDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen, bench.patterns = bench.patterns, TableFilter(("mistyped.*",))
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    bench.once(start=begin(source), snapshot=True)
    assert "nothing to copy: no table that the user may read fits the patterns" in capsys.readouterr().out
    bench.patterns = chosen
    assert len(bench.once(snapshot=True)) == 1


def test_a_requested_epoch_begins_once_at_the_end_of_the_log_with_copies(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    bench.once(start=start)
    source.run("INSERT INTO t VALUES (2, 'b')")
    for _ in range(2):
        records = bench.once(epoch=3)
    found = [(record["metadata"]["ingestion_method"], record["data"]["id"]) for record in records]
    assert sorted(found) == [("BINLOG", 1), ("SNAPSHOT", 1), ("SNAPSHOT", 2)]
    assert records[-1]["metadata"]["change_sequence_number"].startswith("3/")
    assert bench.checkpoint()["epoch"] == 3


def test_a_new_checkpoint_may_begin_with_any_epoch(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    (record,) = bench.once(start=start, epoch=2)
    assert record["metadata"]["change_sequence_number"].startswith("2/")


def test_a_locked_table_does_not_delay_other_tables(
    bench: Bench, source: SourceDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consistent_read, "_LOCK_SECONDS", 1)
    for table in ("a", "b", "c"):
        source.run(f"CREATE TABLE {table} (id INT PRIMARY KEY)", f"INSERT INTO {table} VALUES (1)")
    source.run("LOCK TABLES a WRITE")
    with bench.running(snapshot=True, start=begin(source)):
        eventually(lambda: {key[1] for key in latest(bench.publisher.records())} == {"b", "c"})
        source.run("UNLOCK TABLES")
        eventually(lambda: len(latest(bench.publisher.records())) == 3)


def test_sequences_and_excluded_tables_are_skipped(source: SourceDatabase) -> None:
    source.run(
        "CREATE SEQUENCE s",
        "CREATE TABLE pressed (a TEXT COMPRESSED)",
        "INSERT INTO pressed VALUES ('x')",
        "CREATE TABLE t (id INT PRIMARY KEY DEFAULT NEXTVAL(s))",
        "INSERT INTO t VALUES ()",
        "DROP TABLE pressed",  # other tests capture all of the server
    )
    changes = source.changes(TableFilter((source.name,), ("*.pressed",)))
    assert [(change.structure.table, change.after) for change in changes] == [("t", ((1,),))]


def test_statements_are_read_without_what_the_server_adds_to_them(source: SourceDatabase) -> None:
    source.run("CREATE TABLE `größe` (id INT)", "SET SESSION binlog_alter_two_phase = ON")
    address = source.server.address
    with pymysql.connect(
        host=address.host, port=address.port, user=address.user, database=source.name, charset="latin1"
    ) as client:
        client.query("ALTER TABLE `größe` ADD COLUMN maß INT")
    source.run("ALTER TABLE `größe` DROP COLUMN `maß`, ALGORITHM = COPY")
    texts = [event.text for event in source.log() if isinstance(event, Statement)]
    assert texts[1] == "ALTER TABLE `größe` ADD COLUMN maß INT"
    assert set(texts[2:]) == {"ALTER TABLE `größe` DROP COLUMN `maß`, ALGORITHM = COPY"}


@pytest.fixture
def signals() -> Iterator[None]:
    """What they did before, they do again."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
def test_capture_ends_with_a_checkpoint_unless_ctrl_c_is_pressed_twice(bench: Bench) -> None:
    capture = bench.capture()
    end_by_signal(capture)
    signal.raise_signal(signal.SIGTERM)
    assert capture.publishing.stop.is_set()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL


@pytest.mark.parametrize(
    ("statement", "may"),
    [
        ("CREATE TABLE t (p INT REFERENCES p (id) ON DELETE CASCADE)", True),
        ("alter table t drop constraint c", True),
        ("RENAME TABLE p TO q", True),
        ("ALTER TABLE p CHANGE id number INT", True),
        ("ALTER TABLE t ADD COLUMN c INT DEFAULT 5", False),
        ("CREATE TABLE t (id INT)", False),
        ("DROP TABLE t", False),
    ],
)
def test_foreign_keys_are_read_again_only_if_a_statement_may_change_them(statement: str, may: bool) -> None:
    assert may_change_cascades(statement) is may
