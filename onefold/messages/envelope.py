"""The HTTP request that carries a Pub/Sub message, and the fields that all messages about tables share."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from onefold.core.errors import InvalidMessage
from onefold.core.names import problems_of_name

MESSAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


@dataclass(frozen=True)
class Delivery:
    """A delivered Pub/Sub message: its bytes, and what each delivery of the message shares.

    id: the identifier of the message; None where it is missing.
    published: when the message was published; None where it does not tell.
    """

    data: bytes
    id: str | None = None
    published: datetime | None = None


def read_delivery(body: bytes) -> Delivery:
    """Return the message in the body of a request: a CloudEvent (binary or structured) or a plain Pub/Sub push.

    Examples:
        >>> read_delivery(b'{"message": {"data": "YWJj", "messageId": "1"}}')
        Delivery(data=b'abc', id='1', published=None)

    Raises:
        InvalidMessage: the body has another form.
    """
    envelope = json_object(body, "the request's body")
    if "specversion" in envelope:
        envelope = _structured_data(envelope)
    message = envelope.get("message")
    if not isinstance(message, dict):
        raise InvalidMessage("the request holds no Pub/Sub message: a JSON object `message` is missing")
    data = message.get("data")
    if not isinstance(data, str) or not data:
        raise InvalidMessage("the Pub/Sub message has no data")
    identifier = message.get("messageId")
    is_valid = isinstance(identifier, str) and MESSAGE_ID.fullmatch(identifier)
    return Delivery(_base64(data), identifier if is_valid else None, time_of(message.get("publishTime")))


def time_of(text: object) -> datetime | None:
    """Return the time that a text says; None where it has another form than a time with a zone, or is no text.

    Examples:
        >>> time_of("2026-01-01"), time_of("2026-01-01T00:00:00Z")
        (None, datetime.datetime(2026, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))
    """
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return time if time and time.tzinfo else None


def _structured_data(envelope: dict[str, Any]) -> dict[str, Any]:
    if isinstance(envelope.get("data_base64"), str):
        return json_object(_base64(envelope["data_base64"]), "the CloudEvent's data")
    data = envelope.get("data")
    if not isinstance(data, dict):
        raise InvalidMessage("the CloudEvent's data is not a JSON object")
    return data


def table_problems(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the dataset, the table and the version that a message names.

    Examples:
        >>> list(table_problems({"dataset": "shop", "table": {}}))
        ['`table` has no `name`']
    """
    if "dataset" not in content:
        yield "the message names no `dataset`"
    else:
        yield from _name_problems("dataset", content["dataset"])
    if "table" not in content:
        return
    table = content["table"]
    if not isinstance(table, dict):
        yield "`table` is not an object with a `name`"
        return
    yield from _name_problems("table", table["name"]) if "name" in table else ["`table` has no `name`"]
    if table.get("version") is not None:
        yield from _name_problems("version", table["version"])


def _name_problems(kind: str, name: object) -> list[str]:
    # Another value than text is not shown: JSON that is nested deeply would exhaust the stack of repr.
    return problems_of_name(kind, name) if isinstance(name, str) else [f"the {kind} is not a text"]


def json_object(data: bytes, name: str) -> dict[str, Any]:
    """Return the JSON object in some bytes.

    Args:
        data: the bytes.
        name: the name of the data in an error, such as `the message`.

    Raises:
        InvalidMessage: the bytes are not a JSON object.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"{name} is not JSON, or nested too deep") from error
    if not isinstance(content, dict):
        raise InvalidMessage(f"{name} is not a JSON object")
    return content


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidMessage("the data of the message is not base64") from error
