"""Loads that are killed, and loads of the same rows at the same time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.load_scene import DAILY, NOON, LoadScene
from support.pulled_source import BASE, CHANGED_AT, WIDER
from support.turns import Killed, Turns

from onefold.batches.source_arguments import Window
from onefold.core.errors import TryAgain


@pytest.fixture
def scene() -> LoadScene:
    return LoadScene()


@pytest.mark.parametrize("window", ["day", "full"])
def test_of_two_loads_of_the_same_rows_the_one_that_began_earlier_gives_way(scene: LoadScene, window: Window) -> None:
    scene.puller.watermark = CHANGED_AT if window == "day" else None
    scene.source.put(1, "Ada", NOON)
    scene.pull("15m" if window == "day" else "full", NOON)
    early, late = scene.process(), scene.process()
    first = scene.puller.plan(early, window, DAILY)
    scene.now = DAILY
    early.begin(first)
    read_early = scene.puller.read(first, DAILY)
    scene.source.put(2, "committed between", NOON, timedelta(hours=17))
    second = scene.puller.plan(late, window, DAILY + timedelta(hours=2))
    late.begin(second)
    late.load(scene.puller.read(second, DAILY + timedelta(hours=2)), scene.puller.present(DAILY + timedelta(hours=2)))
    with pytest.raises(TryAgain, match="replaces the same rows"):
        early.load(read_early, scene.puller.present(scene.now))
    assert scene.view == {1: "Ada", 2: "committed between"}


def test_a_pull_whose_rows_a_daily_load_may_have_replaced_is_repeated(scene: LoadScene) -> None:
    scene.source.put(1, "Ada", NOON)
    scene.pull("15m", NOON)
    daily, pull = scene.process(), scene.process()
    scene.now = DAILY
    plan = scene.puller.plan(daily, "day", DAILY)
    daily.begin(plan)
    read = scene.puller.read(plan, DAILY)
    scene.source.put(2, "very late", NOON, timedelta(hours=17))
    scene.now = DAILY + timedelta(hours=2)
    later = scene.puller.plan(pull, "15m", scene.now)
    pull.begin(later)
    with pytest.raises(TryAgain, match="the next pull reads them again"):
        pull.load(scene.puller.read(later, scene.now), scene.puller.present(scene.now))
    daily.load(read, scene.puller.present(scene.now))
    scene.pull("15m", DAILY + timedelta(hours=3))
    assert scene.view == {1: "Ada", 2: "very late"}


@pytest.mark.parametrize("window", ["15m", "day", "full"])
def test_a_kill_between_any_two_steps_is_harmless(window: Window) -> None:
    for steps in range(60):
        scene = LoadScene()
        scene.puller.watermark = None if window == "full" else CHANGED_AT
        scene.source.put(1, "older", NOON - timedelta(days=1))
        scene.source.put(2, "deleted", NOON)
        scene.pull("full" if window == "full" else "15m", NOON)
        scene.source.put(1, "newer", NOON + timedelta(hours=1))
        scene.source.put(2, None, NOON + timedelta(hours=1))
        scene.source.put(3, "tomorrow", DAILY - timedelta(hours=1))
        scene.source.structure = WIDER
        if window != "full":
            scene.pull("15m", DAILY - timedelta(hours=2))
        (end,) = Turns(lambda _: 0).run([lambda step, scene=scene: killed(scene, window, step)], [steps])  # type: ignore[misc]
        assert end is None or isinstance(end, Killed)
        scene.pull(window, DAILY + timedelta(hours=1))
        expected = {1: "newer", 3: "tomorrow"} | ({2: "deleted"} if window == "15m" else {})
        assert scene.view == expected, steps
        if end is None:
            return
    raise AssertionError("more steps than were tried")


def killed(scene: LoadScene, window: Window, step: object) -> None:
    assert callable(step)
    scene.now = DAILY
    scene.puller.pull(scene.process(step), window, DAILY)


def test_a_failed_load_leaves_the_watermark_where_it_was(scene: LoadScene) -> None:
    scene.source.put(1, "Ada", NOON)
    loads = scene.process()
    plan = scene.puller.plan(loads, "15m", NOON)
    loads.begin(plan)
    pulled = scene.puller.read(plan, NOON)
    scene.world.files.files.clear()
    with pytest.raises(KeyError):
        loads.load(pulled, scene.puller.present(scene.now))
    assert scene.process().state_of(BASE, "15m").watermark is None


def test_a_daily_load_of_a_new_structure_takes_the_place_of_one_that_was_killed(scene: LoadScene) -> None:
    scene.source.put(1, "kept", NOON)
    scene.source.put(2, "deleted", NOON)
    scene.pull("15m", NOON)
    killed_one = scene.process()
    scene.now = DAILY
    killed_one.begin(scene.puller.plan(killed_one, "day", DAILY))
    scene.source.put(2, None, DAILY)
    scene.source.structure = WIDER
    # A pull of the whole table does not even read while the other load may go on.
    loads = scene.process()
    scene.now = DAILY + timedelta(minutes=15)
    with pytest.raises(TryAgain, match="if that load was killed, run it again"):
        loads.begin(scene.puller.plan(loads, "15m", scene.now))
    scene.pull("day", DAILY + timedelta(minutes=30))
    assert scene.view == {1: "kept"}
    scene.source.put(3, "later", DAILY + timedelta(minutes=31))
    scene.pull("15m", DAILY + timedelta(minutes=45))
    assert scene.view == {1: "kept", 3: "later"}
