"""Clocks of real servers: set back, in a zone with summer time, and of a replica that lags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from support.database_servers import MariaDb, MySql
from support.load_scene import DAILY, LoadScene
from support.pulls import PullScene, by
from support.real_source import RealPuller, RealSource
from support.replicas import Pair, new_pair, new_servers
from support.source_database import SourceDatabase, on

from onefold.mysql.connection import query

BERLIN = ZoneInfo("Europe/Berlin")
QUARTER = timedelta(minutes=15)


@on(MariaDb, MySql)
def test_a_clock_that_is_set_back_over_midnight_deletes_nothing(source: SourceDatabase) -> None:
    midnight = DAILY - timedelta(hours=4)
    with RealSource.of(source) as table:
        scene = LoadScene(table, RealPuller)
        assert isinstance(scene.puller, RealPuller)
        table.put(1, "before the step", midnight + timedelta(minutes=30))
        table.put(2, "deleted", midnight + timedelta(minutes=30))
        scene.pull("15m", midnight + timedelta(minutes=35))
        scene.puller.step = timedelta(hours=-1)
        table.put(1, "after the step", midnight + timedelta(minutes=40) + scene.puller.step)
        table.put(2, None, midnight + timedelta(minutes=40) + scene.puller.step)
        scene.pull("15m", midnight + timedelta(minutes=45))
        scene.pull("day", DAILY)
        assert scene.view == scene.merged == {1: "after the step", 2: "deleted"}
        scene.pull("day", DAILY + timedelta(days=1))
        assert scene.view == scene.merged == {1: "after the step"}
        assert [row["rows_deleted"] for row in scene.world.loaded] == [0, 0, 0, 1]


@dataclass
class ClockScene(PullScene):
    """Pulls from a server whose clock shows a time that the test sets."""

    now: datetime = DAILY

    def connect(self) -> Any:
        connection = super().connect()
        query(connection, f"SET timestamp = {self.now.timestamp():.6f}")
        return connection


@on(MariaDb, MySql)
@pytest.mark.parametrize(
    "night", [datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)], ids=["forward", "back"]
)
def test_no_row_is_missed_when_summer_time_begins_or_ends(source: SourceDatabase, tmp_path: Path, night: datetime) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, at DATETIME, KEY (at))")
    scene = ClockScene(source, tmp_path, {"t": by("at", pull_overlap=timedelta())}, "Europe/Berlin")
    written: set[int] = set()
    read: set[int] = set()
    for number in range(30):
        scene.now = night - QUARTER * 4 + QUARTER * number
        shown = (scene.now - timedelta(minutes=1)).astimezone(BERLIN)
        source.run(f"INSERT INTO t VALUES ({number}, '{shown:%Y-%m-%d %H:%M:%S}')")
        written.add(number)
        read |= {int(row["id"]) for row in scene.rows()}
        assert read == written, (number, shown)
    assert scene.loads.pulled[-1].rows < len(written), "the last pull has read from its watermark"


@pytest.fixture(params=[MariaDb, MySql])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with new_servers(request.param) as servers, new_pair(servers, "lagging") as pair:
        yield pair


def test_a_replica_that_lags_longer_than_the_overlap_loses_no_row(pair: Pair, tmp_path: Path) -> None:
    pair.primary.run(
        "CREATE TABLE t (id INT PRIMARY KEY, at DATETIME(6), KEY (at))", "INSERT INTO t VALUES (1, UTC_TIMESTAMP(6))"
    )
    pair.catch_up()
    scene = ClockScene(pair.replica, tmp_path, {"t": by("at", pull_overlap=timedelta(minutes=1))}, now=datetime.now(UTC))
    assert {row["id"] for row in scene.rows()} == {1}
    pair.lag()
    pair.primary.run("INSERT INTO t VALUES (2, UTC_TIMESTAMP(6) + INTERVAL 2 MINUTE)")
    for hours in (1, 2):
        scene.now = datetime.now(UTC) + timedelta(hours=hours)
        assert {row["id"] for row in scene.rows()} == {1}
    pair.replica.run("START SLAVE SQL_THREAD" if pair.primary.on_mariadb else "START REPLICA SQL_THREAD")
    pair.catch_up()
    assert {row["id"] for row in scene.rows()} == {1, 2}
