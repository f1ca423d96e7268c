"""Structures that come back, and daily loads that are late: real servers, and what people read afterwards."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest
from support.changed_table import DAILY, KilledBeforeTheLog, outcomes, shown
from support.check_scene import CheckScene
from support.database_servers import MariaDb, MySql
from support.pulls import by
from support.source_database import on
from support.sweeps import sweep

from onefold.batches.source_arguments import Window
from onefold.mysql.connection import connect, query
from onefold.pull.load.run import TableLoads
from onefold.settings.sources import TableLoad

pytestmark = on(MariaDb, long=MySql)


@pytest.mark.long
def test_a_structure_that_comes_back_twice_on_one_day_is_read_each_time(scene: CheckScene) -> None:
    scene.pull()
    for value in (7, 8):
        scene.source.run(f"ALTER TABLE t ADD COLUMN filled INT NOT NULL DEFAULT {value}")
        scene.pull()
        assert shown(scene, "filled") == dict.fromkeys((1, 2, 3), value)
        scene.source.run("ALTER TABLE t DROP COLUMN filled")
        scene.pull()
        assert shown(scene) == {1: "a", 2: "b", 3: "c"}


@pytest.mark.parametrize("window", sweep(["15m", "day"]))
def test_a_column_whose_default_is_gone_has_its_values(scene: CheckScene, window: Window) -> None:
    scene.source.run("UPDATE t SET at = '2026-04-01 10:00' WHERE id < 3")
    scene.pull()
    scene.source.run(
        "ALTER TABLE t ADD COLUMN filled INT DEFAULT 7",
        "ALTER TABLE t ALTER COLUMN filled DROP DEFAULT",
        "ALTER TABLE t MODIFY filled INT",
    )
    scene.at = DAILY
    scene.pull(window)
    assert shown(scene, "filled") == dict.fromkeys((1, 2, 3), 7)


@pytest.mark.parametrize(
    ("before", "after", "value"),
    sweep(
        [
            ("INT AS (CHAR_LENGTH(name) * 10)", ["MODIFY filled INT AS (CHAR_LENGTH(name) * 100)"], 100),
            ("INT", ["MODIFY filled INT NOT NULL"], 0),
            ("INT NOT NULL DEFAULT 7", ["DROP COLUMN filled", "ADD COLUMN filled INT NOT NULL DEFAULT 8"], 8),
        ]
    ),
    ids=["an expression", "no NULL any more", "a column made anew"],
)
def test_values_that_an_alter_changes_in_the_same_structure_are_read(
    scene: CheckScene, before: str, after: list[str], value: int
) -> None:
    scene.source.run(
        f"ALTER TABLE t ADD COLUMN filled {before}", "UPDATE t SET at = '2026-04-01 10:00' WHERE id < 3", "SET sql_mode = ''"
    )
    scene.pull()
    scene.source.run(*(f"ALTER TABLE t {change}" for change in after))
    (report,) = scene.run().tables
    assert report.first
    assert shown(scene, "filled")[1] == value
    assert not scene.run().tables[0].first


def test_a_column_without_values_is_not_a_reason_to_read_the_table(scene: CheckScene) -> None:
    scene.source.run("UPDATE t SET at = '2026-04-01 10:00' WHERE id < 3")
    scene.pull()
    scene.source.run("ALTER TABLE t ADD COLUMN filled INT", "UPDATE t SET filled = 8 WHERE id = 3")
    (report,) = scene.run().tables
    assert (report.first, report.rows) == (False, 1)
    assert shown(scene, "filled") == {1: None, 2: None, 3: 8}


def test_a_key_that_was_committed_late_is_read_although_no_lower_one_is_left(scene: CheckScene) -> None:
    scene.tables = {"t": by("id", pull_overlap=0)}
    scene.pull()
    scene.at = DAILY
    scene.pull("day")
    with closing(connect(scene.source.server.address)) as late:
        late.select_db(scene.source.name)
        query(late, "BEGIN")
        query(late, "INSERT INTO t (name) VALUES ('late')")
        scene.source.run("INSERT INTO t (name) VALUES ('next')", "DELETE FROM t WHERE id = 3")
        scene.pull()
        late.commit()
    scene.at = DAILY + timedelta(days=1)
    scene.pull("day")
    assert shown(scene) == {1: "a", 2: "b", 3: "c", 4: "late", 5: "next"}


@pytest.mark.long
def test_days_of_keys_are_those_that_a_daily_load_replaces_whatever_zone_the_source_has(scene: CheckScene) -> None:
    scene.tables, scene.time_zone = {"t": by("id")}, "America/Los_Angeles"
    scene.pull()
    scene.at = DAILY
    scene.pull("day")
    # There it is still the day before.
    scene.source.run("INSERT INTO t (name) VALUES ('new')")
    scene.pull()
    scene.source.run("DELETE FROM t WHERE id = 4")
    for day in (1, 2):
        scene.at = DAILY + timedelta(days=day)
        scene.pull("day")
    assert shown(scene) == {1: "a", 2: "b", 3: "c"}


def killed_before_the_log(scene: CheckScene) -> None:
    loads = scene.loads()
    assert isinstance(loads, TableLoads)
    killed = scene.run(loads=replace(loads, log=KilledBeforeTheLog(loads.log)))
    assert outcomes(killed) == {"t": "failed"}


def test_a_pull_that_was_killed_before_its_line_in_the_log_does_not_hide_values(scene: CheckScene) -> None:
    # No overlap reads the other rows again.
    scene.source.run("UPDATE t SET at = '2026-05-03 11:00' WHERE id = 3")
    scene.source.run("ALTER TABLE t ADD COLUMN filled INT NOT NULL DEFAULT 7")
    scene.pull()
    scene.source.run("ALTER TABLE t DROP COLUMN filled")
    killed_before_the_log(scene)
    # The log knows of no load of the narrow structure, whose rows are above all others.
    scene.source.run("ALTER TABLE t ADD COLUMN filled INT NOT NULL DEFAULT 8")
    scene.pull()
    assert shown(scene, "filled") == {1: 8, 2: 8, 3: 8}


@pytest.mark.long
def test_a_structure_that_comes_back_after_two_killed_pulls_is_read_again(scene: CheckScene) -> None:
    scene.source.run("UPDATE t SET at = '2026-05-03 11:00' WHERE id = 3")
    scene.pull()
    scene.source.run("ALTER TABLE t ADD COLUMN filled INT NOT NULL DEFAULT 7")
    killed_before_the_log(scene)
    scene.source.run("ALTER TABLE t DROP COLUMN filled")
    killed_before_the_log(scene)
    # The log has no line of a load since the first pull of this structure.
    scene.source.run("ALTER TABLE t ADD COLUMN filled INT NOT NULL DEFAULT 8")
    scene.pull()
    assert shown(scene, "filled") == {1: 8, 2: 8, 3: 8}


@pytest.mark.parametrize("column", sweep(["at", "id"]))
def test_a_daily_load_that_is_the_first_to_see_an_alter_finds_deletions(scene: CheckScene, column: str) -> None:
    scene.tables = {"t": by(column)}
    scene.pull()
    scene.source.run("DELETE FROM t WHERE id = 2", "ALTER TABLE t ADD COLUMN filled INT NOT NULL DEFAULT 7")
    scene.at = DAILY
    scene.pull("day")
    assert shown(scene, "filled") == {1: 7, 3: 7}


@pytest.mark.long
@pytest.mark.parametrize("column", sweep(["at", "id"]))
def test_a_daily_load_that_failed_is_made_up_for_by_the_next_one(scene: CheckScene, column: str) -> None:
    scene.tables = {"t": by(column)}
    scene.pull()
    scene.source.run("DELETE FROM t WHERE id = 2")
    scene.tables = {"t": by("no_such_column")}
    for day in range(3):
        scene.at = DAILY + timedelta(days=day)
        assert outcomes(scene.run("day")) == {"t": "failed"}
    scene.tables = {"t": by(column)}
    scene.at = DAILY + timedelta(days=3)
    scene.pull("day")
    assert shown(scene) == {1: "a", 3: "c"}
    newest = replaced_days(scene)[-1]
    assert newest == [None, "2026-05-03", "2026-05-04", "2026-05-05", "2026-05-06"]
    # What is made up for is not done again.
    scene.at = DAILY + timedelta(days=4)
    scene.pull("day")
    assert replaced_days(scene)[-1] == [None, "2026-05-07"]


def replaced_days(scene: CheckScene) -> list[list[str | None]]:
    """The days of each daily load that was done; None for rows without a watermark."""
    log = scene.base("_loads").quoted
    rows = scene.warehouse.fetch(
        f"SELECT JSON_VALUE_ARRAY(days) AS days FROM {log} WHERE state = 'loaded' AND pull_window = 'day' ORDER BY logged_at"
    )
    return [[None if day == "0001-01-01" else day for day in row["days"]] for row in rows]


@pytest.mark.long
def test_a_key_that_changes_with_the_structure_leaves_no_row_of_the_former_key(
    scene: CheckScene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.pull()
    scene.source.run(
        "ALTER TABLE t ADD COLUMN place INT NOT NULL DEFAULT 0, DROP PRIMARY KEY, ADD PRIMARY KEY (id, place)",
        "INSERT INTO t VALUES (1, 'elsewhere', '2026-05-03 11:00', 1)",
    )
    scene.pull()
    rows = [(1, 0, "a"), (1, 1, "elsewhere"), (2, 0, "b"), (3, 0, "c")]
    assert sorted((row["id"], row["place"], row["name"]) for row in scene.view()) == rows
    (line,) = (line for line in capsys.readouterr().out.splitlines() if '"table_rekeyed"' in line)
    assert '"severity": "WARNING"' in line
    scene.source.run("DELETE FROM t WHERE place = 1")
    scene.at = DAILY
    scene.pull("day")
    assert sorted((row["id"], row["place"]) for row in scene.view()) == [(1, 0), (2, 0), (3, 0)]
    assert "table_rekeyed" not in capsys.readouterr().out


def test_a_full_load_that_is_repeated_after_a_kill_reads_what_has_changed_since(scene: CheckScene) -> None:
    scene.tables = {"t": TableLoad()}
    loads = scene.loads()
    assert isinstance(loads, TableLoads)
    killed = scene.run("day", loads=replace(loads, log=KilledBeforeTheLog(loads.log)))
    assert outcomes(killed) == {"t": "failed"}
    scene.source.run("DELETE FROM t WHERE id = 1", "UPDATE t SET name = 'new' WHERE id = 2", "INSERT INTO t (id) VALUES (4)")
    scene.pull("day")
    assert shown(scene) == {2: "new", 3: "c", 4: None}
