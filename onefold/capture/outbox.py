"""Many messages on their way at once, within a bound of bytes, and up to where all of them have arrived."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Generic, Protocol, TypeVar

from onefold.core.errors import TryAgain
from onefold.core.log import log
from onefold.core.retry import OUTAGE_BACKOFF
from onefold.core.shutdown import Stop
from onefold.ports.publisher import Message

IN_FLIGHT = 32_000_000
"""The most bytes of messages that are on their way. A message on its way is in memory once here and once in the client."""
_MANY = 1_000
"""The most messages on their way."""
_LOOK_SECONDS = 0.5
_TELL_SECONDS = 10.0

Value = TypeVar("Value")


class Sender(Protocol):
    def publish_soon(self, topic: str, message: Message, done: Callable[[Exception | None], None]) -> None:
        """Publish without waiting; `done` is told once, perhaps by another thread, what became of it."""


class PendingMessage:
    """A message that is not confirmed yet."""

    confirmed = False


class ConfirmationTracker(Generic[Value]):
    """Marks between messages: one is reached when all messages that were begun before it are confirmed."""

    def __init__(self, reached: Value) -> None:
        self.reached = reached
        self._lock = threading.Lock()
        self._waiting: deque[PendingMessage | tuple[Value]] = deque()

    def begin(self) -> PendingMessage:
        """A message is begun: no mark from here on is reached before it is confirmed."""
        ticket = PendingMessage()
        with self._lock:
            self._waiting.append(ticket)
        return ticket

    def mark(self, value: Value) -> None:
        """Of several marks in a row, only the last one counts."""
        with self._lock:
            if not self._waiting:
                self.reached = value
            elif isinstance(self._waiting[-1], tuple):
                self._waiting[-1] = (value,)
            else:
                self._waiting.append((value,))

    def confirm(self, ticket: PendingMessage) -> None:
        with self._lock:
            ticket.confirmed = True
            while self._waiting:
                first = self._waiting[0]
                if isinstance(first, tuple):
                    self.reached = first[0]
                elif not first.confirmed:
                    return
                self._waiting.popleft()

    @property
    def is_empty(self) -> bool:
        with self._lock:
            return not self._waiting


class Outbox:
    """Sends messages to one topic. While Pub/Sub takes none, sending waits: so reading stops, and nothing is lost."""

    def __init__(self, sender: Sender, topic: str, stop: Stop, bound: int = IN_FLIGHT) -> None:
        self._sender = sender
        self.topic = topic
        self._stop = stop
        self._bound = bound
        self._room = threading.Condition()
        self._bytes = 0
        self._messages = 0
        self._told = 0.0

    def send(self, data: bytes, confirmed: Callable[[], None]) -> None:
        """Send a message once there is room for it. One larger than the bound goes alone.

        Raises:
            Stopped: the end came first.
        """
        with self._room:
            while self._is_full(len(data)):
                self._stop.check()
                self._room.wait(_LOOK_SECONDS)
            self._bytes += len(data)
            self._messages += 1
        self._publish(data, confirmed, OUTAGE_BACKOFF.pauses())

    def drain(self) -> None:
        """Wait until nothing is on its way. Raises Stopped."""
        with self._room:
            while self._messages:
                self._stop.check()
                self._room.wait(_LOOK_SECONDS)

    def _is_full(self, size: int) -> bool:
        return bool(self._messages) and (self._bytes + size > self._bound or self._messages >= _MANY)

    def _publish(self, data: bytes, confirmed: Callable[[], None], pauses: Iterator[float]) -> None:
        self._sender.publish_soon(self.topic, Message(data), partial(self._done, data, confirmed, pauses))

    def _done(self, data: bytes, confirmed: Callable[[], None], pauses: Iterator[float], error: Exception | None) -> None:
        if isinstance(error, TryAgain):
            self._again(data, confirmed, pauses, error)
            return
        if error is None:
            confirmed()
        else:
            self._stop.set(error)
        with self._room:
            self._bytes -= len(data)
            self._messages -= 1
            self._room.notify_all()

    def _again(self, data: bytes, confirmed: Callable[[], None], pauses: Iterator[float], error: TryAgain) -> None:
        """Later, and for ever: it counts as on its way all the time."""
        if self._stop.is_set():
            return
        with self._room:
            silent = time.monotonic() < self._told + _TELL_SECONDS
            self._told = self._told if silent else time.monotonic()
        if not silent:
            log("WARNING", f"published again later: {error}", event="publish_again", reason=str(error), bytes=self._bytes)
        timer = threading.Timer(next(pauses), self._publish, (data, confirmed, pauses))
        timer.daemon = True
        timer.start()
