"""A source, its pulls, and the warehouse in memory into which they are loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta

from support.memory_loads import MemoryWorld, files_of
from support.pulled_source import MemorySource, Puller, landed_rows

from onefold.batches.source_arguments import Window
from onefold.pull.load.run import TableLoads

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
DAY = date(2026, 5, 3)
DAILY = datetime(2026, 5, 4, 4, tzinfo=UTC)
"""The hour of the daily load of DAY."""


class LoadScene:
    """A source, its pulls, and what they have loaded."""

    def __init__(self, source: MemorySource | None = None, puller: type[Puller] = Puller) -> None:
        self.world = MemoryWorld()
        self.source = source or MemorySource()
        self.puller = puller(self.source, files_of(self.world))
        self.now = NOON
        self.ever: dict[str, list[Mapping[str, object]]] = {}
        """All rows that any version has had after a pull."""

    def pull(self, window: Window, now: datetime, days: tuple[date, ...] | None = None) -> None:
        self.now = now
        self.puller.pull(self.process(), window, now, days)
        for name, rows in self.world.tables.items():
            self.ever.setdefault(name, []).extend(rows)

    def process(self, step: Callable[[], object] = lambda: None) -> TableLoads:
        return self.world.process(self._clock, step)

    def _clock(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    @property
    def view(self) -> dict[int, str]:
        return landed_rows(self.world.tables)

    @property
    def merged(self) -> dict[int, str]:
        """A base into which every row was merged after each pull: what was replaced since still counts in it."""
        return landed_rows(self.ever)

    def days(self, version: int = -1) -> set[str]:
        return {row["_day"] for row in list(self.world.tables.values())[version]}
