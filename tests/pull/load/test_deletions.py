"""The place of a deletion in the order of changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.load_scene import DAILY, NOON, LoadScene
from support.pulled_source import ID

from onefold.pull.load.missing_keys import place_above
from onefold.settings.sources import TableLoad


@pytest.fixture
def scene() -> LoadScene:
    return LoadScene()


def deletions(scene: LoadScene) -> list[str]:
    rows: list[dict[str, Any]] = [row for version in scene.world.tables.values() for row in version]
    metadata = [row["datastream_metadata"] for row in rows]
    return [one["change_sequence_number"] for one in metadata if one["change_type"] == "DELETE"]


def test_a_deletion_wins_against_a_copy_of_the_row_in_another_day(scene: LoadScene) -> None:
    # The next day's pull has read the key again because of its overlap: the same watermark, in another partition.
    scene.puller.watermark, scene.puller.load = ID, TableLoad("incremental", pull_overlap=2)
    for key in (1, 2, 3):
        scene.source.put(key, f"n{key}", NOON)
    scene.pull("15m", NOON)
    scene.pull("15m", DAILY - timedelta(hours=2))
    scene.source.put(2, None, DAILY - timedelta(hours=1))
    scene.pull("day", DAILY)
    assert scene.view == {1: "n1", 3: "n3"}


def test_a_deletion_that_is_carried_over_keeps_its_place(scene: LoadScene) -> None:
    scene.source.put(1, "Ada", NOON)
    scene.pull("15m", NOON)
    scene.source.put(1, None, NOON)
    scene.pull("day", DAILY)
    (first,) = deletions(scene)
    scene.pull("day", DAILY + timedelta(hours=1))
    assert deletions(scene) == [first]


def test_a_deletion_is_above_the_row_that_it_replaces_also_after_the_clock_was_set_back(scene: LoadScene) -> None:
    plan = scene.puller.plan(scene.process(), "15m", NOON)
    replaced = f"8000/{plan.read_at + 5:X}/0/7"
    assert place_above(plan, replaced, 3) == f"8000/{plan.read_at + 6:X}/FFFFFFFF/3"
    later = replace(plan, read_at=plan.read_at + 100)
    assert place_above(later, replaced, 3) == f"8000/{plan.read_at + 100:X}/FFFFFFFF/3"
