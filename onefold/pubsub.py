"""The Pub/Sub adapter. The client is heavy and rarely needed, so it is imported when the first message is sent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from onefold.errors import Rejected, TopicRefused, TryAgain

_TIMEOUT = 30.0


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


class PubSub:
    """Publishes to topics of one project, or to PUBSUB_EMULATOR_HOST, as the client does by itself."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._client: Any = None

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        path = self._path(topic)
        try:
            futures = [self._publisher().publish(path, message.data, **message.attributes) for message in messages]
            return [future.result(timeout=_TIMEOUT) for future in futures]
        except Exception as error:
            told = _told(path, error)
            if told is error:
                raise
            raise told from error

    def publish_soon(self, topic: str, message: Message, done: Callable[[Exception | None], None]) -> None:
        """Publish without waiting; `done` is told once, as a rule by another thread, of the error, or None where it is
        confirmed: TryAgain and Rejected as above."""
        path = self._path(topic)
        try:
            future = self._publisher().publish(path, message.data, **message.attributes)
        except Exception as error:  # noqa: BLE001 it is told where the outcome of all others is told
            done(_told(path, error))
            return

        def ended(future: Any) -> None:
            error = future.exception()
            done(_told(path, error) if error else None)

        future.add_done_callback(ended)

    def _path(self, topic: str) -> str:
        return topic if topic.startswith("projects/") else f"projects/{self._project}/topics/{topic}"

    def _publisher(self) -> Any:
        from google.cloud import pubsub_v1

        self._client = self._client or pubsub_v1.PublisherClient()
        return self._client


def _told(path: str, error: Exception) -> Exception:
    """An error of the client as one of ours; any other one as it is."""
    from google.api_core import exceptions as api
    from google.auth import exceptions as auth

    if isinstance(error, auth.DefaultCredentialsError):
        return Rejected(f"no credentials: run `gcloud auth application-default login` ({error})")
    if isinstance(error, api.NotFound | api.InvalidArgument | ValueError):  # the client's own limits are ValueErrors
        return Rejected(f"topic {path}: {error}")
    if isinstance(error, api.DeadlineExceeded | api.RetryError | TimeoutError):
        return TryAgain(f"topic {path}: {_no_answer(type(error).__name__)}")
    if isinstance(error, api.Forbidden | api.FailedPrecondition):
        # This passes as well, right after a grant, or once the topic's key is enabled again.
        return TopicRefused(f"topic {path}: {error}")
    if isinstance(error, api.GoogleAPICallError | auth.GoogleAuthError):
        return TryAgain(f"topic {path}: {str(error) or type(error).__name__}")
    return error


def _no_answer(kind: str) -> str:
    if host := os.environ.get("PUBSUB_EMULATOR_HOST"):
        return f"no answer from {host} ({kind}): start the Pub/Sub emulator there, or unset PUBSUB_EMULATOR_HOST"
    return f"no answer from Pub/Sub in time ({kind}): see that its network is reachable from here, and try again"
