"""How the threads of a capture end together: because one of them failed, or because somebody asked for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Stopped(Exception):
    """Work is left where it is: whatever is not confirmed is read again at the next start."""


class Stop:
    """Set once; the first failure is kept for whoever ends the process.

    Every wait looks at it. So the thread that has made it shows here that it lives.
    """

    def __init__(self, beat: Callable[[], None] = lambda: None) -> None:
        """Args:
        beat: called whenever the thread that makes this one looks at it.
        """
        self._beat = beat
        self._owner = threading.get_ident()
        self._event = threading.Event()
        self._lock = threading.Lock()
        self.failure: BaseException | None = None

    def set(self, failure: BaseException | None = None) -> None:
        with self._lock:
            if not self._event.is_set():
                self.failure = failure
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raises Stopped once it is set."""
        self._show_life()
        if self._event.is_set():
            raise Stopped

    def pause(self, seconds: float) -> None:
        """Wait, but not beyond the end. Raises Stopped."""
        self._show_life()
        if self._event.wait(seconds):
            raise Stopped

    @contextmanager
    def thread(self) -> Iterator[None]:
        """Hold the work of a thread. An error of it ends all threads, and is kept for whoever ends the process."""
        try:
            with suppress(Stopped):  # by which the thread learns of the end: the failure that led to it, if any, is kept
                yield
        except BaseException as error:  # noqa: BLE001 a thread has nobody to raise it to
            self.set(error)

    def _show_life(self) -> None:
        # Another thread may well go on while this one hangs.
        if threading.get_ident() == self._owner:
            self._beat()
