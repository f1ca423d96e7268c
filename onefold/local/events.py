"""A test message straight to a local function, as the CloudEvent that Eventarc would make of it."""

from __future__ import annotations

import base64
import uuid

import requests

from onefold.errors import Rejected, TryAgain

_TIMEOUT = 120.0


def send_event(url: str, data: bytes) -> str:
    """Deliver `data` as a Pub/Sub message in a CloudEvent (binary mode) and return the message's identifier.

    Raises:
        TryAgain: nobody answers, or the function asked for another delivery.
        Rejected: the function did not take it.
    """
    identifier = uuid.uuid4().hex
    headers = {
        "ce-id": identifier,
        "ce-source": "//pubsub.googleapis.com/projects/local/topics/table-created",
        "ce-specversion": "1.0",
        "ce-type": "google.cloud.pubsub.topic.v1.messagePublished",
    }
    body = {"message": {"data": base64.b64encode(data).decode(), "messageId": identifier}}
    try:
        response = requests.post(url, json=body, headers=headers, timeout=_TIMEOUT)
    except requests.exceptions.RequestException as error:
        raise TryAgain(f"{url} does not answer: {error}") from error
    if response.status_code >= 500:
        raise TryAgain(f"{url} asks to be told again ({response.status_code}); its log says why")
    if not response.ok:
        raise Rejected(f"{url} answered {response.status_code}: {response.text[:200]}")
    return identifier
