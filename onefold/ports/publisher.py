"""Messages of Pub/Sub, and the publisher of messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

REASON = "Onefold-Not-Handled"
"""The header of an answer that acknowledges a message which was not handled: the reason, percent-encoded."""


@dataclass(frozen=True)
class Message:
    """The bytes and the attributes of a message."""

    data: bytes
    attributes: Mapping[str, str] = field(default_factory=dict)


class Publisher(Protocol):
    """A client that publishes messages to topics."""

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        """Publish messages, wait until all are confirmed, and return their identifiers in the order of the messages.

        Args:
            topic: the name of a topic, or projects/PROJECT/topics/NAME.
            messages: the messages. After an error, some of them may have been published.

        Raises:
            TopicRefused: somebody has to grant a right or change the topic first.
            TryAgain: an error that may pass.
            Rejected: the topic does not exist, or does not take such a message.
        """
