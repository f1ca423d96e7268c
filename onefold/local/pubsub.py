"""Topics without Pub/Sub: each message is pushed to the one function that listens, as a push subscription would.

A message counts as published when its function has taken it: so whatever is confirmed has landed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO

from onefold.core.errors import TableRefused, TryAgain
from onefold.core.shutdown import Stop
from onefold.local.processes import told_errors
from onefold.local.send_event import send_event
from onefold.ports.publisher import Message

_AT_ONCE = 2
_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between two deliveries of a message; then it is given up."""


@dataclass(frozen=True)
class Listener:
    """A function that is served on this machine, and its log."""

    url: str
    log: IO[bytes]


class LocalTopics:
    """`onefold.adapters.pubsub.Publisher`, and `onefold.capture.outbox.Sender`."""

    def __init__(self, listeners: Mapping[str, Listener], stop: Stop, taken: Callable[[str, bytes], None]) -> None:
        """Args:
        listeners: by topic.
        stop: ends the pauses between deliveries.
        taken: told of each message that was taken, perhaps by another thread.
        """
        self._listeners = listeners
        self._stop = stop
        self._taken = taken
        self._pool = ThreadPoolExecutor(_AT_ONCE, "topic")

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        return [self._push(topic, message.data) for message in messages]

    def publish_soon(self, topic: str, message: Message, done: Callable[[Exception | None], None]) -> None:
        self._pool.submit(self._push_and_tell, topic, message.data, done)

    def close(self) -> None:
        """What is not on its way yet stays where it is."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _push_and_tell(self, topic: str, data: bytes, done: Callable[[Exception | None], None]) -> None:
        try:
            self._push(topic, data)
        except Exception as error:  # noqa: BLE001 whatever it is, it is told where the outcome of all others is told
            done(error)
        else:
            done(None)

    def _push(self, topic: str, data: bytes) -> str:
        """Raises:
        TableRefused: the function does not take it, with what its log says. Each message is about one table.
        Stopped: the end came first.
        """
        for pause in _PAUSES:
            try:
                return self._deliver(topic, data)
            except TryAgain:
                self._stop.pause(pause)
        try:
            return self._deliver(topic, data)
        except TryAgain as error:
            log = told_errors(self._listeners[topic].log)
            reason = f"a message on {topic} is not taken: {error}\nThe log of its function:\n{log}"
            raise TableRefused(reason, "leave the table out with --exclude") from error

    def _deliver(self, topic: str, data: bytes) -> str:
        self._stop.check()
        identifier = send_event(self._listeners[topic].url, data)
        self._taken(topic, data)
        return identifier
