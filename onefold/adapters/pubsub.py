"""The Pub/Sub adapter. The client is heavy and rarely needed, so it is imported when the first message is sent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from onefold.core.errors import Rejected, TopicRefused, TryAgain
from onefold.ports.publisher import Message

_TIMEOUT = 30.0
_PUBLISH = "pubsub.topics.publish"


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
        confirmed: TryAgain and Rejected as above.
        """
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

    def topic_problems(self, topic: str, who: str) -> list[str]:
        """Return what keeps messages from being published to a topic, each with its remedy. Publishes nothing.

        Of a topic that is missing, Google may tell no more than that no permission is held (REST reference,
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
            told = _told(path, error)
            if isinstance(told, TopicRefused):
                return [f"{told}; {_grant(path, who)}"]
            if told is error:
                raise
            raise told from error
        if permissions is None:
            return [f"topic {path} does not exist; run: {_create(path)}"]
        if _PUBLISH not in permissions:
            problem = f"{who} may not publish to topic {path}; {_grant(path, who)}"
            return [f"{problem}; where there is no such topic, run: {_create(path)}"]
        return []

    def _permissions(self, path: str) -> list[str] | None:
        """Those of `pubsub.topics.publish` that are held; None where the topic is known to be missing."""
        from google.api_core import exceptions as api

        client = self._publisher()
        request = {"resource": path, "permissions": [_PUBLISH]}
        try:
            return list(client.test_iam_permissions(request=request, retry=None, timeout=_TIMEOUT).permissions)
        except api.NotFound:
            return None
        except api.MethodNotImplemented:  # an emulator: it has topics, and no rights
            return [_PUBLISH] if self._exists(path) else None

    def _exists(self, path: str) -> bool:
        from google.api_core import exceptions as api

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
