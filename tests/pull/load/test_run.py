"""Loads of pulled files into a warehouse in memory: what people read after each, and after steps in any order."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from support.load_scene import DAILY, DAY, NOON, LoadScene
from support.pulled_source import BASE, ID, WIDER, Operation

from onefold.core.errors import SchemaConflict
from onefold.mysql.table import Structure
from onefold.pull.read.clock import micros
from onefold.pull.read.python_reader import blocks_of
from onefold.schema.columns import Column
from onefold.settings.sources import TableLoad


@pytest.fixture
def scene() -> LoadScene:
    return LoadScene()


def test_pulls_give_the_latest_row_of_each_key_and_the_next_begins_at_the_watermark(scene: LoadScene) -> None:
    scene.source.put(1, "Ada", NOON)
    scene.source.put(2, "Grace", NOON)
    scene.pull("15m", NOON + timedelta(minutes=1))
    scene.source.put(2, "Hopper", NOON + timedelta(minutes=20))
    scene.pull("15m", NOON + timedelta(minutes=30))
    assert scene.view == {1: "Ada", 2: "Hopper"}
    assert scene.process().state_of(BASE, "15m").watermark == micros(NOON + timedelta(minutes=20))
    scene.pull("15m", NOON + timedelta(hours=1))
    # The second pull began at the watermark of the first, less 15 minutes; the third at that of the second.
    assert [row["rows_loaded"] for row in scene.world.loaded] == [2, 2, 1]


def test_a_table_is_made_with_its_label_and_announced_before_its_first_row(scene: LoadScene) -> None:
    scene.source.put(1, "Ada", NOON)
    steps: list[tuple[int, int]] = []
    topics, jobs = scene.world.publisher.topics, scene.world.jobs
    scene.puller.pull(scene.process(lambda: steps.append((len(topics.get("table-created", [])), len(jobs)))), "15m", NOON)
    assert (0, 1) not in steps
    assert (1, 1) in steps
    assert [labels for _, labels in scene.world.stored.values()] == [{"onefold_pulled": "true"}]


def test_messages_report_the_change_until_a_load_into_the_version_is_logged(scene: LoadScene) -> None:
    published = scene.world.publisher.topics.setdefault("table-created", [])

    def die_once_announced() -> None:
        if published:
            raise KeyboardInterrupt

    scene.source.put(1, "Ada", NOON)
    scene.now = NOON
    killed = scene.process(die_once_announced)
    plan = scene.puller.plan(killed, "15m", NOON)
    killed.begin(plan)
    with pytest.raises(KeyboardInterrupt):
        killed.load(scene.puller.read(plan, NOON), scene.puller.present(NOON))
    scene.pull("15m", NOON)
    scene.pull("day", DAILY)
    scene.source.structure = WIDER
    scene.pull("15m", DAILY + timedelta(hours=1))
    first, again, daily, wider = (json.loads(message.data)["table"] for message in published)
    assert [one.get("change") for one in (first, again, daily)] == [{"origin": "pull"}, {"origin": "pull"}, None]
    assert wider["change"] == {"origin": "pull", "version_before": first["version"]}


def test_a_daily_load_replaces_its_day_and_finds_late_commits_and_deletions(scene: LoadScene) -> None:
    late = timedelta(hours=2)
    scene.source.put(1, "kept", NOON)
    scene.source.put(2, "deleted", NOON)
    scene.source.put(3, "late", NOON, late)
    scene.source.put(4, "newest", NOON + timedelta(hours=1))
    scene.pull("15m", NOON + timedelta(hours=1))
    scene.source.put(2, None, NOON + timedelta(hours=3))
    scene.pull("15m", NOON + timedelta(hours=4))
    assert scene.view == {1: "kept", 2: "deleted", 4: "newest"}
    scene.pull("day", DAILY)
    assert scene.view == {1: "kept", 3: "late", 4: "newest"}
    assert len(scene.world.tables[next(iter(scene.world.tables))]) == 4
    assert scene.world.log[-1]["rows_deleted"] == 1


def test_deletions_of_a_day_are_carried_over_when_it_is_replaced_again(scene: LoadScene) -> None:
    scene.source.put(1, "older", NOON - timedelta(days=1))
    scene.pull("15m", NOON - timedelta(days=1))
    scene.source.put(1, "newer", NOON)
    scene.pull("15m", NOON)
    scene.source.put(1, None, NOON + timedelta(hours=1))
    for hours in range(3):
        scene.pull("day", DAILY + timedelta(hours=hours))
        assert scene.view == {}
    # No daily load had covered the day of the older row, so the first one finds the deletion in both days.
    assert [row["rows_deleted"] for row in scene.world.loaded] == [0, 0, 2, 0, 0]


def test_a_row_that_came_back_after_its_deletion_is_seen_again(scene: LoadScene) -> None:
    scene.source.put(1, "first", NOON)
    scene.pull("15m", NOON)
    scene.source.put(1, None, NOON + timedelta(hours=1))
    scene.pull("day", DAILY)
    scene.source.put(1, "second", NOON + timedelta(hours=2), timedelta(hours=15))
    scene.pull("day", DAILY + timedelta(hours=2))
    assert scene.view == {1: "second"}


def test_a_row_that_has_moved_to_a_later_day_is_never_missing(scene: LoadScene) -> None:
    scene.source.put(1, "old", NOON)
    scene.pull("15m", NOON)
    scene.source.put(1, "new", DAILY - timedelta(hours=1))
    scene.now = DAILY
    seen: list[dict[int, str]] = []
    scene.puller.pull(scene.process(lambda: seen.append(scene.view)), "day", DAILY)
    assert scene.view == {1: "new"}
    assert all(view in ({1: "old"}, {1: "new"}) for view in seen)


def test_days_are_replaced_newest_first_so_that_a_row_between_them_is_never_missing(scene: LoadScene) -> None:
    before = NOON - timedelta(days=1)
    scene.source.put(1, "old", before)
    scene.pull("15m", before)
    scene.source.put(1, "new", NOON, timedelta(hours=3))
    scene.puller.load = TableLoad("incremental", reload_days=2)
    scene.now = DAILY
    seen: list[dict[int, str]] = []
    plan = scene.puller.pull(scene.process(lambda: seen.append(scene.view)), "day", DAILY)
    assert plan.range.days == (before.date(), DAY)
    assert scene.view == {1: "new"}
    assert all(view in ({1: "old"}, {1: "new"}) for view in seen)


def test_rows_without_a_watermark_come_with_each_daily_load_and_their_deletions_too(scene: LoadScene) -> None:
    scene.source.put(1, "dated", NOON)
    scene.source.operations.append(Operation(2, "undated", NOON, NOON, no_watermark=True))
    scene.source.operations.append(Operation(3, "undated", NOON, NOON, no_watermark=True))
    scene.pull("15m", NOON)
    assert scene.days() == {"2026-05-03", "0001-01-01"}
    scene.source.put(3, None, NOON + timedelta(hours=1))
    scene.source.operations.append(Operation(4, "undated", NOON, NOON, no_watermark=True))
    scene.pull("15m", NOON + timedelta(hours=1))
    assert scene.view.keys() == {1, 2, 3}
    scene.pull("day", DAILY)
    assert scene.view == {1: "dated", 2: "undated", 4: "undated"}
    assert scene.world.log[-1]["rows_without_watermark"] == 2


def test_a_row_in_the_future_is_loaded_and_counted_and_stops_nothing(scene: LoadScene) -> None:
    scene.source.operations.append(Operation(1, "2099", NOON, NOON, watermark=datetime(2099, 1, 1, tzinfo=UTC)))
    scene.pull("15m", NOON)
    scene.source.put(2, "today", NOON + timedelta(hours=1))
    scene.pull("15m", NOON + timedelta(hours=1))
    assert scene.view == {1: "2099", 2: "today"}
    assert [row["rows_above"] for row in scene.world.loaded] == [1, 1]


def test_a_new_structure_is_read_whole_and_older_versions_lose_the_days_that_are_replaced(scene: LoadScene) -> None:
    scene.source.put(1, "old day", NOON - timedelta(days=9))
    scene.source.put(2, "to be deleted", NOON)
    scene.pull("15m", NOON)
    scene.source.structure = WIDER
    scene.pull("15m", NOON + timedelta(hours=1))
    assert scene.view == {1: "old day", 2: "to be deleted"}
    assert scene.world.log[-1]["rows_loaded"] == 2
    scene.source.put(2, None, NOON + timedelta(hours=2))
    scene.pull("day", DAILY)
    assert scene.view == {1: "old day"}
    assert scene.days(0) == {"2026-04-24"}
    assert scene.days(1) == {"2026-04-24", "2026-05-03"}


def test_a_captured_table_of_the_same_name_is_an_error_that_names_both(scene: LoadScene) -> None:
    columns = tuple(column for column in _columns(scene) if column.name != "_day")
    scene.world.stored["score_v_fffffffff"] = (columns, {})
    scene.world.tables["score_v_fffffffff"] = [{"id": 9}]
    scene.source.put(1, "Ada", NOON)
    with pytest.raises(SchemaConflict, match=r"fraud/models\.score cannot be pulled into .*\(score_v_fffffffff\)"):
        scene.pull("15m", NOON)
    assert scene.world.tables == {"score_v_fffffffff": [{"id": 9}]}


def test_a_key_watermark_replaces_the_keys_of_the_day_by_the_log(scene: LoadScene) -> None:
    scene.puller.watermark = ID
    scene.puller.load = TableLoad("incremental", pull_overlap=2)
    for key in range(1, 6):
        scene.source.put(key, f"first {key}", NOON)
    scene.pull("15m", NOON)
    for key in range(6, 9):
        scene.source.put(key, f"second {key}", NOON + timedelta(hours=1))
    scene.source.put(5, None, NOON + timedelta(hours=1))
    scene.pull("15m", NOON + timedelta(hours=2))
    scene.source.put(9, "next day", DAILY - timedelta(hours=1))
    state = scene.process().state_of(BASE, "day")
    assert state.keys_of_days == ((DAY, 1, 8),)
    scene.pull("day", DAILY)
    assert scene.view.keys() == {1, 2, 3, 4, 6, 7, 8, 9}
    assert scene.days() == {"2026-05-03", "2026-05-04"}


def test_keys_below_zero_and_beyond_a_signed_number(scene: LoadScene) -> None:
    scene.puller.watermark = ID
    scene.puller.load = TableLoad("incremental", pull_overlap=2)
    lowest, greatest = -(2**63), 2**64 - 1
    for key in (lowest, -1, 0):
        scene.source.put(key, f"first {key}", NOON)
    scene.pull("15m", NOON)
    assert scene.process().state_of(BASE, "15m").watermark == 0
    for key in (-3, -2, 7):
        scene.source.put(key, f"second {key}", NOON + timedelta(hours=1))
    scene.pull("15m", NOON + timedelta(hours=2))
    assert scene.view.keys() == {lowest, -2, -1, 0, 7}
    scene.source.put(-1, None, NOON + timedelta(hours=3))
    scene.source.put(greatest, "next day", DAILY - timedelta(hours=1))
    assert scene.process().state_of(BASE, "day").keys_of_days == ((DAY, lowest, 7),)
    scene.pull("day", DAILY)
    assert scene.view.keys() == {lowest, -3, -2, 0, 7, greatest}
    assert scene.process().state_of(BASE, "15m").watermark == greatest
    scene.source.put(greatest - 2, "within the overlap", DAILY)
    scene.pull("15m", DAILY + timedelta(hours=1))
    assert scene.view.keys() == {lowest, -3, -2, 0, 7, greatest - 2, greatest}


def test_no_job_of_a_first_load_writes_more_than_a_thousand_days(scene: LoadScene) -> None:
    for key in range(0, 4_500, 3):
        scene.source.put(key, f"{key} days ago", NOON - timedelta(days=key))
    scene.source.operations.append(Operation(9_999, "2099", NOON, NOON, watermark=datetime(2099, 1, 1, tzinfo=UTC)))
    scene.source.operations.append(Operation(10_000, "undated", NOON, NOON, no_watermark=True))
    scene.pull("15m", NOON)
    assert len(scene.view) == 1_502
    names = [frozenset(name for name, _ in files) for _, _, files in scene.world.jobs]  # type: ignore[attr-defined]
    days = [{line["_day"] for line in _lines(scene, job)} for job in names]
    assert max(map(len, days)) <= 1_000
    assert sum(map(len, days)) == len(set.union(*days)) == 1_502
    assert len(days) == 2


def test_rows_of_many_days_are_blocks_of_a_thousand_days_at_most(scene: LoadScene) -> None:
    plan = scene.puller.plan(scene.process(), "15m", NOON)
    texts = [str(date(1, 1, 1) + timedelta(days=number * 700)) for number in range(20)] + ["9999-12-31"]
    rows = [(number, b"a", text, 0, text) for number, text in enumerate(texts)]
    blocks = list(blocks_of(plan, rows, 0, 0))
    assert all((max(block.days) - min(block.days)).days < 1_000 for block in blocks)
    assert sorted(str(day) for block in blocks for day in block.days) == texts
    assert len({block.group for block in blocks}) == len(blocks)


def _lines(scene: LoadScene, names: frozenset[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for name in names for line in scene.world.files.files[name].decode().splitlines()]


def test_a_full_load_replaces_all_versions(scene: LoadScene) -> None:
    scene.puller.watermark = None
    scene.source.put(1, "Ada", NOON)
    scene.source.put(2, "Grace", NOON)
    scene.pull("full", NOON)
    scene.source.put(1, None, NOON + timedelta(hours=1))
    scene.source.structure = WIDER
    scene.pull("full", DAILY)
    assert scene.view == {2: "Grace"}
    assert [len(rows) for rows in scene.world.tables.values()] == [0, 1]


def test_a_full_load_of_a_table_that_was_emptied_leaves_no_row(scene: LoadScene) -> None:
    scene.puller.watermark = None
    scene.source.put(1, "Ada", NOON)
    scene.pull("full", NOON)
    scene.source.put(1, None, NOON)
    scene.pull("full", DAILY)
    assert scene.view == {}


def test_a_daily_load_of_a_table_without_a_key_is_refused(scene: LoadScene) -> None:
    scene.source.put(1, "Ada", NOON)
    scene.source.structure = Structure("score", scene.source.structure.columns)
    scene.pull("15m", NOON)
    with pytest.raises(SchemaConflict, match=r"has no key.*mode: full"):
        scene.pull("day", DAILY)


def _columns(scene: LoadScene) -> tuple[Column, ...]:
    return scene.puller.plan(scene.process(), "15m", NOON).target.columns
