"""Requests and responses of the registry's API as values, without a web framework."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_BODY = 1_000_000
"""Bytes. The schema of 1,000 columns, each with a description, has some 200 KB."""


@dataclass(frozen=True)
class ApiRequest:
    """A request.

    Attributes:
        method: GET, HEAD, POST or PUT, or another one that is refused.
        path: the path, with escapes resolved.
        query: the parameters.
        api_key: the header `apikey`; None where there is none.
        if_none_match: the header If-None-Match; None where there is none.
        read_body: returns the body, at most so many bytes of it.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    api_key: str | None = None
    if_none_match: str | None = None
    read_body: Callable[[int], bytes] = lambda _: b""


@dataclass(frozen=True)
class Response:
    """An answer: the status, the body as JSON, and headers."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """A request that is answered with an error.

    Attributes:
        response: the answer.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None, **details: Any) -> None:
        super().__init__(message)
        self.response = told(status, message, headers, **details)


def told(status: int, message: str, headers: Mapping[str, str] | None = None, **details: Any) -> Response:
    """Return an answer with a sentence for people, in the form of Iglu's server.

    Args:
        status: the status.
        message: the sentence.
        headers: more headers.
        details: more fields of the object.
    """
    return Response(status, _json({"message": message, **details, "status": status}), {**_TYPE, **(headers or {})})


def found(value: Any, if_none_match: str | None) -> Response:
    """Return an answer with a value and its ETag; 304 without the value where the client has the same one.

    Args:
        value: the value.
        if_none_match: the header If-None-Match of the request.
    """
    body = _json(value)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    # What a key may read is not for a cache that others share. A cache of one's own asks again each time.
    headers = {**_TYPE, "ETag": tag, "Cache-Control": "private, no-cache", "Vary": "apikey"}
    if if_none_match is not None and _matches(if_none_match, tag):
        return Response(304, b"", headers)
    return Response(200, body, headers)


_TYPE = {"Content-Type": "application/json"}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _matches(header: str, tag: str) -> bool:
    """Compare weakly (RFC 9110, 13.1.2): a proxy that compresses an answer marks its tag by W/."""
    return any(one.strip().removeprefix("W/") in (tag, "*") for one in header.split(","))
