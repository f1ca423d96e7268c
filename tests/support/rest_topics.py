"""A server that answers as Pub/Sub's REST API does, and keeps what is published."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from support.rest import Answer, HttpRequest, error, serving


@dataclass
class Topics:
    """Keeps what is published; `status` is its answer to everything."""

    address: str = ""
    """The value for PUBSUB_EMULATOR_HOST."""
    status: int = 200
    published: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    """The number of messages of each request."""

    def contents(self, topic: str) -> list[bytes]:
        """The data of the messages of a topic, by the last part of its name."""
        found = (message for path, message in self.published if path.endswith(f"/topics/{topic}:publish"))
        return [base64.b64decode(message["data"]) for message in found]

    def answer(self, request: HttpRequest) -> Answer:
        if self.status != 200:
            return error(self.status, "", "that\ncannot be")
        messages = request.json["messages"]
        self.requests.append(len(messages))
        self.published += [(request.path, message) for message in messages]
        return 200, {"messageIds": [str(number) for number, _ in enumerate(messages)]}


@contextmanager
def rest_topics() -> Iterator[Topics]:
    """A server on a free port of this machine."""
    topics = Topics()
    with serving(topics.answer) as url:
        topics.address = url.removeprefix("http://")
        yield topics
