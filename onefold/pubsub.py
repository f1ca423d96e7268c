"""The Pub/Sub adapter. The client is heavy and rarely needed, so it is imported when the first message is sent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from onefold.errors import Rejected, TryAgain

_TIMEOUT = 30.0


@dataclass(frozen=True)
class Message:
    data: bytes
    attributes: Mapping[str, str] = field(default_factory=dict)


class Publisher(Protocol):
    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        """Publish and wait until all are confirmed; returns their identifiers.

        Raises:
            TryAgain: trouble that may pass.
            Rejected: the topic does not exist, or does not take such a message.
        """


class PubSub:
    """Publishes to topics of one project, or to PUBSUB_EMULATOR_HOST, as the client does by itself."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._client: Any = None

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        from google.api_core import exceptions as api
        from google.auth import exceptions as auth

        path = topic if topic.startswith("projects/") else f"projects/{self._project}/topics/{topic}"
        try:
            futures = [self._publisher().publish(path, message.data, **message.attributes) for message in messages]
            return [future.result(timeout=_TIMEOUT) for future in futures]
        except auth.DefaultCredentialsError as error:
            raise Rejected(f"no credentials: run `gcloud auth application-default login` ({error})") from error
        except (api.NotFound, api.InvalidArgument, ValueError) as error:  # the client's own limits are ValueErrors
            raise Rejected(f"topic {path}: {error}") from error
        except (api.DeadlineExceeded, api.RetryError, TimeoutError) as error:
            raise TryAgain(f"topic {path}: {_no_answer(type(error).__name__)}") from error
        except (api.GoogleAPICallError, auth.GoogleAuthError) as error:
            # A denied permission, too, passes: right after a grant.
            raise TryAgain(f"topic {path}: {str(error) or type(error).__name__}") from error

    def _publisher(self) -> Any:
        from google.cloud import pubsub_v1

        self._client = self._client or pubsub_v1.PublisherClient()
        return self._client


def _no_answer(kind: str) -> str:
    if host := os.environ.get("PUBSUB_EMULATOR_HOST"):
        return f"no answer from {host} ({kind}): start the Pub/Sub emulator there, or unset PUBSUB_EMULATOR_HOST"
    return f"no answer from Pub/Sub in time ({kind}): see that its network is reachable from here, and try again"
