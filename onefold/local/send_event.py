"""A test message straight to a local function, as the CloudEvent that Eventarc would make of it."""

from __future__ import annotations

import base64
import uuid

import requests

from onefold.core.errors import InvalidInput, OnefoldError, Rejected, TryAgain

_TIMEOUT = 120.0


def local_session() -> requests.Session:
    """One that goes straight to this machine: a proxy of the environment would not find it."""
    session = requests.Session()
    session.trust_env = False
    return session


def send_event(url: str, data: bytes) -> str:
    """Deliver `data` as a Pub/Sub message in a CloudEvent (binary mode) and return the message's identifier.

    Raises:
        InvalidInput: the URL is none.
        TryAgain: nobody answers, or the function asked for another delivery.
        Rejected: the function did not take it.
    """
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(f"{url} is no URL: write http://{url.rpartition('://')[2]}")
    identifier = uuid.uuid4().hex
    response = _post(url, identifier, {"message": {"data": base64.b64encode(data).decode(), "messageId": identifier}})
    if response.status_code >= 500:
        raise TryAgain(f"{url} asks to be told again ({response.status_code}); its log says why")
    if not response.ok:
        raise Rejected(f"{url} answered {response.status_code}: {response.text[:200]}")
    return identifier


def _post(url: str, identifier: str, body: dict[str, dict[str, str]]) -> requests.Response:
    headers = {
        "ce-id": identifier,
        "ce-source": "//pubsub.googleapis.com/projects/local/topics/table-created",
        "ce-specversion": "1.0",
        "ce-type": "google.cloud.pubsub.topic.v1.messagePublished",
    }
    try:
        with local_session() as session:
            return session.post(url, json=body, headers=headers, timeout=_TIMEOUT)
    except requests.exceptions.RequestException as error:
        raise _no_answer(url, error) from error


def _no_answer(url: str, error: requests.exceptions.RequestException) -> OnefoldError:
    """In our own words: those of the client name its classes and pools."""
    if isinstance(error, ValueError):  # what the client makes of an address that is none
        return InvalidInput(f"{url} is no URL: write it as http://localhost:8080")
    if isinstance(error, requests.exceptions.ReadTimeout):
        return TryAgain(f"{url} took the message and gave no answer within {_TIMEOUT:.0f} seconds")
    return TryAgain(f"{url} does not answer: start the function there, or mend the address")
