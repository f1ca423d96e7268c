"""Rounds during which nothing else used the machine: others are made again; figures of a busy machine are not written."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from benchmarks.processor_time import TICKS, own_and_others
from onefold.core.text import counted

MOST = 0.05
"""The share of all processors that other processes may use in a round that counts."""
LEAST = 3
"""Quiet rounds without which figures are not written into the page."""
_TRIES = 3
"""So many times the rounds that are wanted are tried on a busy machine."""
_STEAL = 7
"""The field of the line `cpu` of /proc/stat with the time that other machines of the same host took."""
_KERNEL = 2
"""The process from which the kernel's threads descend. They write files that belong to any process."""

Figure = TypeVar("Figure")


@dataclass(frozen=True)
class Reading:
    """What had been used at a moment, in seconds.

    The time of others is that of each of them, and not what is left of the whole: a process of the benchmark that ended and
    for which nobody waited, as Spark's Python workers, is in no sum of the system.

    Attributes:
        clock: of the clock.
        stolen: by other machines of the same host.
        others: by each process that does not descend from this one, with its children that have ended.
    """

    clock: float
    stolen: float
    others: Mapping[int, float]

    def share_since(self, former: Reading) -> float:
        """Return the share of all processors that others used since a former reading; 0.0 to 1.0.

        The whole time of a process that ended since then counts, because it has become that of its parent.

        >>> round(Reading(20.0, 0.5, {7: 3.0}).share_since(Reading(10.0, 0.0, {7: 2.5, 8: 1.0})) * (os.cpu_count() or 1), 2)
        0.1
        """
        seconds = max(self.clock - former.clock, 1e-9)
        used = sum(max(now - former.others.get(number, 0.0), 0.0) for number, now in self.others.items())
        return min((used + self.stolen - former.stolen) / seconds / (os.cpu_count() or 1), 1.0)


def reading() -> Reading:
    """Return a reading of now."""
    stolen = int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:][_STEAL]) / TICKS
    _, others = own_and_others()
    used = {one.number: one.ticks / TICKS for one in others if _KERNEL not in (one.number, one.parent)}
    return Reading(time.perf_counter(), stolen, used)


class Disturbed(SystemExit):
    """Figures are not written, because the machine was busy."""


@dataclass
class Rounds(Generic[Figure]):
    """Rounds of a benchmark, after one that warms up.

    Each round notes its figures, as `for number in rounds: rounds.note(name, seconds)`. Those of the first one are dropped,
    and so are those of a round that was not quiet, as long as rounds are made again.

    Attributes:
        wanted: how many rounds count.
        again: whether a round that was not quiet is made again, at most three times as many as are wanted.
        figures: those of the rounds that count, by name.
        shares: the share of the processors that others used, of each round that counts.
        dropped: how many rounds were made again.
    """

    wanted: int
    again: bool = False
    figures: dict[str, list[Figure]] = field(default_factory=dict)
    shares: list[float] = field(default_factory=list)
    dropped: int = 0
    _noted: dict[str, list[Figure]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[int]:
        yield 0
        self._noted.clear()
        number = 0
        while len(self.shares) < self.wanted:
            number += 1
            with self._measured(may_drop=self.again and number <= (_TRIES - 1) * self.wanted):
                yield number

    def note(self, name: str, figure: Figure) -> None:
        """Note a figure of the present round."""
        self._noted.setdefault(name, []).append(figure)

    @contextmanager
    def _measured(self, may_drop: bool) -> Iterator[None]:
        before = reading()
        yield
        share = reading().share_since(before)
        if may_drop and share > MOST:
            self.dropped += 1
        else:
            self.shares.append(share)
            for name, figures in self._noted.items():
                self.figures.setdefault(name, []).extend(figures)
        self._noted.clear()

    @property
    def quiet(self) -> int:
        """How many of the rounds that count were quiet."""
        return sum(share <= MOST for share in self.shares)

    def check(self) -> None:
        """Check that the figures may be written.

        Raises:
            Disturbed: fewer than three rounds were quiet.
        """
        if self.quiet < LEAST:
            raise Disturbed(
                f"the figures were not written: {self.quiet} of {len(self.shares)} rounds were quiet, expected {LEAST}, in "
                f"which other processes use at most {MOST:.0%} of the processors. End the other processes, and "
                f"begin again with --repeat {LEAST} or more"
            )


def described(rounds: Sequence[Rounds[Any]]) -> str:
    """Return how many rounds each measurement had, and how busy the machine was.

    >>> described([Rounds(3, shares=[0.01, 0.0, 0.02], dropped=1)])
    '3 rounds after one that warms up, in which other processes used 2 % of the processors at most; 1 round was made again'
    """
    wanted, dropped = rounds[0].wanted, sum(one.dropped for one in rounds)
    most = max((share for one in rounds for share in one.shares), default=0.0)
    made_again = f"; {counted(dropped, 'round')} {'was' if dropped == 1 else 'were'} made again" if dropped else ""
    busy = f"in which other processes used {100 * most:.0f} % of the processors at most"
    return f"{counted(wanted, 'round')} after one that warms up, {busy}{made_again}"
