"""Checks of captured tables that change while they are compared: what is under way is no difference, what is lost is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.captured_scene import CapturedScene, five_rows
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on

from onefold.check.counts import RowCounts
from onefold.compare.findings import DIFFERENT, ONLY_LEFT

pytestmark = on(MariaDb, long=MySql)


@pytest.fixture
def scene(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> CapturedScene:
    return five_rows(source, dataset, tmp_path)


def test_a_row_that_goes_back_and_forth_is_moving_and_one_that_is_lost_is_found(scene: CapturedScene) -> None:
    scene.land()
    scene.source.run("UPDATE t SET name = 'z' WHERE id = 2", "INSERT INTO t VALUES (9, 'lost', NULL)")
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), whole=True, settle_seconds=600)

    def toggle(_: float) -> None:
        """Each change lands, and the values are the same again at the end."""
        scene.land("UPDATE-INSERT", "id = 2")
        scene.source.run("UPDATE t SET name = 'b' WHERE id = 2")
        scene.land("UPDATE-INSERT", "id = 2")
        scene.source.run("UPDATE t SET name = 'z' WHERE id = 2")

    (found,) = replace(checks, sleep=toggle).run().tables
    assert (found.by_kind, found.as_dict()["moving"]) == ({ONLY_LEFT: 1}, 1), found.text
    assert found.findings == ('the row id="9" of MySQL is missing in BigQuery',)
    assert "1 row that differed changed while they were compared" in found.text
    assert not found.counts_differ, "a change of the table has landed between the counts"


def test_a_row_that_comes_and_goes_is_no_difference_of_the_numbers(scene: CapturedScene) -> None:
    """A queue: the numbers are the same four times, and each time another job is under way."""
    scene.land()
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), rows=2)
    scene.source.run("INSERT INTO t VALUES (9, 'job', NULL)")

    def work(_: float) -> None:
        scene.land("INSERT", "id = 9")
        scene.land("DELETE", "id = 9")
        scene.source.run("DELETE FROM t WHERE id = 9", "INSERT INTO t VALUES (10, 'job', NULL)")

    (found,) = replace(checks, sleep=work).run().tables
    assert (found.outcome, found.counts) == ("same", RowCounts("now", 6, 5)), found.text
    assert found.notes == ("the numbers of rows changed while they were counted",)


def test_a_row_that_comes_and_goes_is_moving_though_the_view_never_has_it(scene: CapturedScene) -> None:
    scene.land()
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), whole=True)
    scene.source.run("INSERT INTO t VALUES (9, 'job', NULL)")

    def work(_: float) -> None:
        scene.land("INSERT", "id = 9")
        scene.land("DELETE", "id = 9")

    (found,) = replace(checks, sleep=work).run().tables
    assert (found.by_kind, found.as_dict()["moving"]) == ({}, 1), found.text


def test_in_a_version_with_another_key_no_row_is_told_apart(scene: CapturedScene) -> None:
    scene.land()
    scene.source.run("UPDATE t SET name = 'lost' WHERE id = 4")
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), whole=True)

    def alter(_: float) -> None:
        scene.source.run("ALTER TABLE t MODIFY id VARCHAR(9) CHARACTER SET utf8mb4")
        scene.land("UPDATE-INSERT", "id = '1'")

    (found,) = replace(checks, sleep=alter).run().tables
    assert (found.by_kind, found.as_dict()["moving"]) == ({}, 1), found.text


def test_rows_of_another_tenant_move_no_row(scene: CapturedScene) -> None:
    scene.land()
    scene.source.run("UPDATE t SET name = 'lost' WHERE id = 4")
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), whole=True)

    def other(_: float) -> None:
        scene.land("INSERT", "id = 4")
        scene.spoil_captured("UPDATE {} SET source_name = 'other' WHERE id = 4 AND name = 'lost'")

    (found,) = replace(checks, sleep=other).run().tables
    assert (found.by_kind, found.as_dict()["moving"]) == ({DIFFERENT: 1}, 0), found.text


def test_a_change_that_is_delivered_again_hides_no_difference(scene: CapturedScene) -> None:
    scene.land()
    scene.source.run("UPDATE t SET name = 'lost' WHERE id = 4", "INSERT INTO t VALUES (9, 'lost', NULL)")
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), whole=True)
    (found,) = replace(checks, sleep=lambda _: scene.spoil_captured("INSERT INTO {} SELECT * FROM {}")).run().tables
    assert (found.by_kind, found.as_dict()["moving"]) == ({DIFFERENT: 1, ONLY_LEFT: 1}, 0), found.text
    assert found.counts_differ, found.text


def test_another_row_of_the_same_position_is_another_change(scene: CapturedScene) -> None:
    """The rows of a copied chunk have one position, and may land one after the other."""
    scene.land()
    checks = scene.checks(captured=scene.emulated.name, tables=("t",))
    table = checks.inspector.inspect(scene.source.connection, "t")
    before = checks.arrivals.of_table(table)
    scene.spoil_captured("INSERT INTO {} SELECT * REPLACE (9 AS id) FROM {} WHERE id = 4")
    assert (before, checks.arrivals.of_table(table)) == ({None: 5}, {None: 6})
