"""Random histories of a pulled table: late commits, and pulls that are repeated, killed and made two at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from hypothesis import strategies as st
from support.memory_loads import MemoryWorld, files_of
from support.pulled_source import MemorySource, Puller, landed_rows
from support.turns import Killed, Turns, any_order

from onefold.batches.source_arguments import Window
from onefold.core.errors import TryAgain
from onefold.pull.load.run import TableLoads
from onefold.pull.read.part import FileDestination
from onefold.pull.read.plan import TablePlan
from onefold.settings.sources import TableLoad

FIRST = datetime(2026, 5, 1, tzinfo=UTC)
DAYS = 4
MINUTES = DAYS * 24 * 60
DAILY_HOUR = timedelta(hours=4)


@dataclass(frozen=True)
class Ask:
    """A pull that somebody asks for."""

    window: Window
    days: tuple[date, ...] | None = None


@dataclass
class Landed:
    """A load: what it had read, and the days that it replaced. One that was killed or gave way may have done all of it."""

    read_at: datetime
    days: frozenset[date]
    keys: dict[int, datetime]
    """The watermarks of the rows that it read, by key."""
    ended: datetime | None = None
    is_done: bool = False


@dataclass
class History:
    """A world over which time goes."""

    world: MemoryWorld = field(default_factory=MemoryWorld)
    source: MemorySource = field(default_factory=MemorySource)
    now: datetime = FIRST
    loads: list[Landed] = field(default_factory=list)

    make_puller: Callable[[MemorySource, FileDestination], Puller] = lambda source, to: Puller(
        source, to, load=TableLoad("incremental")
    )

    def __post_init__(self) -> None:
        self.puller = self.make_puller(self.source, files_of(self.world))

    @property
    def view(self) -> dict[int, str]:
        return landed_rows(self.world.tables)

    def clock(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now

    def work(self, ask: Ask) -> Callable[[Callable[[], None]], None]:
        """The work of one process: from the log to the log."""

        def pull(step: Callable[[], None]) -> None:
            step()  # from here on one process runs at a time, so that an example can be repeated
            loads = self.world.process(self.clock, step)
            plan = self.puller.plan(loads, ask.window, self.clock(), ask.days)
            loads.begin(plan)
            step()  # between the planning and the read others may do anything
            self._load(loads, plan)

        return pull

    def _load(self, loads: TableLoads, plan: TablePlan) -> None:
        read_at = self.clock()
        pulled = self.puller.read(plan, read_at)
        rows = {row["id"]: datetime.fromisoformat(row["changed_at"]) for row in self.world.files.rows(pulled.files)}
        landed = Landed(read_at, frozenset(plan.range.days), rows)
        self.loads.append(landed)
        try:
            loads.load(pulled, self.puller.present(self.clock()))
            landed.is_done = True
        finally:
            landed.ended = self.clock()

    def run(self, asks: list[Ask], kills: list[int | None], choose: Callable[[int], int]) -> bool:
        """Make pulls at once; return whether all of them were done."""
        ends = Turns(choose).run([self.work(ask) for ask in asks], kills)
        for end in ends:
            if end is not None and not isinstance(end, Killed | TryAgain):
                raise end
        return ends == [None] * len(asks)

    def unseen_deletions(self) -> tuple[set[int], set[int]]:
        """From the definition: the deleted keys that people surely read, and those that they may read.

        The newest row of the key that landed is left, unless a load replaced its day while the source had no row of the key.
        A load that was killed or gave way may have landed its rows, and may have replaced the day, or not.
        """
        deleted = {one.key for one in self.source.operations} - self.source.rows(self.now).keys()
        return {key for key in deleted if self._is_left(key)}, {key for key in deleted if self._may_be_left(key)}

    def _is_left(self, key: int) -> bool:
        rows = [load.keys[key] for load in self._newest(key)]
        return any(load.is_done and key in load.keys for load in self.loads) and not any(
            self._saw_deletion(load, key, row) for load in self.loads for row in rows
        )

    def _may_be_left(self, key: int) -> bool:
        return any(
            not any(
                load.is_done and self._saw_deletion(load, key, one.keys[key]) and (one.is_done or _is_after(load, one))
                for load in self.loads
            )
            for one in self._newest(key)
        )

    def _newest(self, key: int) -> list[Landed]:
        """Return the loads that may have landed the newest row of a key."""
        found = [load for load in self.loads if key in load.keys]
        least = max((load.keys[key] for load in found if load.is_done), default=None)
        return [load for load in found if least is None or load.keys[key] >= least]

    def _saw_deletion(self, load: Landed, key: int, at: datetime) -> bool:
        """Return whether a load replaced the day of a row after the row, and while the source had no row of its key.

        A key that is inserted again later, by a transaction that no load read, does not undo this.
        """
        committed = min(
            one.commit for one in self.source.operations if (one.key, one.at) == (key, at) and one.name is not None
        )
        return at.date() in load.days and load.read_at >= committed and key not in self.source.rows(load.read_at)


def _is_after(load: Landed, other: Landed) -> bool:
    return other.ended is not None and load.read_at >= other.ended


def late(at: datetime, minutes: int) -> timedelta:
    """A delay of a commit that ends before the daily load of the day of the operation."""
    daily = datetime.combine(at.date() + timedelta(days=1), datetime.min.time(), UTC) + DAILY_HOUR
    return min(timedelta(minutes=minutes), daily - at - timedelta(seconds=1))


def operate(history: History, draw: st.DataObject, at: datetime) -> None:
    """One operation on a key that no open transaction has locked."""
    key = draw.draw(st.integers(1, 5))
    if any(one.key == key and one.commit > at for one in history.source.operations):
        return
    exists = key in history.source.rows(at)
    name = None if exists and draw.draw(st.booleans()) else f"{key} at {at:%d %H:%M}"
    delay = late(at, draw.draw(st.sampled_from([0, 0, 1, 10, 30, 600, 1_700])))
    history.source.put(key, name, at, delay)


def ask_for(draw: st.DataObject, now: datetime) -> Ask:
    """A pull at a random time: of the last minutes, or of a day that is over for its daily load."""
    past = [day for day in range(DAYS) if FIRST + timedelta(days=day + 1) + DAILY_HOUR <= now]
    if past and draw.draw(st.integers(0, 3)) == 0:
        day = FIRST.date() + timedelta(days=draw.draw(st.sampled_from(past)))
        return Ask("day", (day,))
    return Ask("15m")


def daily(history: History, draw: st.DataObject, day: int) -> None:
    """The daily load at its hour: killed a few times, or two at once, and then done."""
    history.now = max(history.now, FIRST + timedelta(days=day + 1) + DAILY_HOUR)
    ask = Ask("day", (FIRST.date() + timedelta(days=day),))
    for _ in range(draw.draw(st.integers(0, 2))):
        together(history, draw, [ask, ask_for(draw, history.now)])
    # Whatever was killed before: a daily load that nothing disturbs is done.
    assert history.run([ask], [None], lambda _: 0)


def together(history: History, draw: st.DataObject, asks: list[Ask]) -> None:
    kills = [draw.draw(st.one_of(st.none(), st.integers(0, 25))) for _ in asks]
    history.run(asks, kills, any_order(draw))


def check_nothing_is_missing(history: History, day: int) -> None:
    """After a daily load people read every row that was changed up to that day, or a newer state of it."""
    view, source = history.view, history.source.rows(history.now)
    end = FIRST + timedelta(days=day + 1)
    for key, one in source.items():
        if one.at < end:
            assert key in view, (key, one)
            assert view[key] == one.name, (key, one, view[key])


def check_history(history: History, draw: st.DataObject) -> None:
    """Let random things happen for some days, and check what people read after each daily load."""
    steps = sorted(draw.draw(st.lists(st.integers(0, MINUTES - 1), min_size=4, max_size=25)))
    altered = draw.draw(st.one_of(st.none(), st.integers(0, MINUTES)))
    done = 0
    assert history.run([Ask("15m")], [None], lambda _: 0)
    for minute in steps:
        while FIRST + timedelta(minutes=minute) >= FIRST + timedelta(days=done + 1) + DAILY_HOUR:
            daily(history, draw, done)
            check_nothing_is_missing(history, done)
            done += 1
        history.now = max(history.now, FIRST + timedelta(minutes=minute))
        if altered is not None and minute >= altered:
            history.source.alter()
        if draw.draw(st.booleans()):
            operate(history, draw, history.now)
        else:
            together(history, draw, [ask_for(draw, history.now) for _ in range(draw.draw(st.integers(1, 2)))])
    for day in range(done, DAYS):
        daily(history, draw, day)
    source = {key: one.name for key, one in history.source.rows(history.now).items()}
    sure, possible = history.unseen_deletions()
    assert {key: name for key, name in history.view.items() if key in source} == source
    assert sure <= history.view.keys() - source.keys() <= possible
