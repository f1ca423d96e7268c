"""Scheduled queries, by the REST API of the BigQuery Data Transfer Service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import requests

from onefold.adapters.google_errors import ApiFailure, Service
from onefold.adapters.rest import SCOPES, RestApi
from onefold.core.errors import AccessDenied, NotFound
from onefold.ports.query_texts import ScheduledText

ADDRESS = "https://bigquerydatatransfer.googleapis.com"
"""Google, "Method: projects.locations.transferConfigs.list", 2026-11:
https://cloud.google.com/bigquery/docs/reference/datatransfer/rest/v1/projects.locations.transferConfigs/list"""
_SERVICE = Service(
    "the Data Transfer Service", "", "", {ApiFailure.NOT_FOUND: NotFound, ApiFailure.DENIED: AccessDenied}
)  # fmt: skip
_PAGE = 500


class TransferConfigs:
    """`onefold.ports.query_texts.ScheduledQueries` over REST."""

    def __init__(self, project: str, session: requests.Session, address: str = ADDRESS) -> None:
        """Prepare the requests; none is sent.

        Args:
            project: the project.
            session: sends the requests, with credentials: an `AuthorizedSession`.
            address: the address of the API.
        """
        self._project = project
        self._api = RestApi(session, address)

    def list_scheduled(self, location: str) -> Sequence[ScheduledText]:
        with _SERVICE.translated(f"the scheduled queries of {self._project} in {location}"):
            return tuple(
                ScheduledText(config["name"], str(config["params"]["query"]))
                for config in self._configs(location.lower())
                if not config.get("disabled") and config.get("params", {}).get("query")
            )

    def _configs(self, location: str) -> Iterator[dict[str, Any]]:
        query = {"dataSourceIds": "scheduled_query", "pageSize": str(_PAGE)}
        path = f"/v1/projects/{self._project}/locations/{location}/transferConfigs"
        while True:
            page = self._api.call("GET", path, params=query)
            yield from page.get("transferConfigs", ())
            if not page.get("nextPageToken"):
                return
            query["pageToken"] = page["nextPageToken"]


def open_transfer_configs(project: str) -> TransferConfigs:
    """Return the scheduled queries of a project, by the credentials of this process.

    Raises:
        Rejected: there are no credentials.
    """
    import google.auth
    from google.auth.transport.requests import AuthorizedSession

    with _SERVICE.translated(f"project {project}"):
        credentials, _ = google.auth.default(scopes=SCOPES)
    return TransferConfigs(project, AuthorizedSession(credentials))  # type: ignore[no-untyped-call]
