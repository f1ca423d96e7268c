"""The heartbeat of a capture process: a file whose modification time shows that the process is alive.

The process may wait for days, for its source or for Pub/Sub. While it waits it checks for shutdown, and touches the file
each time; a process that does not is hung. Run as a program, this module is the health check of the image: it needs nothing
but Python.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "ONEFOLD_HEARTBEAT"
LIMIT_SECONDS = 300
"""Far above the longest wait for one answer, 60 s."""
_PAUSE_SECONDS = 5.0


class Heartbeat:
    """Touches a file, at most every five seconds."""

    def __init__(self, path: Path) -> None:
        """Touch the file.

        Args:
            path: of the file.

        Raises:
            OSError: the file cannot be written.
        """
        self._path = path
        self._next = 0.0
        self.beat()

    def beat(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._path.touch()
            self._next = now + _PAUSE_SECONDS


def problem(environ: Mapping[str, str], now: float) -> str | None:
    """Return what is wrong with the process whose heartbeat file the environment names, or None.

    Args:
        environ: the environment variables; ONEFOLD_HEARTBEAT names the file.
        now: seconds since 1970.
    """
    path = environ.get(VARIABLE)
    if not path:
        return f"expected {VARIABLE} to name the file that capture touches: set it for both"
    try:
        age = now - Path(path).stat().st_mtime
    except FileNotFoundError:
        return f"expected the heartbeat file {path}, got none: capture has not started"
    return problem_of_silence(age)


def problem_of_silence(seconds: float) -> str | None:
    """Return what is wrong with a process whose last heartbeat is some seconds old, or None."""
    if seconds > LIMIT_SECONDS:
        return f"expected a heartbeat of capture every {LIMIT_SECONDS} s, got none for {seconds:.0f} s: start it again"
    return None


if __name__ == "__main__":
    sys.exit(problem(os.environ, time.time()))
