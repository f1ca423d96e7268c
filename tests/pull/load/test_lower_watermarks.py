"""Rows whose watermark falls: after the next daily load people read what the source has, with and without a base."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from support.load_scene import DAILY, NOON, LoadScene
from support.pulled_source import WIDER, Operation

NEXT_DAILY = DAILY + timedelta(days=1)
FUTURE = datetime(2099, 1, 1, tzinfo=UTC)


@pytest.fixture
def scene() -> LoadScene:
    return LoadScene()


def put(scene: LoadScene, name: str, at: datetime, watermark: datetime | None, key: int = 1) -> None:
    """Write a row whose watermark is not the time of the statement; None for no watermark."""
    one = Operation(key, name, at, at, watermark=watermark, no_watermark=watermark is None)
    scene.source.operations.append(one)


def check(scene: LoadScene, expected: dict[int, str]) -> None:
    assert scene.view == expected
    assert scene.merged == expected


@pytest.mark.parametrize("structure", ["same", "new"])
def test_a_row_that_loses_its_watermark_is_right_after_the_next_daily_load(scene: LoadScene, structure: str) -> None:
    scene.source.put(1, "with", NOON - timedelta(days=9))
    scene.pull("15m", NOON - timedelta(days=9))
    put(scene, "without", NOON, None)
    scene.pull("15m", NOON)
    if structure == "new":
        scene.source.structure = WIDER
        scene.pull("15m", NOON + timedelta(hours=1))
    scene.pull("day", DAILY)
    check(scene, {1: "without"})
    put(scene, "without, changed", DAILY, None)
    for _ in range(3):
        scene.pull("day", scene.now + timedelta(days=1))
        check(scene, {1: "without, changed"})
    assert len([row for rows in scene.world.tables.values() for row in rows if row["_day"] == "0001-01-01"]) == 2
    scene.source.put(1, None, scene.now)
    scene.pull("day", scene.now + timedelta(days=1))
    check(scene, {})


def test_a_row_that_gets_a_watermark_again_is_read_by_it(scene: LoadScene) -> None:
    scene.source.put(1, "with", NOON)
    scene.pull("15m", NOON)
    put(scene, "without", NOON + timedelta(hours=1), None)
    scene.pull("day", DAILY)
    put(scene, "lower than before", DAILY + timedelta(hours=1), DAILY - timedelta(days=9))
    scene.pull("day", NEXT_DAILY)
    check(scene, {1: "lower than before"})
    scene.source.put(1, "new", NEXT_DAILY + timedelta(hours=1))
    scene.pull("15m", NEXT_DAILY + timedelta(hours=2))
    check(scene, {1: "new"})


@pytest.mark.parametrize("corrected", [timedelta(), timedelta(days=30)])
def test_a_row_in_the_future_that_is_corrected_is_right_after_the_next_daily_load(
    scene: LoadScene, corrected: timedelta
) -> None:
    put(scene, "2099", NOON, FUTURE)
    scene.pull("15m", NOON)
    put(scene, "corrected", NOON + timedelta(hours=1), NOON + timedelta(hours=1) - corrected)
    scene.pull("15m", NOON + timedelta(hours=2))
    scene.pull("day", DAILY)
    check(scene, {1: "corrected"})
    scene.source.put(1, "changed", DAILY + timedelta(hours=6))
    scene.pull("day", NEXT_DAILY)
    check(scene, {1: "changed"})
    rows = len(next(iter(scene.world.tables.values())))
    for days in (1, 2):
        scene.pull("day", NEXT_DAILY + timedelta(days=days))
        check(scene, {1: "changed"})
    assert len(next(iter(scene.world.tables.values()))) == rows


def test_a_row_in_the_future_that_is_deleted_gets_a_deletion(scene: LoadScene) -> None:
    put(scene, "2099", NOON, FUTURE)
    scene.source.put(2, "kept", NOON)
    scene.pull("15m", NOON)
    scene.source.put(1, None, NOON + timedelta(hours=1))
    scene.pull("day", DAILY)
    check(scene, {2: "kept"})
    assert scene.world.log[-1]["rows_deleted"] == 1
    scene.pull("day", NEXT_DAILY)
    check(scene, {2: "kept"})


def test_a_clock_that_is_set_back_over_midnight_deletes_nothing(scene: LoadScene) -> None:
    midnight = DAILY - timedelta(hours=4)
    put(scene, "before the step", midnight + timedelta(minutes=30), midnight + timedelta(minutes=30))
    scene.pull("15m", midnight + timedelta(minutes=35))
    # The clock goes back by an hour: the next change has an earlier time, of the day before.
    put(scene, "after the step", midnight + timedelta(minutes=40), midnight - timedelta(minutes=20))
    scene.pull("15m", midnight + timedelta(minutes=45))
    scene.pull("day", DAILY)
    check(scene, {1: "after the step"})
    scene.pull("day", NEXT_DAILY)
    check(scene, {1: "after the step"})
    assert [row["rows_deleted"] for row in scene.world.loaded] == [0, 0, 0, 0]


def test_a_clock_that_is_set_back_within_a_day(scene: LoadScene) -> None:
    put(scene, "before the step", NOON, NOON)
    scene.pull("15m", NOON + timedelta(minutes=5))
    put(scene, "after the step", NOON + timedelta(minutes=10), NOON - timedelta(minutes=50))
    scene.pull("15m", NOON + timedelta(minutes=15))
    scene.pull("day", DAILY)
    check(scene, {1: "after the step"})


def test_a_row_that_is_set_back_before_the_days_that_are_loaded_again_is_no_deletion(scene: LoadScene) -> None:
    scene.source.put(1, "of the day", NOON)
    scene.source.put(2, "deleted", NOON)
    scene.pull("15m", NOON)
    put(scene, "set back", NOON + timedelta(hours=1), NOON - timedelta(days=30))
    scene.source.put(2, None, NOON + timedelta(hours=1))
    for hours in (0, 1):
        scene.pull("day", DAILY + timedelta(hours=hours))
        check(scene, {1: "set back"})
    assert [row["rows_deleted"] for row in scene.world.loaded] == [0, 1, 0]


def test_a_row_that_is_deleted_after_it_was_read_is_a_deletion(scene: LoadScene) -> None:
    put(scene, "2099", NOON, FUTURE)
    scene.pull("15m", NOON)
    scene.source.put(1, "corrected", NOON + timedelta(hours=1))
    scene.now = DAILY
    loads = scene.process()
    plan = scene.puller.plan(loads, "day", DAILY)
    loads.begin(plan)
    read = scene.puller.read(plan, DAILY)
    scene.source.put(1, None, DAILY + timedelta(minutes=1))
    loads.load(read, scene.puller.present(DAILY + timedelta(minutes=2)))
    assert scene.view == {}
    scene.source.put(1, "again", DAILY + timedelta(hours=1))
    scene.pull("day", NEXT_DAILY)
    check(scene, {1: "again"})
