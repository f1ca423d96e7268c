"""Topics without Pub/Sub: each message is pushed to one local function, as a push subscription would.

A message counts as published when its function has accepted it. So all rows of confirmed messages have landed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import IO

from onefold.adapters.send_event import deliver
from onefold.core.errors import TableRefused, TryAgain
from onefold.core.retry import Backoff
from onefold.core.shutdown import Stop
from onefold.ports.publisher import Message
from onefold_lab.processes import last_errors

_CONCURRENT_DELIVERIES = 2
_DELIVERIES = 7
_BETWEEN_DELIVERIES = Backoff(first=0.25, longest=8.0)


@dataclass(frozen=True)
class Listener:
    """A function that is served on this machine: its URL and its log."""

    url: str
    log: IO[bytes]


class LocalTopics:
    """An implementation of `onefold.ports.publisher.Publisher` and `onefold.capture.outbox.Sender`."""

    def __init__(self, listeners: Mapping[str, Listener], stop: Stop, accepted: Callable[[str, bytes], None]) -> None:
        """Prepare the topics.

        Args:
            listeners: the function of each topic, by the name of the topic.
            stop: ends the pauses between deliveries.
            accepted: is called with topic and data of each accepted message, possibly in another thread.
        """
        self._listeners = listeners
        self._stop = stop
        self._accepted = accepted
        self._pool = ThreadPoolExecutor(_CONCURRENT_DELIVERIES, "topic")

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        return [self._push(topic, message.data) for message in messages]

    def publish_soon(self, topic: str, message: Message, done: Callable[[Exception | None], None]) -> None:
        self._pool.submit(self._push_and_report, topic, message.data, done)

    def close(self) -> None:
        """Wait for deliveries that have begun; others never begin."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _push_and_report(self, topic: str, data: bytes, done: Callable[[Exception | None], None]) -> None:
        try:
            self._push(topic, data)
        except Exception as error:  # noqa: BLE001 the caller gets any error as the outcome of its message
            done(error)
        else:
            done(None)

    def _push(self, topic: str, data: bytes) -> str:
        """Deliver a message, several times if need be, and return its identifier.

        Raises:
            TableRefused: the function does not accept the message; the text has the errors of its log. Each message is
                about one table.
            Stopped: the process ends.
        """
        for pause in islice(_BETWEEN_DELIVERIES.pauses(), _DELIVERIES - 1):
            try:
                return self._deliver(topic, data)
            except TryAgain:
                self._stop.pause(pause)
        try:
            return self._deliver(topic, data)
        except TryAgain as error:
            log = last_errors(self._listeners[topic].log)
            reason = f"the function of {topic} does not accept a message: {error}\nThe log of its function:\n{log}"
            raise TableRefused(reason, "leave the table out with --exclude") from error

    def _deliver(self, topic: str, data: bytes) -> str:
        self._stop.check()
        identifier = deliver(self._listeners[topic].url, data).id  # a refused message is a dead letter, and done
        self._accepted(topic, data)
        return identifier
