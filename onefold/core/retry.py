"""Retries: the pauses between two tries, a retry after a conflicting write, and a retry until the process stops."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from onefold.core.errors import TryAgain, ViewChanged
from onefold.core.log import log
from onefold.core.names import TableId
from onefold.core.shutdown import Stop


@dataclass(frozen=True)
class Backoff:
    """Growing pauses between tries, in seconds.

    Attributes:
        first: the pause after the first failure.
        longest: no pause is longer.
        factor: each pause is this many times the one before.
        jitter: each pause is a random part of itself, so that several writers do not collide again.

    Examples:
        >>> from itertools import islice
        >>> list(islice(Backoff(first=0.5, longest=3.0).pauses(), 5))
        [0.5, 1.0, 2.0, 3.0, 3.0]
    """

    first: float
    longest: float
    factor: float = 2.0
    jitter: bool = False

    def pauses(self) -> Iterator[float]:
        """Yield pauses without an end; each call begins with the first pause again."""
        pause = self.first
        while True:
            pause = min(pause, self.longest)
            yield random.uniform(0, pause) if self.jitter else pause  # noqa: S311
            pause *= self.factor


CONFLICT_TRIES = 10
CONFLICT_BACKOFF = Backoff(first=0.25, longest=8.0, jitter=True)
"""For several processes that write the same view."""
OUTAGE_BACKOFF = Backoff(first=0.5, longest=30.0)
"""For an outside system without which nothing can go on: a source, a topic, a checkpoint."""

Result = TypeVar("Result")


def retry_on_conflict(view: TableId, work: Callable[[], Result], sleep: Callable[[float], None] = time.sleep) -> Result:
    """Run `work`, which reads and then writes a view, again for as long as others write the view in between.

    Args:
        view: the view, for the error.
        work: reads the state and writes the view. It raises ViewChanged where somebody else has written it since.
        sleep: waits for some seconds.

    Raises:
        TryAgain: others wrote the view during all tries; the text gives the last error.
    """
    last: ViewChanged | None = None
    pauses = CONFLICT_BACKOFF.pauses()
    for attempt in range(CONFLICT_TRIES):
        if attempt:
            sleep(next(pauses))
        try:
            return work()
        except ViewChanged as error:
            last = error
    raise TryAgain(
        f"{view}: others wrote it during each of {CONFLICT_TRIES} tries, or it needs what is missing ({last}): run it again"
    ) from last


def retry_until_stopped(work: Callable[[], Result], stop: Stop) -> Result:
    """Retry `work` with growing pauses (0.5 s to 30 s) until it returns.

    Raises:
        Stopped: the process ends first.
    """
    pauses = OUTAGE_BACKOFF.pauses()
    while True:
        stop.check()
        try:
            return work()
        except TryAgain as error:
            log("WARNING", f"tried again: {error}", event="try_again", reason=str(error))
        stop.pause(next(pauses))
