"""Starting again: what to do when somebody else wrote a view between our read and our write."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from onefold.core.errors import TryAgain, ViewChanged
from onefold.core.log import log
from onefold.core.names import TableId
from onefold.core.shutdown import Stop

TRIES = 10
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 8.0
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
"""Seconds, where nothing goes on without the work."""

Result = TypeVar("Result")


def until_unchanged(view: TableId, work: Callable[[], Result], sleep: Callable[[float], None] = time.sleep) -> Result:
    """Return the result of `work`, which reads and then writes; start it again, after a growing pause, while others write.

    Raises:
        TryAgain: others kept writing the view through all tries; the text says what the last try met.
    """
    last: ViewChanged | None = None
    for attempt in range(TRIES):
        if attempt:
            sleep(random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1))))  # noqa: S311
        try:
            return work()
        except ViewChanged as error:
            last = error
    raise TryAgain(f"{view}: others wrote it during each of {TRIES} tries, or it needs what is missing ({last})") from last


def retry_until_stopped(work: Callable[[], Result], stop: Stop) -> Result:
    """What work gives, as soon as it does: nothing goes on without it. Raises Stopped."""
    pause = _FIRST_WAIT
    while True:
        stop.check()
        try:
            return work()
        except TryAgain as error:
            log("WARNING", f"tried again: {error}", event="try_again", reason=str(error))
        stop.pause(pause)
        pause = min(2 * pause, _LONGEST_WAIT)
