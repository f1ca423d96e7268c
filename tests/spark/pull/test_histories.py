"""Random histories on a real server, read by Spark: late commits, and pulls that are repeated, killed, or made two at once.

After a daily load of each day, with no operation since, people read what the source has, but for rows that were deleted.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pymysql
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.database_servers import DatabaseServer
from support.memory_files import MemoryFiles
from support.memory_loads import MemoryWorld
from support.pulled_source import landed_rows
from support.pulls import by
from support.turns import Killed, Turns, any_order

from onefold.adapters.pulled_files import FolderFiles
from onefold.batches.source_arguments import Window
from onefold.core.errors import TryAgain
from onefold.mysql.connection import connect, query
from onefold.pull.read.connection import SourceConnection
from onefold.pull.read.part import FileDestination
from onefold.pull.read.plan import PullRequest
from onefold.pull.read.planner import Planner
from onefold.pull.read.pull import Pull
from onefold.settings.sources import Source, TableLoad, Tls
from onefold.spark.pull.reader import SparkReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = datetime(2026, 5, 1, tzinfo=UTC)
DAYS = 3
DAILY = timedelta(hours=4)
EXAMPLES = 20
LOCK_WAIT_TIMEOUT = 1205
_numbers = itertools.count(1)


class SharedFiles(MemoryFiles):
    """Files that Spark's processes write: those of `gs://pulled`, which the loads write themselves, in the same folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.root = folder.as_uri()

    def create(self, address: str, path: Path) -> bool:
        return FolderFiles().create(self._local(address), path)

    def find(self, address: str) -> Any:
        return FolderFiles().find(self._local(address))

    def rows(self, files: Any) -> list[dict[str, Any]]:
        stored = (Path(unquote(self._local(file.name).removeprefix("file://"))).read_text() for file in files)
        return [json.loads(line) for text in stored for line in text.splitlines()]

    def _local(self, address: str) -> str:
        return address.replace("gs://pulled", self.root)


@dataclass
class World:
    """A table of a real server, pulled by Spark into a warehouse in memory, at times that the test sets."""

    spark: SparkSession
    server: DatabaseServer
    database: str
    folder: Path
    now: datetime = FIRST
    deleted: set[int] = field(default_factory=set)
    late: list[tuple[datetime, pymysql.Connection, frozenset[int]]] = field(default_factory=list)
    """Transactions that are open: when they commit, and the keys that they have locked."""

    def __post_init__(self) -> None:
        self.memory = MemoryWorld(files=SharedFiles(self.folder))
        self.source = Source(
            "fraud", "127.0.0.1", self.server.port, "root", tls=Tls("off"), databases=(self.database,), tables={"t": TABLE}
        )

    def connect(self) -> pymysql.Connection:
        """A session whose clock shows the time of the test."""
        connection = connect(self.server.address)
        connection.select_db(self.database)
        query(connection, f"SET timestamp = {self.now.timestamp():.6f}")
        return connection

    def clock(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def pull(self, window: Window, day: datetime) -> Callable[[Callable[[], None]], None]:
        """The work of one process: a pull that is asked for on a day."""

        def work(step: Callable[[], None]) -> None:
            loads = self.memory.process(self.clock, step)
            to = FileDestination(FolderFiles(), self.folder.as_uri())
            request = PullRequest("fraud", self.database, window, at=day)
            planner = Planner(self.source, request, to, lambda _: (), loads, part_rows=3)
            reader = SparkReader(self.spark, SourceConnection.of(self.source, ""), to)
            (report,) = Pull(planner, self.connect, reader, loads).run().tables
            if report.outcome == "failed":
                raise TryAgain("; ".join(report.reasons))

        return work

    def operate(self, key: int, name: str | None, delay: timedelta) -> None:
        """Change a row, unless an open transaction has locked it, or the place where it would be; its commit may be late."""
        if any(key in keys for _, _, keys in self.late):
            return
        connection = self.connect()
        query(connection, "SET innodb_lock_wait_timeout = 0")
        query(connection, "BEGIN")
        try:
            query(connection, f"DELETE FROM t WHERE id = {key}" if name is None else self._replace(key, name))
        except pymysql.err.OperationalError as error:
            if error.args[0] != LOCK_WAIT_TIMEOUT:
                raise
            connection.close()
            return
        self.deleted = self.deleted | {key} if name is None else self.deleted - {key}
        self.late.append((self.now + delay, connection, frozenset({key})))
        self.commit()

    @staticmethod
    def _replace(key: int, name: str) -> str:
        return f"REPLACE INTO t VALUES ({key}, '{name}', NOW(6))"

    def commit(self, every: bool = False) -> None:
        """Commit what is due."""
        due = [one for one in self.late if every or one[0] <= self.now]
        for one in due:
            query(one[1], "COMMIT")
            one[1].close()
            self.late.remove(one)

    def rows(self) -> dict[int, str]:
        with connect(self.server.address) as connection:
            return dict(query(connection, f"SELECT id, name FROM {self.database}.t"))

    @property
    def view(self) -> dict[int, str]:
        return landed_rows(self.memory.tables)


TABLE: TableLoad = replace(by("changed"), pull_overlap=timedelta(minutes=15))


@contextmanager
def new_world(spark: SparkSession, server: DatabaseServer, folder: Path) -> Iterator[World]:
    database = f"history{next(_numbers)}"
    with connect(server.address) as connection:
        query(connection, f"CREATE DATABASE {database}")
        columns = "id INT PRIMARY KEY, name VARCHAR(60), changed TIMESTAMP(6) NOT NULL, KEY (changed)"
        query(connection, f"CREATE TABLE {database}.t ({columns})")
        world = World(spark, server, database, folder / database)
        (folder / database).mkdir()
        yield world
        world.commit(every=True)
        query(connection, f"DROP DATABASE {database}")


def together(draw: st.DataObject, works: list[Callable[[Callable[[], None]], None]]) -> None:
    """Pulls at once, each of which may be killed."""
    kills = [draw.draw(st.one_of(st.none(), st.integers(0, 12))) for _ in works]
    for end in Turns(any_order(draw)).run(works, kills):
        if end is not None and not isinstance(end, Killed | TryAgain):
            raise end


def daily(world: World, day: int) -> None:
    """The daily load of a day; one that gives way to a load that was killed is asked for again."""
    asked = FIRST + timedelta(days=day + 1) + DAILY
    for turn in range(3):
        world.now = max(world.now, asked) + timedelta(days=turn > 0)
        (end,) = Turns(lambda _: 0).run([world.pull("day", asked + timedelta(minutes=turn))], [None])
        if end is None:
            return
        assert isinstance(end, TryAgain), end
    raise AssertionError("the daily load gives way again and again")


@pytest.mark.long
@settings(max_examples=EXAMPLES)
@given(draw=st.data())
def test_after_the_last_daily_load_people_read_what_the_source_has(
    spark: SparkSession, mariadb: DatabaseServer, tmp_path_factory: pytest.TempPathFactory, draw: st.DataObject
) -> None:
    with new_world(spark, mariadb, tmp_path_factory.mktemp("history")) as world:
        minutes = sorted(draw.draw(st.lists(st.integers(0, DAYS * 1440 - 1), min_size=4, max_size=10, unique=True)))
        done = 0
        for minute in minutes:
            while minute >= (done + 1) * 1440 + 240:
                world.now = FIRST + timedelta(days=done + 1) + DAILY
                world.commit()
                daily(world, done)
                done += 1
            world.now = max(world.now, FIRST + timedelta(minutes=minute))
            world.commit()
            if draw.draw(st.integers(0, 2)):
                key = draw.draw(st.integers(1, 5))
                name = f"{key} é at {world.now:%d %H:%M}" if draw.draw(st.integers(0, 3)) else None
                left = FIRST + timedelta(days=world.now.date().day) + DAILY - world.now - timedelta(seconds=1)
                world.operate(key, name, min(timedelta(minutes=draw.draw(st.sampled_from([0, 1, 30, 1_700]))), left))
            else:
                window: Window = draw.draw(st.sampled_from(["15m", "15m", "day", "full"]))
                together(draw, [world.pull(window, FIRST + timedelta(minutes=minute))] * draw.draw(st.integers(1, 2)))
        world.now = FIRST + timedelta(days=DAYS) + DAILY
        world.commit(every=True)
        for day in range(done, max(DAYS, (world.now - FIRST).days + 1)):
            daily(world, day)
        source, view = world.rows(), world.view
        assert {key: name for key, name in view.items() if key in source} == source
        assert view.keys() - source.keys() <= world.deleted
