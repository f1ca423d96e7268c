"""Runs of a job one after another, in one session of Spark."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from onefold.core.shutdown import Stop, Stopped
from onefold.spark.job import INTERRUPTED


def repeat(run: Callable[[], int], seconds: float, stop: Stop) -> int:
    """Run a job until a flag is set, and return the highest exit code of all runs: an error stops no later run.

    Args:
        run: runs the job once, logs its errors and returns its exit code.
        seconds: from the start of one run to that of the next one, unless a run takes longer.
        stop: ends the runs, never within one.
    """
    worst = 0
    with suppress(Stopped):
        stop.check()
        while worst != INTERRUPTED:
            started = time.monotonic()
            worst = max(worst, run())
            if worst != INTERRUPTED:
                stop.pause(max(0.0, seconds - (time.monotonic() - started)))
    return worst
