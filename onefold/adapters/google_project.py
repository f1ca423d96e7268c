"""A project of Google Cloud, for checks: its enabled APIs, its service accounts, and the rights of each. It is only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests
from google.api_core import exceptions as api

from onefold.adapters.google_errors import ApiFailure, Service
from onefold.core.errors import NotFound, Rejected

_TIMEOUT = 30.0
"""Seconds."""
_PAGE = 200
ADDRESSES: Mapping[str, str] = {
    "serviceusage": "https://serviceusage.googleapis.com",
    "iam": "https://iam.googleapis.com",
    "policytroubleshooter": "https://policytroubleshooter.googleapis.com",
}
"""The addresses of the APIs. Google, REST references of `services.list`, `projects.serviceAccounts.get` and
`iam.troubleshoot` (v1): https://cloud.google.com/service-usage/docs/reference/rest, https://cloud.google.com/iam/docs/reference/rest,
https://cloud.google.com/policy-intelligence/docs/reference/policytroubleshooter/rest, 2026-11."""
_SERVICE = Service("Google Cloud", "", "", {ApiFailure.NOT_FOUND: NotFound, ApiFailure.DENIED: Rejected})


class GoogleProject:
    """Reads what there is in a project, and which account may do what."""

    def __init__(self, project: str, session: requests.Session, addresses: Mapping[str, str] = ADDRESSES) -> None:
        """Prepare the requests; none is sent.

        Args:
            project: the identifier of the project.
            session: sends the requests, with credentials: an `AuthorizedSession`.
            addresses: of the APIs, by their short names.
        """
        self.project = project
        self._session = session
        self._addresses = addresses

    def enabled_apis(self) -> frozenset[str]:
        """Return the names of all enabled APIs, such as `bigquery.googleapis.com`.

        Raises:
            OnefoldError: no answer, or a refusal.
        """
        found: set[str] = set()
        query = {"filter": "state:ENABLED", "pageSize": str(_PAGE), "fields": "services/config/name,nextPageToken"}
        while True:
            page = self._call("serviceusage", "GET", f"/v1/projects/{self.project}/services", params=query)
            found |= {service["config"]["name"] for service in page.get("services", ())}
            if not page.get("nextPageToken"):
                return frozenset(found)
            query["pageToken"] = page["nextPageToken"]

    def has_account(self, email: str) -> bool:
        """Return whether a service account of the project exists.

        Raises:
            OnefoldError: no answer, or a refusal.
        """
        try:
            self._call("iam", "GET", f"/v1/projects/{self.project}/serviceAccounts/{email}")
        except NotFound:
            return False
        return True

    def access(self, email: str, permission: str, resource: str) -> str:
        """Return `GRANTED`, `NOT_GRANTED`, or why the answer is not known (`UNKNOWN_...`).

        Args:
            email: the account.
            permission: such as `bigquery.jobs.create`.
            resource: the full name, such as `//cloudresourcemanager.googleapis.com/projects/my-project`.

        Raises:
            OnefoldError: no answer, or a refusal.
        """
        asked = {"principal": email, "fullResourceName": resource, "permission": permission}
        answer = self._call("policytroubleshooter", "POST", "/v1/iam:troubleshoot", json={"accessTuple": asked})
        return str(answer.get("access", "UNKNOWN"))

    def _call(self, name: str, method: str, path: str, **options: Any) -> dict[str, Any]:
        with _SERVICE.translated(f"{name}.googleapis.com"):
            response = self._session.request(method, f"{self._addresses[name]}{path}", timeout=_TIMEOUT, **options)
            if not response.ok:
                raise api.from_http_response(response)  # type: ignore[no-untyped-call]
        content: dict[str, Any] = response.json()
        return content
