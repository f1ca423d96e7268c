"""Messages published over Pub/Sub's REST API: batches lack Pub/Sub's client, and a function starts faster without it."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NoReturn

from onefold.core.errors import Rejected, TopicRefused, TryAgain
from onefold.core.network import network_reason
from onefold.core.text import cut
from onefold.ports.publisher import Message

_EMULATOR = "PUBSUB_EMULATOR_HOST"
_SCOPE = "https://www.googleapis.com/auth/pubsub"
_TIMEOUT = 30
"""Seconds."""
_LOCAL_TIMEOUT = 600
"""Seconds of the stand-in, which shares a laptop with all else."""
_MOST_MESSAGES, _MOST_BYTES = 1_000, 9_000_000
"""Of a request, whose limits are 1,000 messages and 10 MB (https://cloud.google.com/pubsub/quotas, 2025-11)."""
_REFUSED = (401, 403)
_PASSING = (408, 429)
"""HTTP: request timeout, too many requests. Like every status from 500 on, they may pass."""


class RestPublisher:
    """`onefold.adapters.pubsub.Publisher` without Pub/Sub's client; google-auth and requests come with BigQuery's client."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._credentials: Any = None

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        """Publish messages, and return their identifiers. After an error, those of earlier requests have been published.

        Raises:
            Rejected: there are no credentials, or Pub/Sub rejects the request.
            TryAgain: an error that may pass. `_refuse` raises the errors that Pub/Sub's answer means.
        """
        path = topic if topic.startswith("projects/") else f"projects/{self._project}/topics/{topic}"
        return [id_ for group in _requests(messages) for id_ in self._publish(path, group)]

    def _publish(self, path: str, messages: list[dict[str, Any]]) -> list[str]:
        """Publish the messages of one request, and return their identifiers.

        Raises:
            Rejected: as `publish`.
            TryAgain: as `publish`.
        """
        import requests
        from google.auth import exceptions as auth

        from onefold.adapters.google_errors import no_credentials

        try:
            answer = self._post(path, {"messages": messages})
        except auth.DefaultCredentialsError as error:
            raise Rejected(no_credentials(error)) from error
        except (auth.GoogleAuthError, requests.RequestException) as error:
            raise TryAgain(f"topic {path}: Pub/Sub does not answer ({network_reason(error)}): try again") from error
        if not answer.ok:
            _refuse(path, answer.status_code, answer.text)
        return [str(id_) for id_ in answer.json()["messageIds"]]

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        import requests

        if host := os.environ.get(_EMULATOR):
            return requests.post(f"http://{host}/v1/{path}:publish", json=body, timeout=_LOCAL_TIMEOUT)
        import google.auth
        from google.auth.transport.requests import AuthorizedSession

        if self._credentials is None:
            self._credentials, _ = google.auth.default(scopes=[_SCOPE])
        url = f"https://pubsub.googleapis.com/v1/{path}:publish"
        return AuthorizedSession(self._credentials).post(url, json=body, timeout=_TIMEOUT)  # type: ignore[no-untyped-call]


def _requests(messages: Iterable[Message]) -> Iterator[list[dict[str, Any]]]:
    """Yield the messages in groups of which each fits one request; none for no message."""
    group: list[dict[str, Any]] = []
    size = 0
    for message in map(_as_json, messages):
        length = len(json.dumps(message))
        if group and (len(group) == _MOST_MESSAGES or size + length > _MOST_BYTES):
            yield group
            group, size = [], 0
        group.append(message)
        size += length
    if group:
        yield group


def _as_json(message: Message) -> dict[str, Any]:
    return {"data": base64.b64encode(message.data).decode(), "attributes": dict(message.attributes)}


def _said(text: str) -> str:
    """Return the message within an answer of Google's APIs, or else the answer."""
    with suppress(ValueError, KeyError, TypeError):
        text = json.loads(text)["error"]["message"]
    return cut(" ".join(str(text).split()), 400)


def _refuse(path: str, status: int, text: str) -> NoReturn:
    """Raise the error that an answer of Pub/Sub means.

    Raises:
        Rejected: Pub/Sub rejects the request.
        TopicRefused: the account has no right to publish.
        TryAgain: an error that may pass.
    """
    message = f"topic {path}: {status} {_said(text)}"
    if status in _REFUSED:
        raise TopicRefused(message)
    if status in _PASSING or status >= 500:
        raise TryAgain(message)
    raise Rejected(message)
