"""An event-driven simulation: a clock, pools of workers, caches of connections, and limits of requests a second."""

from __future__ import annotations

import heapq
import random
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Generic, TypeVar

Piece = TypeVar("Piece")


@dataclass
class Simulation:
    """A clock with events in the order of their times; equal times in the order in which they were scheduled."""

    now: float = 0.0
    _events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)

    def at(self, time: float, event: Callable[[], None]) -> None:
        """Let something happen at a time, or at once where the time is over."""
        heapq.heappush(self._events, (max(time, self.now), next(self._numbers), event))

    def run(self, until: float = float("inf")) -> None:
        """Let everything happen up to a time; what is scheduled for later stays."""
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heapq.heappop(self._events)
            event()
        if until != float("inf"):
            self.now = until


@dataclass
class RequestLimit:
    """A number of requests a second of one account to one method: who comes too early waits, in the order of coming."""

    rate: float
    sent: int = 0
    _next: float = 0.0

    def take(self, now: float) -> float:
        """Return when a request may be sent that is ready now."""
        time = max(now, self._next)
        self._next = time + 1 / self.rate
        self.sent += 1
        return time


@dataclass
class Pool(Generic[Piece]):
    """Workers that take work in the order in which it comes.

    capacity: how many work at the same time.
    work: returns when a piece of work that starts now is done.
    done: is called with each piece of work at its end.
    taken, finished: pieces of work.
    seconds: of work on finished ones.
    """

    simulation: Simulation
    capacity: int
    work: Callable[[Piece], float]
    done: Callable[[Piece], None] = lambda _: None
    busy: int = 0
    taken: int = 0
    finished: int = 0
    seconds: float = 0.0
    waiting: deque[Piece] = field(default_factory=deque)

    def add(self, piece: Piece) -> None:
        """Take a piece of work."""
        self.taken += 1
        self.waiting.append(piece)
        self._start()

    def _start(self) -> None:
        while self.waiting and self.busy < self.capacity:
            piece = self.waiting.popleft()
            self.busy += 1
            end = self.work(piece)
            self.simulation.at(end, partial(self._end, piece, end - self.simulation.now))

    def _end(self, piece: Piece, seconds: float) -> None:
        self.busy -= 1
        self.seconds += seconds
        self.finished += 1
        self.done(piece)
        self._start()


@dataclass
class Connections:
    """The open connections of one instance: one for each table, the least recently used one is closed for another."""

    most: int
    opened: int = 0
    _open: OrderedDict[int, None] = field(default_factory=OrderedDict)

    def use(self, table: int) -> bool:
        """Use the connection of a table, and return whether it had to be opened."""
        if table in self._open:
            self._open.move_to_end(table)
            return False
        self.opened += 1
        self._open[table] = None
        if len(self._open) > self.most:
            self._open.popitem(last=False)
        return True


@dataclass
class Lags:
    """How late rows were, in steps of 50 ms, without keeping each one."""

    step: float = 0.05
    rows: int = 0
    _counts: dict[int, int] = field(default_factory=dict)

    def add(self, seconds: float, rows: int = 1) -> None:
        """Count rows that were so late."""
        slot = int(seconds / self.step)
        self._counts[slot] = self._counts.get(slot, 0) + rows
        self.rows += rows

    def quantile(self, share: float) -> float:
        """Return the seconds that a share of the rows did not exceed; 0 without rows."""
        left = share * self.rows
        for slot in sorted(self._counts):
            left -= self._counts[slot]
            if left <= 0:
                return (slot + 1) * self.step
        return 0.0


def zipf(number: int) -> list[float]:
    """Return the cumulated weights 1, 1/2, 1/3, ... of a Zipf law."""
    sums, total = [], 0.0
    for rank in range(1, number + 1):
        total += 1 / rank
        sums.append(total)
    return sums


def poisson(chance: random.Random, mean: float) -> int:
    """Return a number of events of a Poisson law, by a normal one where the mean is large."""
    if mean > 50:
        return max(0, round(chance.gauss(mean, mean**0.5)))
    events, time = 0, chance.expovariate(1)
    while time < mean:
        events, time = events + 1, time + chance.expovariate(1)
    return events


def tables_of(chance: random.Random, rows: int, weights: list[float]) -> Iterable[tuple[int, int]]:
    """Return which tables rows belong to, with the number of rows of each."""
    found: dict[int, int] = {}
    for table in chance.choices(range(len(weights)), cum_weights=weights, k=rows):
        found[table] = found.get(table, 0) + 1
    return found.items()
