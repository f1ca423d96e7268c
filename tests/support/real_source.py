"""A table of a real server whose clock the test sets, with transactions that stay open, and pulls of it by PyMySQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

import pymysql
from support.pulled_source import CLUSTER, TABLE, MemorySource, Puller
from support.source_database import SourceDatabase

from onefold.batches.source_arguments import Window
from onefold.core.errors import TryAgain
from onefold.mysql.connection import connect, query
from onefold.pull.read.clock import micros
from onefold.pull.read.part import pulled_files
from onefold.pull.read.plan import PullRequest, TablePlan
from onefold.pull.read.planner import Planner, Skipped
from onefold.pull.read.present_rows import PresentRows, SourceRows
from onefold.pull.read.pulled import Loads, PulledFiles
from onefold.pull.read.python_reader import PythonReader
from onefold.settings.sources import Source, WatermarkColumn

_TABLE = (
    f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, name VARCHAR(60) CHARACTER SET utf8mb4, changed_at TIMESTAMP(6) NULL, "
    "KEY (changed_at))"
)
_PUT = (
    f"INSERT INTO {TABLE} (id, name, changed_at) VALUES (%s, %s, NOW(6)) "
    "ON DUPLICATE KEY UPDATE name = %s, changed_at = NOW(6)"
)


@dataclass
class RealSource(MemorySource):
    """A table on a real server. The operations are noted, too, so that an oracle needs no server."""

    database: SourceDatabase | None = None
    open: list[tuple[datetime, pymysql.Connection]] = field(default_factory=list)

    @classmethod
    @contextmanager
    def of(cls, database: SourceDatabase) -> Iterator[RealSource]:
        """An empty table."""
        database.run(f"DROP TABLE IF EXISTS {TABLE}", _TABLE)
        source = cls(database=database)
        try:
            yield source
        finally:
            for _, connection in source.open:
                connection.close()

    def connect(self, now: datetime) -> pymysql.Connection:
        """A session for which it is that time."""
        assert self.database
        connection = connect(self.database.server.address)
        connection.select_db(self.database.name)
        query(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        query(connection, f"SET timestamp = {micros(now) // 1_000_000}.{micros(now) % 1_000_000:06}")
        return connection

    def put(self, key: int, name: str | None, at: datetime, delay: timedelta = timedelta()) -> None:
        self.advance(at)
        super().put(key, name, at, delay)
        connection = self.connect(at)
        query(connection, "BEGIN")
        if name is None:
            query(connection, f"DELETE FROM {TABLE} WHERE id = %s", (key,))
        else:
            query(connection, _PUT, (key, name, name))
        self.open.append((at + delay, connection))
        self.advance(at)

    def advance(self, now: datetime) -> None:
        """Commit the transactions whose time has come."""
        for commit, connection in sorted(self.open, key=lambda one: one[0]):
            if commit <= now:
                connection.commit()
                connection.close()
        self.open = [one for one in self.open if one[0] > now]

    def alter(self) -> None:
        """Add a column, if no open transaction keeps the server from it."""
        if not self.open and self.database and not self.database.rows(f"SHOW COLUMNS FROM {TABLE} LIKE 'note'"):
            self.database.run(f"ALTER TABLE {TABLE} ADD COLUMN note VARCHAR(60) DEFAULT '?'")

    def read(self, now: datetime) -> dict[int, str]:
        """What the server has."""
        self.advance(now)
        assert self.database
        return dict(self.database.rows(f"SELECT id, name FROM {TABLE}"))


@dataclass
class RealPuller(Puller):
    """Pulls as a batch does, by PyMySQL.

    Attributes:
        step: what the clock of the server has been set forward since the test began.
    """

    step: timedelta = timedelta()

    def plan(self, loads: Loads, window: Window, now: datetime, days: Sequence[date] | None = None) -> TablePlan:
        source, database = self._server(now)
        named = WatermarkColumn(self.watermark.column) if self.watermark else None
        load = replace(self.load, mode="incremental" if named else "full", watermark=named)
        settings = Source(CLUSTER, "localhost", databases=(database,), tables={TABLE: load})
        planner = Planner(settings, PullRequest(CLUSTER, database, window, at=now), self.to, lambda _: (), loads)
        with closing(source.connect(now + self.step)) as connection:
            try:
                plan = planner.plan(connection, TABLE)
            except Skipped as skipped:
                raise TryAgain(str(skipped)) from skipped
        if days is None or not plan.range.days:
            return plan
        low = None if plan.range.low is None else micros(datetime.combine(days[0], datetime.min.time(), UTC))
        return replace(plan, range=replace(plan.range, days=tuple(days), low=low))

    def read(self, plan: TablePlan, now: datetime) -> PulledFiles:
        source, _ = self._server(now)
        reader = PythonReader(lambda: source.connect(now + self.step), self.to)
        return pulled_files(plan, [reader.read(plan, part) for part in range(len(plan.parts))])

    def present(self, now: datetime) -> PresentRows:
        source, _ = self._server(now)
        return SourceRows(lambda: source.connect(now + self.step))

    def _server(self, now: datetime) -> tuple[RealSource, str]:
        assert isinstance(self.source, RealSource)
        assert self.source.database
        self.source.advance(now)
        return self.source, self.source.database.name
