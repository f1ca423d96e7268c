"""Starting again: what to do when somebody else wrote a view between our read and our write."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from onefold.core.errors import TryAgain, ViewChanged
from onefold.core.names import TableId

TRIES = 10
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 8.0

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
