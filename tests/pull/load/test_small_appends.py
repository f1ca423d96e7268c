"""Small pulls without a load job: the rows, the views and the log are those of load jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from support.load_scene import DAILY, NOON, LoadScene
from support.memory_loads import MemoryWorld
from support.pulled_source import Puller

from onefold.core.errors import TryAgain
from onefold.core.names import TableId
from onefold.ports.load_jobs import LoadedJob
from onefold.pull.load.run import TableLoads
from onefold.pull.load.small_appends import SmallAppends
from onefold.pull.read.plan import TablePlan


@dataclass
class MemoryAppender:
    """Appends rows at one moment; where `takes` is false, or an error is set, none."""

    world: MemoryWorld
    takes: bool = True
    error: Exception | None = None
    appended: list[int] = field(default_factory=list)

    def append(self, table: TableId, rows: Sequence[Mapping[str, Any]]) -> LoadedJob | None:
        if self.error:
            raise self.error
        if not self.takes:
            return None
        self.world.tables[table.table] += [dict(row) for row in rows]
        self.appended.append(len(rows))
        return LoadedJob(f"stream {len(self.appended)}", len(rows))


class SmallPuller(Puller):
    """Asks for pulls whose files of up to `below` bytes are appended without a load job."""

    below = 5_000_000

    def plan(self, *arguments: Any) -> TablePlan:
        plan = super().plan(*arguments)
        return replace(plan, request=replace(plan.request, stream_below=self.below))


class SmallScene(LoadScene):
    def __init__(self) -> None:
        super().__init__(puller=SmallPuller)
        self.appender = MemoryAppender(self.world)

    def process(self, step: Callable[[], object] = lambda: None) -> TableLoads:
        return replace(super().process(step), small=SmallAppends(self.world.files, self.appender))


def pull_for_a_day(scene: LoadScene) -> LoadScene:
    """A first pull, small ones, a daily load that finds a deletion, a new column, and small ones again."""
    scene.source.put(1, "Ada", NOON)
    scene.source.put(2, "gone", NOON)
    scene.pull("15m", NOON + timedelta(minutes=1))
    scene.source.put(3, "Grace", NOON + timedelta(minutes=20))
    scene.pull("15m", NOON + timedelta(minutes=30))
    scene.pull("15m", NOON + timedelta(minutes=45))
    scene.source.put(2, None, NOON + timedelta(hours=3))
    scene.pull("day", DAILY)
    scene.source.alter()
    scene.source.put(3, "Hopper", DAILY + timedelta(hours=1))
    scene.pull("15m", DAILY + timedelta(hours=2))
    scene.source.put(4, "Lovelace", DAILY + timedelta(hours=3))
    scene.pull("15m", DAILY + timedelta(hours=4))
    return scene


def without_jobs(log: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "jobs"} for row in log]


@pytest.mark.parametrize("takes", [True, False])
def test_rows_views_and_log_are_those_of_load_jobs(takes: bool) -> None:
    small = SmallScene()
    small.appender.takes = takes
    jobs = pull_for_a_day(LoadScene())
    assert pull_for_a_day(small).view == jobs.view == {1: "Ada", 3: "Hopper", 4: "Lovelace"}
    assert small.world.tables == jobs.world.tables
    assert without_jobs(small.world.log) == without_jobs(jobs.world.log)
    assert len(small.appender.appended) == (3 if takes else 0)
    assert len(small.world.jobs) == len(jobs.world.jobs) - len(small.appender.appended)


def test_the_log_names_what_wrote_the_rows() -> None:
    scene = SmallScene()
    pull_for_a_day(scene)
    assert [row["jobs"] for row in scene.world.loaded if "stream" in str(row["jobs"])] == [
        [f"stream {number}"] for number in (1, 2, 3)
    ]


def test_larger_files_are_loaded_by_jobs() -> None:
    scene = SmallScene()
    scene.puller.below = 10  # type: ignore[attr-defined]
    pull_for_a_day(scene)
    assert scene.appender.appended == []


def test_a_pull_that_may_have_landed_is_read_again_by_the_next_one() -> None:
    scene = SmallScene()
    scene.source.put(1, "Ada", NOON)
    scene.pull("15m", NOON + timedelta(minutes=1))
    scene.source.put(1, "Grace", NOON + timedelta(minutes=20))
    scene.appender.error = TryAgain("the commit was not answered")
    jobs = dict(scene.world.jobs)
    with pytest.raises(TryAgain):
        scene.pull("15m", NOON + timedelta(minutes=30))
    assert scene.world.jobs == jobs  # a load job could write the rows twice
    scene.appender.error = None
    scene.pull("15m", NOON + timedelta(minutes=45))
    assert scene.view == {1: "Grace"}
