"""Deliver a message to a local function, as the CloudEvent that Eventarc would send."""

from __future__ import annotations

import base64
import uuid
from dataclasses import dataclass
from urllib.parse import unquote

import requests

from onefold.core.errors import InvalidInput, OnefoldError, Rejected, TryAgain
from onefold.core.network import network_reason, refusal
from onefold.core.text import cut
from onefold.ports.publisher import REASON

_TIMEOUT_SECONDS = 600.0


def local_session() -> requests.Session:
    """Return a session that ignores the proxies of the environment, which cannot reach servers of this machine."""
    session = requests.Session()
    session.trust_env = False
    return session


@dataclass(frozen=True)
class Delivered:
    """A message that a function has acknowledged: its identifier, and why it was not handled (None if it was)."""

    id: str
    reason: str | None = None


def send_event(url: str, data: bytes) -> str:
    """Deliver a message as `deliver` does, and return its identifier.

    Raises:
        Rejected: the function refuses the message, or acknowledges it and does nothing.
        OnefoldError: as `deliver`.
    """
    delivered = deliver(url, data)
    if delivered.reason:
        raise Rejected(f"{url} did not handle the message: {delivered.reason}")
    return delivered.id


def deliver(url: str, data: bytes) -> Delivered:
    """Deliver `data` as a Pub/Sub message in a CloudEvent (binary mode).

    Raises:
        InvalidInput: the URL is invalid.
        TryAgain: there is no answer, or the function answers with 5xx, which asks for another delivery.
        Rejected: the answer is another error.
    """
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(f"expected a URL, got {url}: write http://{url.rpartition('://')[2]}")
    identifier = uuid.uuid4().hex
    response = _post(url, identifier, {"message": {"data": base64.b64encode(data).decode(), "messageId": identifier}})
    if response.status_code >= 500:
        raise TryAgain(f"{url} asks for another delivery ({response.status_code}): see the log of the function")
    if not response.ok:
        shown = cut(" ".join(response.text.split()), 200)
        raise Rejected(f"{url} answered {response.status_code}: {shown}: see the log of the function")
    return Delivered(identifier, unquote(response.headers.get(REASON, "")) or None)


def _post(url: str, identifier: str, body: dict[str, dict[str, str]]) -> requests.Response:
    headers = {
        "ce-id": identifier,
        "ce-source": "//pubsub.googleapis.com/projects/local/topics/table-created",
        "ce-specversion": "1.0",
        "ce-type": "google.cloud.pubsub.topic.v1.messagePublished",
    }
    try:
        with local_session() as session:
            return session.post(url, json=body, headers=headers, timeout=_TIMEOUT_SECONDS)
    except requests.exceptions.RequestException as error:
        raise _translated(url, error) from error


def _translated(url: str, error: requests.exceptions.RequestException) -> OnefoldError:
    """Return an error with a plain text: the text of the client names its classes and pools."""
    if isinstance(error, ValueError):  # InvalidURL and MissingSchema of requests are ValueErrors
        return InvalidInput(f"expected a URL, got {url}: write it as http://localhost:8080")
    if isinstance(error, requests.exceptions.ReadTimeout):
        return TryAgain(
            f"{url} did not answer the message within {_TIMEOUT_SECONDS:.0f} seconds: see the log of the function"
        )
    if refused := refusal(url):
        return TryAgain(f"{url} does not answer ({refused}): start the function there, or correct the address")
    return TryAgain(f"{url} broke off ({network_reason(error)}): it is busy or has failed: see its log, and try again")
