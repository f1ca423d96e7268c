"""The Pub/Sub adapter. The client is heavy and rarely needed, so it is imported when the first message is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from google.api_core import exceptions as api

from onefold.adapters.google_errors import PUBSUB
from onefold.core.errors import Rejected, TopicRefused
from onefold.ports.publisher import Message

_TIMEOUT = 30.0
"""Seconds."""
_PUBLISH = "pubsub.topics.publish"


class PubSub:
    """A publisher to topics of one project, or to PUBSUB_EMULATOR_HOST, which the client reads by itself."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._client: Any = None

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        """Publish messages, wait until all are confirmed, and return their identifiers.

        Raises:
            TryAgain: Pub/Sub failed, and may answer later; as TopicRefused where somebody has to grant or change something.
            Rejected: the topic does not exist, or does not take such a message.
        """
        path = self._path(topic)
        try:
            futures = [self._publisher().publish(path, message.data, **message.attributes) for message in messages]
            return [future.result(timeout=_TIMEOUT) for future in futures]
        except Exception as error:
            translation = _translation(path, error)
            if translation is error:
                raise
            raise translation from error

    def publish_soon(self, topic: str, message: Message, done: Callable[[Exception | None], None]) -> None:
        """Publish a message without waiting.

        Args:
            topic: its name, or projects/PROJECT/topics/NAME.
            message: the message.
            done: is called once, as a rule by another thread, with None where the message is confirmed, and otherwise with
                the error that `publish` would raise.
        """
        path = self._path(topic)
        try:
            future = self._publisher().publish(path, message.data, **message.attributes)
        except Exception as error:  # noqa: BLE001 the outcome of every message is reported to `done`
            done(_translation(path, error))
            return

        def ended(future: Any) -> None:
            error = future.exception()
            done(_translation(path, error) if error else None)

        future.add_done_callback(ended)

    def topic_problems(self, topic: str, who: str) -> list[str]:
        """Return what keeps messages from being published to a topic, each with its remedy. Publishes nothing.

        Where a topic does not exist, Google may answer no more than that no permission is held (REST reference,
        `projects.topics.testIamPermissions`, https://cloud.google.com/pubsub/docs/reference/rest, 2025-11); to look for the
        topic takes a right that publishing does not need.

        Args:
            topic: its name, or projects/PROJECT/topics/NAME.
            who: the member of this process, for the command that grants the right.

        Raises:
            TryAgain: no answer.
            Rejected: no credentials.
        """
        path = self._path(topic)
        try:
            permissions = self._permissions(path)
        except Exception as error:
            translation = _translation(path, error)
            if isinstance(translation, TopicRefused):
                return [f"{translation}; {_grant(path, who)}"]
            if translation is error:
                raise
            raise translation from error
        if permissions is None:
            return [f"topic {path} does not exist; run: {_create(path)}"]
        if _PUBLISH not in permissions:
            problem = f"{who} may not publish to topic {path}; {_grant(path, who)}"
            return [f"{problem}; where there is no such topic, run: {_create(path)}"]
        return []

    def _permissions(self, path: str) -> list[str] | None:
        """Return `pubsub.topics.publish` where this process has it; None where the topic is known not to exist."""
        client = self._publisher()
        request = {"resource": path, "permissions": [_PUBLISH]}
        try:
            return list(client.test_iam_permissions(request=request, retry=None, timeout=_TIMEOUT).permissions)
        except api.NotFound:
            return None
        except api.MethodNotImplemented:  # an emulator: it has topics, and no rights
            return [_PUBLISH] if self._exists(path) else None

    def _exists(self, path: str) -> bool:
        try:
            self._publisher().get_topic(topic=path, retry=None, timeout=_TIMEOUT)
        except api.NotFound:
            return False
        return True

    def _path(self, topic: str) -> str:
        return topic if topic.startswith("projects/") else f"projects/{self._project}/topics/{topic}"

    def _publisher(self) -> Any:
        from google.cloud import pubsub_v1

        self._client = self._client or pubsub_v1.PublisherClient()
        return self._client


def _grant(path: str, who: str) -> str:
    _, project, _, name = path.split("/")
    command = f"gcloud pubsub topics add-iam-policy-binding {name} --project={project}"
    return f"run: {command} --member={who} --role=roles/pubsub.publisher"


def _create(path: str) -> str:
    _, project, _, name = path.split("/")
    return f"gcloud pubsub topics create {name} --project={project}"


def _translation(path: str, error: Exception) -> Exception:
    """Return the error of Onefold for an error of the client; any other error as it is."""
    subject = f"topic {path}"
    if translation := PUBSUB.translate(subject, error):
        return translation
    return Rejected(f"{subject}: {error}") if isinstance(error, ValueError) else error  # the client's own limits
