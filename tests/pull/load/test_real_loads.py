"""Pulls of a real server, loaded: keys that change, equal watermarks at the border, structures that change back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from support.database_servers import MariaDb, MySql
from support.load_scene import DAILY, NOON, LoadScene
from support.pulled_source import ID, TABLE
from support.real_source import RealPuller, RealSource
from support.source_database import SourceDatabase, on

from onefold.core.errors import SchemaConflict
from onefold.settings.sources import TableLoad

pytestmark = on(MariaDb, MySql)


@pytest.fixture
def scene(source: SourceDatabase) -> Iterator[LoadScene]:
    with RealSource.of(source) as table:
        yield LoadScene(table, RealPuller)


def test_a_key_that_changes_is_a_deletion_and_a_new_row(scene: LoadScene, source: SourceDatabase) -> None:
    scene.source.put(1, "Ada", NOON)
    scene.source.put(2, "Grace", NOON)
    scene.pull("15m", NOON + timedelta(minutes=5))
    source.run(f"UPDATE {TABLE} SET id = 3, changed_at = '2026-05-03 12:10:00' WHERE id = 1")
    scene.pull("15m", NOON + timedelta(minutes=15))
    assert scene.view == {1: "Ada", 2: "Grace", 3: "Ada"}
    scene.pull("day", DAILY)
    assert scene.view == scene.merged == {2: "Grace", 3: "Ada"}


def test_a_key_of_other_columns_is_an_error_that_says_what_to_do(scene: LoadScene, source: SourceDatabase) -> None:
    """The version stays the same, and the views would show one row of all that the former key takes for one."""
    scene.source.put(1, "Ada", NOON)
    scene.pull("15m", NOON + timedelta(minutes=5))
    source.run(f"ALTER TABLE {TABLE} DROP PRIMARY KEY, ADD PRIMARY KEY (id, changed_at)")
    error = r"the key at the source is id, changed_at, and .* declares id: name `keys`"
    with pytest.raises(SchemaConflict, match=error):
        scene.pull("15m", NOON + timedelta(minutes=15))
    with pytest.raises(SchemaConflict, match=error):
        scene.pull("day", DAILY)
    assert len(scene.world.loaded) == 1


def test_a_row_with_the_watermark_of_the_border_is_read_also_without_an_overlap(scene: LoadScene) -> None:
    scene.puller.load = TableLoad("incremental", pull_overlap=timedelta())
    scene.source.put(1, "Ada", NOON)
    scene.pull("15m", NOON + timedelta(minutes=5))
    scene.source.put(2, "of the same microsecond", NOON)
    scene.source.put(1, "changed in it", NOON)
    scene.pull("15m", NOON + timedelta(minutes=15))
    assert scene.view == {1: "changed in it", 2: "of the same microsecond"}
    assert [row["rows_loaded"] for row in scene.world.loaded] == [1, 2]


def test_a_structure_that_changes_back_is_read_whole_again(scene: LoadScene, source: SourceDatabase) -> None:
    scene.source.put(1, "Ada", NOON)
    scene.pull("15m", NOON + timedelta(minutes=5))
    source.run(f"ALTER TABLE {TABLE} ADD COLUMN note VARCHAR(60) DEFAULT '?'")
    scene.source.put(2, "Grace", NOON + timedelta(minutes=10))
    scene.pull("15m", NOON + timedelta(minutes=15))
    source.run(f"ALTER TABLE {TABLE} DROP COLUMN note", f"UPDATE {TABLE} SET name = 'by the ALTER'")
    scene.source.put(3, "new", NOON + timedelta(minutes=20))
    scene.pull("15m", NOON + timedelta(minutes=30))
    assert scene.view == {1: "by the ALTER", 2: "by the ALTER", 3: "new"}
    assert [row["rows_loaded"] for row in scene.world.loaded] == [1, 2, 3]


def test_a_table_that_is_emptied_has_a_deletion_for_each_row(scene: LoadScene, source: SourceDatabase) -> None:
    for key in range(3):
        scene.source.put(key, "Ada", NOON)
    scene.pull("15m", NOON + timedelta(minutes=5))
    source.run(f"TRUNCATE TABLE {TABLE}")
    scene.pull("day", DAILY)
    assert scene.view == scene.merged == {}
    assert scene.world.log[-1]["rows_deleted"] == 3


def test_a_daily_load_of_a_key_watermark_finds_the_deletions_of_its_day(scene: LoadScene, source: SourceDatabase) -> None:
    scene.puller.watermark, scene.puller.load = ID, TableLoad("incremental", pull_overlap=2)
    source.run(f"ALTER TABLE {TABLE} MODIFY id BIGINT")
    for key in (-(2**63), -1, 5):
        scene.source.put(key, "Ada", NOON)
    scene.pull("15m", NOON + timedelta(minutes=5))
    scene.source.put(-1, None, NOON + timedelta(minutes=10))
    scene.source.put(2**63 - 1, "tomorrow", DAILY - timedelta(hours=1))
    scene.pull("day", DAILY)
    assert scene.view == {-(2**63): "Ada", 5: "Ada", 2**63 - 1: "tomorrow"}
    assert scene.world.log[-1]["rows_deleted"] == 1


def test_a_table_without_a_watermark_is_loaded_full(scene: LoadScene, source: SourceDatabase) -> None:
    scene.puller.watermark = None
    scene.source.put(1, "Ada", NOON)
    scene.source.put(2, "Grace", NOON)
    scene.pull("day", NOON + timedelta(minutes=5))
    source.run(f"DELETE FROM {TABLE} WHERE id = 1")
    scene.pull("day", DAILY)
    assert scene.view == {2: "Grace"}
