"""Checks of tables by other keys and watermarks, and a round of repairs on real servers."""

from __future__ import annotations

import pytest
from support.check_scene import CheckScene
from support.checked_table import OLD, fill
from support.database_servers import MariaDb, MySql
from support.pulls import by
from support.source_database import numbers, on

from onefold.compare.findings import DIFFERENT, ONLY_RIGHT

pytestmark = on(MariaDb, long=MySql)


def names(scene: CheckScene) -> tuple[dict[int, str], dict[int, str]]:
    """The table at the source, and the full view."""
    return dict(scene.source.rows("SELECT id, name FROM t")), {row["id"]: row["name"] for row in scene.view()}


@pytest.mark.long
def test_after_a_round_of_repairs_the_view_is_the_source(scene: CheckScene) -> None:
    fill(scene, 60)
    scene.pull()
    scene.source.run(
        "DELETE FROM t WHERE id % 5 = 0",
        # Changes that the modification time does not show, and one that goes back.
        "UPDATE t SET name = 'changed', at = at WHERE id % 7 = 0",
        "UPDATE t SET name = 'older', at = '2026-04-01 10:00:00' WHERE id = 1",
        "INSERT INTO t (id, name, at) VALUES (1001, 'committed late', '2026-01-01')",
    )
    scene.pull()
    source, view = names(scene)
    assert source != view
    found = scene.check_one(rows=25, fix=True)
    assert found.outcome in ("fixed", "same"), found.text
    source, view = names(scene)
    assert source == view
    again = scene.check_one(rows=25)
    assert (again.outcome, again.by_kind) == ("same", {}), again.text
    scene.source.run("UPDATE t SET name = 'later' WHERE id = 1", "INSERT INTO t (id, name) VALUES (5, 'is back')")
    scene.pull()
    source, view = names(scene)
    assert source == view


@pytest.mark.long
def test_a_key_that_is_a_text_is_read_by_digests(scene: CheckScene) -> None:
    scene.source.run(
        "CREATE TABLE codes (code VARCHAR(20) CHARACTER SET utf8mb4 PRIMARY KEY, n INT, at TIMESTAMP NOT NULL, KEY (at))",
        f"INSERT INTO codes SELECT CONCAT('\u00e9 ', seq), seq, {OLD} FROM {numbers(1, 40)}",
        "ANALYZE TABLE codes",
    )
    scene.tables = {"codes": by("at")}
    scene.pull()
    assert scene.check_one("codes", rows=10).outcome == "same"
    scene.spoil("UPDATE {} SET n = 0 WHERE n = 7", "codes")
    found = scene.check_one("codes", rows=10)
    assert found.by_kind == {DIFFERENT: 1}
    assert len(found.chunks) > 2
    assert sum(chunk.rows for chunk in found.chunks) == 40


def test_a_key_watermark_counts_up_to_the_greatest_key_that_was_loaded_before_the_padding(scene: CheckScene) -> None:
    scene.source.run(
        "CREATE TABLE events (id BIGINT PRIMARY KEY, what VARCHAR(9))", "INSERT INTO events VALUES (1, 'a'), (2, 'b')"
    )
    scene.tables = {"events": by("id")}
    scene.pull()
    scene.source.run("INSERT INTO events VALUES (3, 'not pulled')")
    assert scene.check_one("events", padding_minutes=60).outcome == "skipped"
    found = scene.check_one("events")
    assert (found.outcome, found.counts and found.counts.by) == ("same", "key"), found.text
    scene.source.run("DELETE FROM events WHERE id = 1")
    assert scene.check_one("events").by_kind == {ONLY_RIGHT: 1}
    assert scene.check_one("events", fix=True).chunks[0].is_fixed
    assert scene.check_one("events").outcome == "same"
    assert {row["id"] for row in scene.view("events")} == {2}
