"""The end of a process in order, and of the threads of a capture after the failure of one or at somebody's request."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn


class Stopped(Exception):
    """The process ends. Work is left where it is: whatever is not confirmed is read again at the next start."""


class Stop:
    """A flag that ends all threads. The first failure is stored for the caller that ends the process.

    Every wait of a thread checks the flag. The thread that created the flag is the main loop: each of its checks also
    calls `beat`, which shows that the main loop has not hung.
    """

    def __init__(self, beat: Callable[[], None] = lambda: None) -> None:
        """Create a flag that is not set.

        Args:
            beat: called whenever the thread that creates this flag checks it.
        """
        self._beat = beat
        self._owner = threading.get_ident()
        self._event = threading.Event()
        self._lock = threading.Lock()
        self.failure: BaseException | None = None
        self._checked_at = time.monotonic()

    def set(self, failure: BaseException | None = None) -> None:
        """Set the flag. Only the first call stores its failure."""
        with self._lock:
            if not self._event.is_set():
                self.failure = failure
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Return while the flag is not set.

        Raises:
            Stopped: the flag is set.
        """
        self._heartbeat()
        if self._event.is_set():
            raise Stopped

    def pause(self, seconds: float) -> None:
        """Wait for some seconds, or until the flag is set.

        Raises:
            Stopped: the flag is set.
        """
        self._heartbeat()
        if self._event.wait(seconds):
            raise Stopped

    @contextmanager
    def thread(self) -> Iterator[None]:
        """Wrap the work of a thread: its error sets the flag, which ends all threads, and becomes the failure."""
        try:
            # Stopped is how a thread learns of the end; the failure that led to the end is already stored.
            with suppress(Stopped):
                yield
        except BaseException as error:  # noqa: BLE001 a thread has no caller to raise to
            self.set(error)

    def _heartbeat(self) -> None:
        # Other threads may go on while the main loop hangs, so only the main loop may show that it is alive.
        if threading.get_ident() == self._owner:
            self._checked_at = time.monotonic()
            self._beat()

    @property
    def seconds_since_check(self) -> float:
        """Return how long ago the main loop last checked the flag. Any thread may ask."""
        return time.monotonic() - self._checked_at


@contextmanager
def ended_in_order() -> Iterator[None]:
    """End the processes that were started also when the terminal is closed or this process gets SIGTERM."""
    # A signal that is ignored, as under nohup, stays ignored.
    caught = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, _exit) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stopped_by_signal(stop: Stop) -> Iterator[None]:
    """Set a flag when this process gets SIGTERM, so that the work in hand is finished, and a pause ends at once."""

    def end(*_: object) -> None:
        # In a thread of its own: the signal may arrive while this thread is about to wait for the flag, and holds its lock.
        threading.Thread(target=stop.set).start()

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit(number: int, _: FrameType | None) -> NoReturn:
    # A second signal must not interrupt the cleanup that the first one started.
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)
