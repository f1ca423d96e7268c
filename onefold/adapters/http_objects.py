"""The adapter of web servers: small documents, read whole, within bounds of size and time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from onefold.core.errors import InvalidInput, Rejected, TryAgain
from onefold.core.network import network_reason
from onefold.ports.objects import StoredObject, generation_of

MAX_BODY = 64_000_000
"""Bytes, as in Cloud Storage."""
_SECONDS = 60.0
"""For a whole answer, redirects included."""
_MAX_REDIRECTS = 3
_PIECE = 65_536
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TRANSIENT = frozenset({408, 425, 429})
_SERVER_ERROR = 500


class HttpObjects:
    """The documents of web servers, by their URLs."""

    def __init__(self, api_key: str | None = None, seconds: float = _SECONDS) -> None:
        # An answer is not compressed: a small body could become a huge one.
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        self._headers |= {"apikey": api_key} if api_key else {}
        self._seconds = seconds
        self._session = requests.Session()

    def find(self, address: str) -> StoredObject | None:
        """Return a document; None where the server does not have it.

        Raises:
            InvalidInput: the address is not a URL of a web server.
            Rejected: the server refuses, the document is too large, or a redirect leads to another server.
            TryAgain: the server does not answer in time, or fails, and may answer later.
        """
        end, url = time.monotonic() + self._seconds, _checked(address)
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                with self._session.get(
                    url, headers=self._headers, timeout=self._seconds, stream=True, allow_redirects=False
                ) as answer:
                    if answer.status_code in _REDIRECTS:
                        url = _target(url, answer.headers)
                        continue
                    return _document(address, answer, end)
            except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
                raise TryAgain(f"{address}: the server does not answer: {network_reason(error)}") from error
        raise Rejected(f"{address}: more than {_MAX_REDIRECTS} redirects; name the address to which they lead")


def _checked(address: str) -> str:
    """Return a URL.

    Raises:
        InvalidInput: it is not one of a web server, or contains a user and a password, which logs would show.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        shown = address if parts.username is None else f"{parts.scheme}://...@{parts.hostname}"  # never the password
        raise InvalidInput(f"{shown!r} is not a registry: write https://HOST/PATH, and put a key in ONEFOLD_REGISTRY_APIKEY")
    return address


def _target(url: str, headers: Mapping[str, str]) -> str:
    """Return where a redirect leads.

    Raises:
        Rejected: it leads to another server, which must not see the key, or from https to http.
    """
    old, new = urlsplit(url), urlsplit(target := urljoin(url, headers.get("Location", "")))
    if new.hostname != old.hostname or (new.scheme, new.port) not in ((old.scheme, old.port), ("https", None)):
        raise Rejected(f"{url} redirects to {new.scheme}://{new.netloc}, another server: name that address if it is right")
    return target


def _document(address: str, answer: requests.Response, end: float) -> StoredObject | None:
    """Read the answer of a server.

    Args:
        address: the URL, for errors.
        answer: the answer, whose body is not read yet.
        end: when the whole answer has to be there, of the monotonic clock.

    Raises:
        Rejected: the server refuses, or the document is too large or compressed.
        TryAgain: the server fails, or sends too slowly.
    """
    status = answer.status_code
    if status == requests.codes.not_found:
        return None
    if status in _TRANSIENT or status >= _SERVER_ERROR:
        raise TryAgain(f"{address}: the server answers {status}: try again")
    if status != requests.codes.ok:
        advice = (
            "; give a key that may read: ONEFOLD_REGISTRY_APIKEY, or apikey of the resolver" if status in (401, 403) else ""
        )
        raise Rejected(f"{address}: the server answers {status}{advice}")
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise Rejected(f"{address}: the server compresses its answer, which nobody asked for: turn compression off there")
    data = bytearray()
    # `read1` returns what has come so far; `iter_content` would wait for a whole piece, however slowly it comes.
    while piece := answer.raw.read1(_PIECE):
        data += piece
        if len(data) > MAX_BODY:
            raise Rejected(
                f"{address} has more than {MAX_BODY:,} bytes, the most for a schema or an index: see that "
                "the address is right"
            )
        if time.monotonic() > end:
            raise TryAgain(f"{address}: the server sends too slowly: try again")
    return StoredObject(bytes(data), generation_of(bytes(data)))
