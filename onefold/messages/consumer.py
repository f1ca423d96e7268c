"""How a delivered message is received, whatever it asks for: handled, to be delivered again, or put aside with a reason.

Returning means that the message is acknowledged; raising means that it is to be delivered again.
"""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from onefold.core.errors import NotFound, OnefoldError, Rejected, TryAgain
from onefold.core.log import LogSeverity, log
from onefold.messages.envelope import Delivery, read_delivery
from onefold.ports.publisher import Message, Publisher

# Pub/Sub, "Quotas and limits": 10 MB a message with its attributes, 1,024 bytes an attribute's value.
MAX_DATA = 9_000_000
MAX_ATTRIBUTE = 1_024


class CountsCalls(Protocol):
    """An adapter that counts its calls."""

    @property
    def calls(self) -> int:
        """How many calls this thread has made so far."""


class MessageLog:
    """What every log line about one message says: what is known of it by then, its calls and its milliseconds."""

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


def consume(body: bytes, handle: Handle, adapter: CountsCalls, publisher: Publisher, dead_letter_topic: str | None) -> None:
    """Handle the message in the body of one request.

    Raises:
        TryAgain: trouble that may pass.
    """
    told = MessageLog(adapter)
    delivery = Delivery(body)
    try:
        try:
            delivery = read_delivery(body)
            told.fields["message_id"] = delivery.id
            handle(delivery, told)
        except TryAgain:
            raise
        except NotFound as error:
            told.log("WARNING", f"nothing to do: {error}", "nothing_found", reason=str(error))
        except OnefoldError as error:
            _put_aside(delivery, error, told, publisher, dead_letter_topic)
    except TryAgain as error:
        told.log("WARNING", f"to be delivered again: {error}", "try_again", reason=str(error))
        raise
    except Exception as error:
        # A fault of ours: the message is kept by being delivered again.
        reason = f"{type(error).__name__}: {error}"
        told.log("CRITICAL", f"failed: {reason}", "failed", reason=reason, stack_trace=traceback.format_exc())
        raise


def _put_aside(delivery: Delivery, error: OnefoldError, told: MessageLog, publisher: Publisher, topic: str | None) -> None:
    """Log the reason, and keep the original bytes in the dead-letter topic, in parts where they are too large."""
    reason, kind = str(error), type(error).__name__
    told.log("ERROR", f"put aside: {reason}", "put_aside", reason=reason, kind=kind, bytes=len(delivery.data))
    if not topic:
        return
    try:
        publisher.publish(topic, dead_letters(delivery, {"reason": attribute_value(reason), "kind": kind}))
    except Rejected as rejected:
        # It would be refused each time, and a message that cannot be handled must not come back for ever.
        told.log("CRITICAL", f"not kept: {rejected}", "not_kept", reason=str(rejected))


def dead_letters(delivery: Delivery, attributes: Mapping[str, str]) -> list[Message]:
    """The original bytes, in parts that Pub/Sub takes; a digest of the whole tells which parts belong together."""
    data = delivery.data
    # Pub/Sub wants data or an attribute, so an empty message can be kept as well.
    parts = [data[start : start + MAX_DATA] for start in range(0, len(data), MAX_DATA)] or [b""]
    identifier = {"message_id": delivery.id} if delivery.id else {}
    common = {**attributes, **identifier, "sha256": hashlib.sha256(data).hexdigest()}
    return [Message(part, {**common, "part": f"{n}/{len(parts)}"}) for n, part in enumerate(parts, 1)]


def attribute_value(text: str) -> str:
    """As much of a text as an attribute takes."""
    return text.encode(errors="replace")[:MAX_ATTRIBUTE].decode(errors="ignore")
