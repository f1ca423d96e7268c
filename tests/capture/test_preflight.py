"""`onefold capture --check` reports everything that a start would find, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.capture_receiver import receiving
from support.cli import Run
from support.database_servers import MariaDb, MySql
from support.fake_gcs import ObjectStore
from support.preflight_scene import Scene
from support.source_database import SourceDatabase, end_of_log, on

from onefold.capture.checkpoint import Checkpoint, Progress
from onefold.capture.checkpoint_json import to_json
from onefold.landing.table import versioned_table
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName, structure_of
from onefold.mysql.connection import connect, query
from onefold.mysql.table_filter import SYSTEM

READS = ("REPLICATION SLAVE", "REPLICATION CLIENT", "SELECT")


@pytest.fixture
def scene(source: SourceDatabase, object_store: ObjectStore, run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    source.run("CREATE TABLE a (id INT PRIMARY KEY, n INT)", "INSERT INTO a VALUES (1, 1)")
    with receiving() as receiver:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", receiver.pubsub_address)
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", receiver.bigquery_address)
        monkeypatch.setenv("ONEFOLD_PROJECT", "local")
        monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "")
        monkeypatch.setenv("ONEFOLD_TOPIC_SCHEMA_CHANGES", "reported")
        scene = Scene(source, receiver, object_store, run)
        scene.grant(*READS)
        yield scene
        source.run(f"DROP USER {scene.user}@'%'")


def save(scene: Scene, reached: Progress, **other: Any) -> None:
    """A checkpoint, written by another process."""
    document = to_json(Checkpoint(**{"source": "shop-db", "dataset": "shop", "reached": reached, **other}))
    scene.objects.objects["a-bucket/shop-db/checkpoint.json"] = (document, 1_700_000_000_000_000)


@on(MariaDb, MySql)
def test_all_is_in_order_for_a_user_who_may_only_read(scene: Scene) -> None:
    report = scene.check()
    assert report["ok"], scene.problems(report)
    assert {(one["part"], one["name"]) for one in report["checks"]} == {
        *(("source", name) for name in ("settings", "start", "log", "GTIDs", "tables", "foreign keys")),
        *(("destination", f"topic {name}") for name in ("change-records", "table-created", "reported")),
        *(("destination", name) for name in ("dataset", "checkpoint", "large rows", "versioned tables")),
    }
    assert (report["tables"], report["quarantine"]) == (1, [])


@on(MariaDb, MySql)
def test_nothing_is_changed_and_nothing_is_locked(scene: Scene) -> None:
    """A table that a start would announce, one that it would tell of, and a checkpoint that it would take over."""
    scene.source.run("CREATE TABLE b (x TEXT CHARACTER SET swe7)")
    save(scene, Progress(end_of_log(scene.source.connection)))
    before = scene.state()
    assert not scene.check("--snapshot", "--again", "*", "--epoch", "9")["ok"]
    after = scene.state()
    asked = {name for name, count in after.pop("asked").items() if count != before["asked"][name]}
    before.pop("asked")
    assert after == before
    reading = {"Com_select", "Com_set_option", "Com_binlog", "Com_show_status", "Com_admin_commands"}
    assert {name for name in asked if name not in reading and not name.startswith("Com_show_")} == set()


def test_all_problems_are_reported_at_once(scene: Scene) -> None:
    scene.receiver.closed |= {"change-records", "table-created", "reported"}
    scene.objects.lacks.add("storage.objects.create")
    scene.source.run("CREATE TABLE b (x TEXT CHARACTER SET swe7)", "SET GLOBAL binlog_row_image = MINIMAL")
    try:
        report = scene.check("--dataset", "missing")
    finally:
        scene.source.run("SET GLOBAL binlog_row_image = FULL")
    found = scene.problems(report)
    assert set(found) == {
        "settings", "dataset", "topic change-records", "topic table-created", "topic reported", "checkpoint", "large rows",
    }  # fmt: skip
    assert "SET GLOBAL binlog_row_image = 'FULL'" in found["settings"]
    assert [(held["table"], held["kind"]) for held in report["quarantine"]] == [("b", "structure")]
    assert "ALTER TABLE" in report["quarantine"][0]["remedy"]


def test_people_get_a_table_and_each_problem_with_its_command_on_one_line(scene: Scene) -> None:
    done = scene.command()
    assert (done.code, done.err) == (0, "")
    assert "everything is ok; nothing was changed" in done.out
    scene.receiver.closed.add("reported")
    scene.source.run("CREATE TABLE b (x TEXT CHARACTER SET swe7)")
    done = scene.command()
    assert done.code == 2
    (line,) = (line for line in done.out.splitlines() if line.startswith("topic reported: "))
    assert "gcloud pubsub topics add-iam-policy-binding reported --project=local" in line
    (line,) = (line for line in done.out.splitlines() if line.startswith("would be in quarantine (structure): "))
    assert "run: ALTER TABLE" in line
    assert "there are problems; nothing was changed" in done.out


@on(MariaDb, MySql)
@pytest.mark.parametrize(
    ("rights", "name", "words"),
    [
        (("REPLICATION CLIENT", "SELECT"), "log", "REPLICATION SLAVE"),
        (("REPLICATION SLAVE", "SELECT"), "settings", "REPLICATION CLIENT"),
    ],
)
def test_a_missing_right_on_the_log_is_named_for_the_user(
    scene: Scene, rights: tuple[str, ...], name: str, words: str
) -> None:
    scene.source.run(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {scene.user}@'%'")
    scene.grant(*rights)
    found = scene.problems(scene.check())
    assert words in found[name]
    assert f"TO '{scene.user}'@'%'" in found[name]


@on(MariaDb, MySql)
@pytest.mark.parametrize("right", ["SELECT (id)", "INSERT"])
def test_a_table_that_may_not_be_read_completely_is_reported_with_its_grant(scene: Scene, right: str) -> None:
    scene.source.run(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {scene.user}@'%'", "CREATE TABLE b (id INT PRIMARY KEY)")
    scene.grant(*READS[:2])
    scene.grant(right, on=f"{scene.source.name}.a")
    scene.grant("SELECT", on=f"{scene.source.name}.b")
    (held,) = scene.check()["quarantine"]
    assert (held["table"], held["kind"]) == ("a", "grant")
    scene.source.run(*re.findall("run: (GRANT .*)", held["remedy"]))
    assert scene.check()["ok"]


def test_two_tables_with_one_base_name_are_reported(scene: Scene) -> None:
    scene.source.run("CREATE TABLE `x y` (id INT PRIMARY KEY)", "CREATE TABLE x_y (id INT PRIMARY KEY)")
    (held,) = scene.check()["quarantine"]
    assert (held["table"], held["kind"]) == ("x y", "name")
    save(scene, Progress(end_of_log(scene.source.connection)), owners=(("x_y", "x y"),))
    (held,) = scene.check()["quarantine"]
    assert (held["table"], held["kind"]) == ("x_y", "name")


def test_another_table_of_the_name_of_a_version_is_reported(scene: Scene) -> None:
    structure = structure_of(scene.source.connection, TableName(scene.source.name, "a"))
    assert structure
    name = versioned_table(structure).name
    fields = [{"name": "id", "type": "STRING", "mode": "NULLABLE"}]
    reference = {"projectId": "local", "datasetId": "shop", "tableId": name}
    scene.receiver.create_table({"tableReference": reference, "schema": {"fields": fields}})
    (held,) = scene.check()["quarantine"]
    assert (held["table"], held["kind"]) == ("a", "warehouse")
    assert f"{name}: expected the column id to be INT64, got STRING" in held["reason"]


def purged(_: Scene) -> Progress:
    return Progress(LogPosition(1, "mysql-bin.999999", 4))


def another_file(scene: Scene) -> Progress:
    return Progress(end_of_log(scene.source.connection), fingerprint="1/2/3")


@on(MariaDb, MySql)
@pytest.mark.parametrize("reached", [purged, another_file])
def test_a_log_without_the_position_of_the_checkpoint_is_reported(
    scene: Scene, reached: Callable[[Scene], Progress]
) -> None:
    save(scene, reached(scene), epoch=7)
    assert "the next start begins epoch 8, and copies all tables again" in scene.problems(scene.check())["log"]
    save(scene, Progress(end_of_log(scene.source.connection)), epoch=7)
    assert scene.check()["ok"]


def test_a_start_that_the_log_lacks_and_a_checkpoint_of_another_source_are_reported(scene: Scene) -> None:
    assert "log" in scene.problems(scene.check("--start", "mysql-bin.999999:4"))
    save(scene, Progress(end_of_log(scene.source.connection)), source="crm")
    assert (
        "expected a checkpoint of the source 'shop-db', got one of the source 'crm'"
        in scene.problems(scene.check())["start"]
    )


@on(MySql)
def test_a_failover_by_gtids_needs_them(scene: Scene) -> None:
    assert scene.check("--gtid-failover")["ok"]
    for mode in ("ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF"):
        if mode == "OFF_PERMISSIVE":
            scene.source.run("SET GLOBAL enforce_gtid_consistency = OFF")
        scene.source.run(f"SET GLOBAL gtid_mode = {mode}")
    try:
        assert scene.check()["ok"]
        assert "gtid_mode = ON" in scene.problems(scene.check("--gtid-failover"))["GTIDs"]
    finally:
        scene.source.run(*(f"SET GLOBAL gtid_mode = {mode}" for mode in ("OFF_PERMISSIVE", "ON_PERMISSIVE")))
        scene.source.run("SET GLOBAL enforce_gtid_consistency = ON", "SET GLOBAL gtid_mode = ON")


@on(MariaDb, MySql)
def test_a_wrong_password_and_a_missing_grant_are_two_messages(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.source.run(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {scene.user}@'%'")
    denied = scene.problems(scene.check())["settings"]
    assert "lacks a right at the source" in denied
    assert "GRANT REPLICATION SLAVE" in denied
    assert "password" not in denied
    monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "wrong")
    refused = scene.problems(scene.check())["settings"]
    assert "the source refuses the login" in refused
    assert scene.user in refused
    assert "ONEFOLD_SOURCE_PASSWORD or --password-from" in refused
    assert "GRANT" not in refused


@on(MariaDb, MySql)
def test_foreign_keys_that_a_right_hides_are_reported_with_the_grant_that_shows_them(scene: Scene) -> None:
    hidden = f"{scene.source.name}_hidden"
    scene.source.run(
        f"REVOKE SELECT ON *.* FROM {scene.user}@'%'", f"GRANT SELECT ON {scene.source.name}.* TO {scene.user}@'%'",
        f"CREATE DATABASE {hidden}", f"CREATE TABLE {hidden}.p (id INT PRIMARY KEY)", f"INSERT INTO {hidden}.p VALUES (1)",
        f"ALTER TABLE a ADD FOREIGN KEY (n) REFERENCES {hidden}.p (id) ON DELETE SET NULL",
    )  # fmt: skip
    problem = scene.problems(scene.check())["foreign keys"]
    assert problem.startswith(f"the foreign keys of {hidden}.p, ")
    scene.source.run(problem.partition("run: ")[2])
    assert scene.check()["ok"]


def test_a_database_that_does_not_exist_is_reported_with_those_that_do(scene: Scene) -> None:
    report = scene.check("--include", "no_such_database.*", "--include", "never[0-9]")
    (note,) = (one["note"] for one in report["checks"] if one["name"] == "tables")
    seen = sorted(name for (name,) in scene.source.rows("SHOW DATABASES") if name not in SYSTEM)
    assert report["ok"]
    assert note.startswith(f"1 captured; no database is named no_such_database; the user sees {', '.join(seen[:20])}")


def test_a_server_that_does_not_answer_is_a_problem_and_not_retried(scene: Scene) -> None:
    scene.receiver.down = True
    scene.objects.status = 503
    found = scene.problems(scene.check())
    topics = {f"topic {name}" for name in ("change-records", "table-created", "reported")}
    assert set(found) == {"start", "checkpoint", "large rows", *topics}


def test_a_folder_of_this_machine_is_not_made(scene: Scene, tmp_path: Path) -> None:
    assert scene.check("--checkpoint", "state", "--bucket", "large")["ok"]
    assert list(tmp_path.iterdir()) == []


def test_the_check_leaves_no_replica_behind(scene: Scene) -> None:
    scene.check()
    with closing(connect(scene.source.server.address)) as connection:
        users = [user for _, user, *_ in query(connection, "SHOW PROCESSLIST")]
    assert scene.user not in users
