"""The consumer of every kind of message: a message is handled, delivered again, or dead-lettered with a reason.

`consume` returns to acknowledge a message, and raises to have it delivered again.
"""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from onefold.core.errors import NotFound, OnefoldError, Rejected, TryAgain
from onefold.core.log import LogSeverity, log
from onefold.messages.envelope import Delivery, read_delivery
from onefold.ports.publisher import Message, Publisher

# Pub/Sub, "Quotas and limits", https://cloud.google.com/pubsub/quotas, 2026-11: 10 MB for a message with its attributes,
# 1,024 bytes for the value of an attribute.
MAX_DATA = 9_000_000
MAX_ATTRIBUTE = 1_024


class CountsCalls(Protocol):
    """An adapter that counts its calls."""

    @property
    def calls(self) -> int:
        """The number of calls that this thread has made so far."""


class MessageLog:
    """The log of one message: each line has the fields known by then, the calls and the milliseconds spent so far.

    Attributes:
        fields: fields of all later lines, which handlers add to.
    """

    def __init__(self, adapter: CountsCalls) -> None:
        self.fields: dict[str, Any] = {}
        self._adapter = adapter
        self._calls = adapter.calls
        self._started = time.monotonic()

    def log(self, severity: LogSeverity, message: str, event: str, **fields: Any) -> None:
        spent = {
            "calls": self._adapter.calls - self._calls,
            "milliseconds": round((time.monotonic() - self._started) * 1000),
        }
        log(severity, message, event=event, **{**self.fields, **fields, **spent})


Handle = Callable[[Delivery, MessageLog], None]


@dataclass(frozen=True)
class Topics:
    """Topics to which parts of a message are published; None where there is none.

    Attributes:
        dead_letter: for parts that can never be handled.
        again: for parts that are to be tried again: the topic of the message.
    """

    dead_letter: str | None
    again: str | None


def consume(
    body: bytes, handle: Handle, adapter: CountsCalls, publisher: Publisher, dead_letter_topic: str | None
) -> str | None:
    """Handle the message in the body of one request: returning acknowledges it, raising has it delivered again.

    A message that can never be handled is logged, and published to the dead-letter topic.

    Args:
        body: the body of the HTTP request.
        handle: handles a message, and adds fields to its log.
        adapter: counts the calls to the outside system.
        publisher: publishes dead letters.
        dead_letter_topic: the topic of dead letters; None to log their reasons only.

    Returns:
        Why nothing was done, for a message that is acknowledged all the same; None for a message that was handled.

    Raises:
        TryAgain: an error that may pass. Any other exception of the handler is a bug and passes through, too.
    """
    message_log = MessageLog(adapter)
    delivery = Delivery(body)
    try:
        try:
            delivery = read_delivery(body)
            message_log.fields["message_id"] = delivery.id
            handle(delivery, message_log)
        except TryAgain:
            raise
        except OnefoldError as error:
            return _not_handled(delivery, error, message_log, publisher, dead_letter_topic)
    except Exception as error:
        _log_again(error, message_log)
        raise
    return None


def consume_parts(
    parts: Sequence[Delivery], handle: Handle, adapter: CountsCalls, publisher: Publisher, topics: Topics
) -> None:
    """Handle each part of a message as a message of its own: one that fails does not stop the others.

    A part that is to be tried again is published as a message of its own.

    Args:
        parts: the parts, each in the form of a message.
        handle: handles a message, and adds fields to its log.
        adapter: counts the calls to the outside system.
        publisher: publishes dead letters, and parts that are to be tried again.
        topics: where they are published.

    Raises:
        TryAgain: all parts are to be tried again, or they cannot be published: the whole message is delivered again.
    """
    again: list[Message] = []
    for part in parts:
        message_log = MessageLog(adapter)
        message_log.fields["message_id"] = part.id
        try:
            _handle_part(part, handle, message_log, publisher, topics.dead_letter)
        except Exception as error:  # noqa: BLE001 an error that may pass, or a bug, keeps its part only
            _log_again(error, message_log)
            again.append(Message(part.data))
    _publish_again(again, len(parts), publisher, topics.again)


def _handle_part(part: Delivery, handle: Handle, message_log: MessageLog, publisher: Publisher, topic: str | None) -> None:
    """Handle a part, or dead-letter it.

    Raises:
        TryAgain: an error that may pass, also of the topic of dead letters.
    """
    try:
        handle(part, message_log)
    except TryAgain:
        raise
    except OnefoldError as error:
        _not_handled(part, error, message_log, publisher, topic)


def _publish_again(messages: list[Message], parts: int, publisher: Publisher, topic: str | None) -> None:
    if not messages:
        return
    if len(messages) == parts or not topic:
        raise TryAgain(f"{len(messages)} of {parts} parts of the message are to be tried again")
    try:
        publisher.publish(topic, messages)
    except Rejected as error:
        raise TryAgain(f"parts that are to be tried again could not be published to {topic}: {error}") from error


def _log_again(error: Exception, message_log: MessageLog) -> None:
    if isinstance(error, TryAgain):
        message_log.log("WARNING", f"to be delivered again: {error}", "try_again", reason=str(error))
    else:
        # A bug in Onefold: another delivery keeps the message until the bug is fixed.
        reason, trace = f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error))
        message_log.log("CRITICAL", f"failed: {reason}", "failed", reason=reason, stack_trace=trace)


def _not_handled(
    delivery: Delivery, error: OnefoldError, message_log: MessageLog, publisher: Publisher, topic: str | None
) -> str:
    """Log and dead-letter a message that is acknowledged though it was not handled, and return the reason."""
    if isinstance(error, NotFound):
        message_log.log("WARNING", f"nothing to do: {error}", "nothing_found", reason=str(error))
        return f"nothing to do: {error}"
    _dead_letter(delivery, error, message_log, publisher, topic)
    return f"refused: {error}"


def _dead_letter(
    delivery: Delivery, error: OnefoldError, message_log: MessageLog, publisher: Publisher, topic: str | None
) -> None:
    """Log the reason, and publish the original bytes to the dead-letter topic, in parts where they are too large."""
    reason, kind = str(error), type(error).__name__
    message_log.log("ERROR", f"dead-lettered: {reason}", "put_aside", reason=reason, kind=kind, bytes=len(delivery.data))
    if not topic:
        return
    try:
        publisher.publish(topic, dead_letters(delivery, {"reason": attribute_value(reason), "kind": kind}))
    except Rejected as rejected:
        # The topic would refuse each time, and a message that cannot be handled must not be delivered for ever.
        message_log.log("CRITICAL", f"not published as a dead letter: {rejected}", "not_kept", reason=str(rejected))


def dead_letters(delivery: Delivery, attributes: Mapping[str, str]) -> list[Message]:
    """Return the original bytes in parts that Pub/Sub accepts; parts of one message have the same digest of the whole."""
    data = delivery.data
    # Pub/Sub requires data or an attribute, so an empty message can be published as well.
    parts = [data[start : start + MAX_DATA] for start in range(0, len(data), MAX_DATA)] or [b""]
    identifier = {"message_id": delivery.id} if delivery.id else {}
    common = {**attributes, **identifier, "sha256": hashlib.sha256(data).hexdigest()}
    return [Message(part, {**common, "part": f"{n}/{len(parts)}"}) for n, part in enumerate(parts, 1)]


def attribute_value(text: str) -> str:
    """Return as much of a text as the value of an attribute may hold.

    Examples:
        >>> len(attribute_value("é" * 1_000))
        512
    """
    return text.encode(errors="replace")[:MAX_ATTRIBUTE].decode(errors="ignore")
