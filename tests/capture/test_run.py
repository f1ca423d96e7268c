"""The process against a real server: what it publishes, where it goes on, and what a lost log leads to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.capture import CREATE, Bench, begin, bench_of, eventually, latest, purge, shown
from support.capture_receiver import versions_of
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, end_of_log, on

from onefold.adapters.gcs import GcsObjects
from onefold.capture.checkpoint import Progress
from onefold.core.errors import NotFound
from onefold.mysql.gtid import read_executed
from onefold.mysql.table_filter import TableFilter

pytestmark = on(MariaDb, long=MySql)


@pytest.fixture
def bench(source: SourceDatabase, tmp_path: Path) -> Bench:
    return bench_of(source, tmp_path)


def test_rows_are_published_after_their_table_is_created_and_announced(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')", "UPDATE t SET id = 3 WHERE id = 1")
    records = bench.once(start=start)
    assert latest(records) == shown(source, "t")
    (name,) = bench.warehouse.tables
    table = {"name": "t", "version": name.removeprefix("t_v_")}
    assert bench.publisher.bodies("table-created") == [{"dataset": "shop", "table": table}]
    (message,) = bench.publisher.bodies("change-records")
    assert (message["dataset"], versions_of(message)) == ("shop", {(table["name"], table["version"])})
    assert bench.warehouse.partitions == {name: "_landed_at"}
    assert bench.warehouse.tables[name].clustering == ("database_name", "id")


def test_a_row_limit_of_the_server_s_sessions_does_not_shorten_a_copy(bench: Bench, source: SourceDatabase) -> None:
    """A table without a key is copied in one pass, whose end is the end of what the server sends."""
    source.run("CREATE TABLE t (id INT)", "INSERT INTO t VALUES (0), (1), (2), (3), (4)", "SET GLOBAL sql_select_limit = 2")
    try:
        records = bench.once(snapshot=True)
    finally:
        source.run("SET GLOBAL sql_select_limit = 18446744073709551615")
    assert sorted(record["data"]["id"] for record in records) == [0, 1, 2, 3, 4]


@on(MySql)
def test_a_generated_key_that_the_server_hides_is_copied_as_it_is_logged(bench: Bench, source: SourceDatabase) -> None:
    hidden = "SET GLOBAL show_gipk_in_create_table_and_information_schema"
    source.run(f"{hidden} = OFF", "SET SESSION sql_generate_invisible_primary_key = ON")
    source.run("CREATE TABLE t (n INT)", "INSERT INTO t VALUES (7), (8)")
    try:
        bench.once(snapshot=True)
        source.run("UPDATE t SET n = 9 WHERE n = 7", "DELETE FROM t WHERE n = 8")
        records = bench.once()
    finally:
        source.run(f"{hidden} = ON")
    assert latest(records) == {(source.name, "t", "1"): {"my_row_id": "1", "n": 9}}


def test_a_table_declares_its_key_and_a_database_with_another_one_is_reported_at_each_start(
    bench: Bench, source: SourceDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    """The columns are the same in both databases, and so is the version."""
    other = f"{source.name}_other"
    bench.patterns = TableFilter((source.name, other))
    start = begin(source)
    source.run(
        "CREATE TABLE t (`the id` INT NOT NULL, code INT NOT NULL, PRIMARY KEY (code, `the id`))",
        "INSERT INTO t VALUES (1, 2)", f"CREATE DATABASE {other}",
        f"CREATE TABLE {other}.t (`the id` INT PRIMARY KEY, code INT NOT NULL)", f"INSERT INTO {other}.t VALUES (1, 2)",
    )  # fmt: skip
    for _ in range(2):  # both starts read rows of both
        bench.once(start=start)
        (table,) = bench.warehouse.tables.values()
        assert table.primary_key == ("source_name", "database_name", "code", "the_id")
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        (found,) = [line for line in lines if line["event"] == "key_differs"]
        assert (found["source"], found["database"], found["table"]) == ("shop-db", other, "t")
        assert (found["declared_key"], found["primary_key"]) == (["code", "the_id"], ["the_id"])
        source.run("UPDATE t SET code = code + 1", f"UPDATE {other}.t SET code = code + 1")
    keys = {tuple(record["metadata"]["primary_key"]) for record in bench.publisher.records()}
    assert keys == {("code", "the_id"), ("the_id",)}
    source.run(f"DROP DATABASE {other}")


def test_a_process_goes_on_where_the_last_one_has_ended(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    assert len(bench.once(start=start)) == 1
    source.run("INSERT INTO t VALUES (2, 'b')", "FLUSH LOGS", "INSERT INTO t VALUES (3, 'c')")
    assert len(bench.once(start=start)) == 3
    assert len(bench.once()) == 3
    # Of the file alone: the server notes a while after the new file that it is done with the former one.
    assert (bench.checkpoint()["epoch"], bench.checkpoint()["place"]["file"]) == (1, end_of_log(source.connection).file)


@pytest.mark.parametrize(("statement", "kind"), [("TRUNCATE t", "table truncated"), ("DROP TABLE t", "table dropped")])
def test_an_event_is_published_when_a_table_is_truncated_or_dropped(
    bench: Bench, source: SourceDatabase, statement: str, kind: str
) -> None:
    start = begin(source)
    source.run("CREATE TABLE other (id INT)", CREATE, statement)
    bench.once(start=start)
    (body,) = bench.publisher.bodies("schema-changes")
    assert (body["severity"], body["table"], body["database"]) == ("CRITICAL", "t", source.name)
    assert [change["kind"] for change in body["changes"]] == [kind]
    (message,) = bench.publisher.topics["schema-changes"]
    assert message.attributes == {"severity": "CRITICAL", "dataset": "shop", "table": "t"}


@pytest.mark.parametrize(
    ("statement", "kind"), [("DROP TABLE t", "table dropped"), ("RENAME TABLE t TO u", "table renamed")]
)
def test_a_truncation_is_published_of_a_table_that_is_gone_when_the_log_is_read(
    bench: Bench, source: SourceDatabase, statement: str, kind: str
) -> None:
    start = begin(source)
    source.run("CREATE TABLE other (id INT)", CREATE, "TRUNCATE t", statement)
    bench.once(start=start)
    bodies = [
        (body["table"], *(change["kind"] for change in body["changes"])) for body in bench.publisher.bodies("schema-changes")
    ]
    assert bodies == [("t", "table truncated"), ("t", kind)]


def test_a_running_capture_warns_that_no_table_fits_and_waits_for_one(
    bench: Bench, source: SourceDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    with bench.running():
        eventually(lambda: (bench.folder / "checkpoint" / "checkpoint.json").exists())
        source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
        eventually(bench.publisher.count)
    (line,) = [one for one in map(json.loads, capsys.readouterr().out.splitlines()) if one["event"] == "no_table_fits"]
    assert (line["severity"], f"--include {source.name}.*" in line["reason"]) == ("WARNING", True)


def test_changes_are_published_while_capture_runs(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    with bench.running(snapshot=True, start=begin(source)):
        eventually(lambda: bench.publisher.count() == 1)
        source.run("INSERT INTO t VALUES (2, 'b')")
        eventually(lambda: bench.publisher.count() == 2)
    assert latest(bench.publisher.records()) == shown(source, "t")
    assert len(bench.once()) == 2


def test_a_purged_log_raises_the_epoch_and_copies_all_again(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    bench.once(start=start)
    source.run("UPDATE t SET name = 'lost'", "FLUSH LOGS", "UPDATE t SET name = 'b'")
    purge(source)
    records = bench.once()
    assert latest(records) == shown(source, "t")
    assert bench.checkpoint()["epoch"] == 2
    source.run("UPDATE t SET name = 'c'")
    assert latest(bench.once()) == shown(source, "t")


def test_a_server_whose_log_starts_again_raises_the_epoch(source: SourceDatabase, tmp_path: Path) -> None:
    """A file of the same name and no shorter, begun at another time."""
    bench = bench_of(source, tmp_path)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    bench.once(start=begin(source))
    path = tmp_path / "checkpoint" / "checkpoint.json"
    path.write_text(path.read_text().replace('"fingerprint":"', '"fingerprint":"1'))
    source.run("UPDATE t SET name = 'b'")
    records = bench.once()
    assert latest(records) == shown(source, "t")
    assert {record["metadata"]["change_sequence_number"].split("/")[0] for record in records} == {"2"}


def test_by_gtids_another_log_is_read_on_without_copies(source: SourceDatabase, tmp_path: Path) -> None:
    bench = bench_of(source, tmp_path)
    start = begin(source)
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    bench.once(start=start)
    assert read_executed(bench.checkpoint()["executed"]) == read_executed(source.executed())
    path = tmp_path / "checkpoint" / "checkpoint.json"
    path.write_text(path.read_text().replace('"fingerprint":"', '"fingerprint":"1'))
    source.run("INSERT INTO t VALUES (2, 'b')")
    records = bench.once(follow_gtids=True)
    positions = [record["metadata"]["change_sequence_number"].split("/")[0] for record in records]
    assert (positions, latest(records)) == (["1", "2"], shown(source, "t"))
    assert (bench.checkpoint()["epoch"], bench.checkpoint()["sweeps"]) == (2, [])
    source.run("INSERT INTO t VALUES (3, 'c')")
    assert len(bench.once()) == 3


def test_capture_begins_behind_gtids(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE, "INSERT INTO t VALUES (1, 'a')")
    executed = source.executed()
    source.run("INSERT INTO t VALUES (2, 'b')")
    records = bench.once(start=Progress(executed=read_executed(executed)))
    assert [record["data"]["id"] for record in records] == [2]


def test_a_start_that_the_log_does_not_have_is_an_error(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE)
    place = replace(end_of_log(source.connection), offset=10**9)
    with pytest.raises(NotFound, match="does not have the position"):
        bench.once(start=Progress(place))
    assert not (bench.folder / "checkpoint" / "checkpoint.json").exists()


def test_a_row_too_large_for_a_message_is_stored_as_an_object(bench: Bench, source: SourceDatabase) -> None:
    start = begin(source)
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY, name LONGTEXT)", f"INSERT INTO t VALUES (1, '{'x' * 500_000}'), (2, 'b')"
    )
    bench.once(start=start)
    (large, small) = sorted(bench.publisher.bodies("change-records"), key=lambda body: "records" in body)
    stored = json.loads(GcsObjects().read(large["records_at"]))
    assert latest([*stored["records"], *small["records"]]) == shown(source, "t")


def test_no_row_is_lost_while_pubsub_does_not_answer(bench: Bench, source: SourceDatabase) -> None:
    source.run(CREATE)
    with bench.running(start=begin(source)) as capture:
        eventually(lambda: capture.saved and bench.folder.joinpath("checkpoint/checkpoint.json").exists())
        bench.publisher.down = True
        before = bench.checkpoint()["place"]
        source.run("INSERT INTO t VALUES (1, 'a')")
        eventually(lambda: capture._changes.rows == 1)
        assert bench.publisher.count() == 0
        bench.publisher.down = False
        eventually(lambda: bench.publisher.count() == 1)
        eventually(lambda: bench.checkpoint()["place"] != before)
    assert latest(bench.publisher.records()) == shown(source, "t")
