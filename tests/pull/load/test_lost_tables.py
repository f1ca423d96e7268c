"""What a pull does where the log remembers more than the warehouse has, on a real server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from support.changed_table import DAILY, NOON, shown
from support.check_scene import CheckScene
from support.database_servers import MariaDb
from support.source_database import on
from support.sweeps import sweep

from onefold.batches.source_arguments import Window

pytestmark = on(MariaDb)
ROWS = {1: "a", 2: "b", 3: "new"}


@pytest.fixture
def old(scene: CheckScene) -> CheckScene:
    """A table of which a row is older than all that a pull reads again."""
    scene.source.run("UPDATE t SET at = '2026-04-01 10:00' WHERE id = 1")
    scene.pull()
    scene.source.run("UPDATE t SET name = 'new', at = '2026-05-03 11:00' WHERE id = 3")
    return scene


@pytest.mark.parametrize("window", sweep(["day", "15m"]))
def test_a_versioned_table_that_was_dropped_is_pulled_whole(
    old: CheckScene, window: Window, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in old.versions():
        old.emulated.client.delete_table(str(version))
    old.at = DAILY
    old.pull(window)
    assert shown(old) == ROWS
    assert '"pulled_table_lost"' in capsys.readouterr().out
    old.pull(window)
    assert '"pulled_table_lost"' not in capsys.readouterr().out


@pytest.mark.long
def test_a_table_that_is_dropped_twice_on_one_day_is_read_each_time(old: CheckScene) -> None:
    for name in ("x", "y", "z"):
        for version in old.versions():
            old.emulated.client.delete_table(str(version))
        old.source.run(f"UPDATE t SET name = '{name}' WHERE id = 1")
        old.pull()
        assert shown(old) == {**ROWS, 1: name}


@pytest.mark.long
@pytest.mark.parametrize("window", sweep(["day", "15m"]))
def test_an_older_version_that_was_dropped_with_its_rows_is_pulled_again(
    old: CheckScene, window: Window, capsys: pytest.CaptureFixture[str]
) -> None:
    (first,) = old.versions()
    for number in (1, 2):
        old.source.run(f"ALTER TABLE t ADD COLUMN more{number} INT")
        old.pull()
        assert '"pulled_table_lost"' not in capsys.readouterr().out
    old.emulated.client.delete_table(str(first))
    old.at = DAILY
    old.pull(window)
    assert shown(old) == ROWS
    assert '"pulled_table_lost"' in capsys.readouterr().out
    # An older version whose rows were read again is not missed.
    (second,) = (one for one in old.versions() if one.table != versioned(old))
    old.emulated.client.delete_table(str(second))
    old.pull(window)
    assert shown(old) == ROWS
    assert '"pulled_table_lost"' not in capsys.readouterr().out


def versioned(scene: CheckScene) -> str:
    """The name of the table into which the last load went."""
    log = scene.base("_loads").quoted
    (row,) = scene.warehouse.fetch(f"SELECT version FROM {log} WHERE state = 'loaded' ORDER BY logged_at DESC LIMIT 1")
    return f"t_v_{row['version']}"


@pytest.mark.parametrize("window", sweep(["day", "15m"]))
def test_a_dataset_that_was_made_again_is_filled_again(old: CheckScene, window: Window) -> None:
    old.emulated.client.delete_dataset(old.dataset, delete_contents=True)
    old.emulated.client.create_dataset(old.dataset)
    old.at = DAILY
    old.pull(window)
    assert shown(old) == ROWS


def test_a_request_of_a_time_to_come_in_the_log_lets_later_ones_count(old: CheckScene) -> None:
    old.at = NOON + timedelta(days=4_000)
    old.pull()
    old.source.run("UPDATE t SET name = 'newer', at = '2026-05-03 11:30' WHERE id = 3")
    # A request that was made after that one was logged, by the clock of this machine.
    old.at = datetime.now(UTC)
    old.pull()
    assert shown(old) == {**ROWS, 3: "newer"}


@pytest.mark.long
@pytest.mark.parametrize("window", sweep(["day", "15m"]))
def test_a_deletion_that_only_the_dropped_table_had_is_not_forgotten(old: CheckScene, window: Window) -> None:
    (first,) = old.versions()
    old.source.run("ALTER TABLE t ADD COLUMN more INT", "UPDATE t SET name = 'x', at = '2026-05-03 11:00' WHERE id = 1")
    old.pull()
    old.source.run("DELETE FROM t WHERE id = 1")
    old.at = DAILY
    old.pull("day")
    assert shown(old) == {2: "b", 3: "new"}
    (second,) = (one for one in old.versions() if one != first)
    old.emulated.client.delete_table(str(second))
    old.at = DAILY + timedelta(days=1)
    old.pull(window)
    assert shown(old) == {2: "b", 3: "new"}


@pytest.mark.long
def test_days_that_no_daily_load_has_covered_are_replaced_after_a_loss(old: CheckScene) -> None:
    (first,) = old.versions()
    old.source.run("ALTER TABLE t ADD COLUMN more INT")
    old.pull()
    old.source.run("DELETE FROM t WHERE id = 2")
    (second,) = (one for one in old.versions() if one != first)
    old.emulated.client.delete_table(str(second))
    old.at = DAILY + timedelta(days=2)
    old.pull()
    old.at = DAILY + timedelta(days=3)
    old.pull("day")
    assert shown(old) == {1: "a", 3: "new"}
