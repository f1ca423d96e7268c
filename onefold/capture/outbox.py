"""Messages in flight, with a bound of bytes, and the position up to which all messages are confirmed."""

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

MAX_BYTES_IN_FLIGHT = 32_000_000
"""The most bytes of messages in flight. Each of these messages is in memory twice: here and in the client."""
_MAX_MESSAGES_IN_FLIGHT = 1_000
_POLL_SECONDS = 0.5
_LOG_SECONDS = 10.0
"""Retries are logged at most once in this time."""

Value = TypeVar("Value")


class Sender(Protocol):
    """What an outbox needs of a publisher."""

    def publish_soon(self, topic: str, message: Message, done: Callable[[Exception | None], None]) -> None:
        """Publish without waiting for the answer.

        Args:
            topic: the name of the topic.
            message: the message.
            done: called once with the error or None, perhaps in another thread.
        """


class PendingMessage:
    """A message that a tracker waits for."""

    confirmed = False


class ConfirmationTracker(Generic[Value]):
    """The last of several marks between messages up to which all messages are confirmed.

    A mark is any value, such as a position of the log. It is reached when all messages that began before it are confirmed.

    Examples:
        >>> tracker = ConfirmationTracker("start")
        >>> first, second = tracker.begin(), tracker.begin()
        >>> tracker.mark("end")
        >>> tracker.confirm(second); tracker.reached
        'start'
        >>> tracker.confirm(first); tracker.reached
        'end'
    """

    def __init__(self, reached: Value) -> None:
        self.reached = reached
        self._lock = threading.Lock()
        self._waiting: deque[PendingMessage | tuple[Value]] = deque()

    def begin(self) -> PendingMessage:
        """Begin a message: no later mark is reached before the message is confirmed."""
        pending = PendingMessage()
        with self._lock:
            self._waiting.append(pending)
        return pending

    def mark(self, value: Value) -> None:
        """Set a mark. Of several marks without a message between them, only the last one counts."""
        with self._lock:
            if not self._waiting:
                self.reached = value
            elif isinstance(self._waiting[-1], tuple):
                self._waiting[-1] = (value,)
            else:
                self._waiting.append((value,))

    def confirm(self, pending: PendingMessage) -> None:
        with self._lock:
            pending.confirmed = True
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
    """Sends messages to one topic. While Pub/Sub takes none, `send` waits, so that reading stops and nothing is lost."""

    def __init__(self, sender: Sender, topic: str, stop: Stop, max_bytes: int = MAX_BYTES_IN_FLIGHT) -> None:
        """Start without messages.

        Args:
            sender: publishes.
            topic: the name of the topic.
            stop: ends all waiting. An error that does not pass is set there.
            max_bytes: of messages in flight.
        """
        self._sender = sender
        self.topic = topic
        self._stop = stop
        self._max_bytes = max_bytes
        self._room = threading.Condition()
        self._bytes = 0
        self._messages = 0
        self._logged = 0.0

    def send(self, data: bytes, confirmed: Callable[[], None]) -> None:
        """Send a message as soon as there is room for it. A message larger than the bound is sent alone.

        Args:
            data: the message.
            confirmed: called when Pub/Sub has taken the message, perhaps in another thread.

        Raises:
            Stopped: the process ends.
        """
        with self._room:
            while self._is_full(len(data)):
                self._stop.check()
                self._room.wait(_POLL_SECONDS)
            self._bytes += len(data)
            self._messages += 1
        self._publish(data, confirmed, OUTAGE_BACKOFF.pauses())

    def drain(self) -> None:
        """Wait until no message is in flight.

        Raises:
            Stopped: the process ends.
        """
        with self._room:
            while self._messages:
                self._stop.check()
                self._room.wait(_POLL_SECONDS)

    def _is_full(self, size: int) -> bool:
        return bool(self._messages) and (self._bytes + size > self._max_bytes or self._messages >= _MAX_MESSAGES_IN_FLIGHT)

    def _publish(self, data: bytes, confirmed: Callable[[], None], pauses: Iterator[float]) -> None:
        self._sender.publish_soon(self.topic, Message(data), partial(self._done, data, confirmed, pauses))

    def _done(self, data: bytes, confirmed: Callable[[], None], pauses: Iterator[float], error: Exception | None) -> None:
        if isinstance(error, TryAgain):
            self._retry(data, confirmed, pauses, error)
            return
        if error is None:
            confirmed()
        else:
            self._stop.set(error)
        with self._room:
            self._bytes -= len(data)
            self._messages -= 1
            self._room.notify_all()

    def _retry(self, data: bytes, confirmed: Callable[[], None], pauses: Iterator[float], error: TryAgain) -> None:
        """Publish a message again after a pause. The message stays in flight, and is retried without an end."""
        if self._stop.is_set():
            return
        with self._room:
            is_logged = time.monotonic() < self._logged + _LOG_SECONDS
            self._logged = self._logged if is_logged else time.monotonic()
        if not is_logged:
            log("WARNING", f"published again later: {error}", event="publish_again", reason=str(error), bytes=self._bytes)
        timer = threading.Timer(next(pauses), self._publish, (data, confirmed, pauses))
        timer.daemon = True
        timer.start()
