"""Requests to REST APIs of Google that no client of this project covers: in JSON, tried again where that helps."""

from __future__ import annotations

from typing import Any

import requests
from google.api_core import exceptions as api
from google.cloud.bigquery.retry import DEFAULT_RETRY

TIMEOUT = 30.0
"""Seconds, for one request and for all attempts together."""
_RETRY = DEFAULT_RETRY.with_timeout(TIMEOUT)
SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
"""All APIs of this project accept it. Google, "OAuth 2.0 Scopes for Google APIs", 2026-11."""


class RestApi:
    """One API at one address."""

    def __init__(self, session: requests.Session, address: str) -> None:
        """Prepare the requests; none is sent.

        Args:
            session: sends the requests, with credentials: an `AuthorizedSession`.
            address: the address of the API, without a slash at its end.
        """
        self._session = session
        self._address = address

    def call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """Return the answer to a request. Errors of `google.api_core` pass through, for the caller to translate.

        Args:
            method: the method of HTTP.
            path: the path below the address.
            options: more arguments of `requests`, such as `params` or `json`.
        """

        def send() -> dict[str, Any]:
            response = self._session.request(method, f"{self._address}{path}", timeout=TIMEOUT, **options)
            if not response.ok:
                raise api.from_http_response(response)  # type: ignore[no-untyped-call]
            content: dict[str, Any] = response.json()
            return content

        answer: dict[str, Any] = _RETRY(send)()
        return answer
