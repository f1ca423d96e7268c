"""Messages, and what publishes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Message:
    data: bytes
    attributes: Mapping[str, str] = field(default_factory=dict)


class Publisher(Protocol):
    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        """Publish and wait until all are confirmed; returns their identifiers.

        Raises:
            TryAgain: trouble that may pass; as TopicRefused where somebody has to grant or change something first.
            Rejected: the topic does not exist, or does not take such a message.
        """
