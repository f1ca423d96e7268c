"""Digests as messages of Pub/Sub."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onefold.ports.publisher import Message, Publisher


@dataclass(frozen=True)
class DigestTopic:
    """The topic of an owner.

    Attributes:
        publisher: publishes to it.
        topic: its name, `projects/P/topics/T`.
    """

    publisher: Publisher
    topic: str

    def post(self, content: Mapping[str, Any]) -> None:
        """Publish a digest in the form of JSON.

        The attribute `digest` is the same where it is published again, and `severity` is that of its worst change.

        Raises:
            OnefoldError: Pub/Sub does not take it.
        """
        attributes = {name: content[name] for name in ("digest", "severity")}
        self.publisher.publish(self.topic, [Message(json.dumps(content).encode(), attributes)])
