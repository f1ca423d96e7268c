"""Rows whose place in the order has fallen although they are newer: people read them all the same."""

from __future__ import annotations

from datetime import timedelta

import pymysql
import pytest
from support.changed_table import DAILY, shown
from support.check_scene import CheckScene
from support.database_servers import MariaDb, MySql
from support.pulls import by
from support.source_database import on

from onefold.mysql.connection import query
from onefold.settings.sources import TableLoad, WatermarkColumn

pytestmark = on(MariaDb, long=MySql)
ADD = "ADD COLUMN filled INT NOT NULL DEFAULT 7"
FILLED = dict.fromkeys((1, 2, 3), 7)


def reordered(capsys: pytest.CaptureFixture[str]) -> list[bool]:
    """Whether each warning of a new order is one, in the lines since the last call."""
    lines = (line for line in capsys.readouterr().out.splitlines() if '"table_reordered"' in line)
    return ['"severity": "WARNING"' in line for line in lines]


@pytest.mark.long
def test_an_alter_after_the_clock_of_the_source_was_set_back(scene: CheckScene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.pull()
    connect = scene.connect

    def set_back() -> pymysql.Connection:
        connection = connect()
        ((now,),) = query(connection, "SELECT UNIX_TIMESTAMP()")
        query(connection, f"SET timestamp = {now - 3_600}")
        return connection

    scene.connect = set_back  # type: ignore[method-assign]
    scene.pull()
    assert not reordered(capsys)
    scene.source.run(f"ALTER TABLE t {ADD}")
    scene.pull()
    assert shown(scene, "filled") == FILLED
    assert reordered(capsys) == [True]
    scene.pull()
    assert not reordered(capsys)


def test_a_watermark_that_is_rounded(scene: CheckScene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.source.run("UPDATE t SET at = '2026-05-03 10:00:00.400'")
    scene.pull()
    scene.source.run(f"ALTER TABLE t MODIFY at DATETIME, {ADD}")
    scene.pull()
    assert shown(scene, "filled") == FILLED
    assert reordered(capsys) == [True]


def test_a_watermark_that_is_another_column(scene: CheckScene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.source.run("ALTER TABLE t ADD COLUMN seconds BIGINT", "UPDATE t SET seconds = UNIX_TIMESTAMP(at)")
    scene.pull()
    scene.tables = {"t": TableLoad("incremental", WatermarkColumn("seconds", unix_seconds=True))}
    scene.pull()
    assert reordered(capsys) == [True]
    scene.at = DAILY
    scene.pull("day")
    scene.source.run("UPDATE t SET name = 'new', seconds = UNIX_TIMESTAMP('2026-05-04 10:00') WHERE id = 1")
    scene.at = DAILY + timedelta(days=1)
    scene.pull("day")
    assert shown(scene) == {1: "new", 2: "b", 3: "c"}
    assert not reordered(capsys)


def test_a_key_that_is_the_watermark_from_now_on(scene: CheckScene) -> None:
    scene.source.run("UPDATE t SET at = '2026-04-01 10:00' WHERE id = 1")
    scene.pull()
    scene.tables = {"t": by("id")}
    scene.source.run(f"ALTER TABLE t {ADD}")
    scene.pull()
    assert shown(scene, "filled") == FILLED
