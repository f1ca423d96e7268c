"""The access lists of datasets: read with all conditions, and written only where nobody else has written since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onefold.adapters.google_errors import BIGQUERY, ApiFailure, Service
from onefold.adapters.rest import RestApi
from onefold.core.errors import AccessChanged, NotFound, Rejected
from onefold.ports.access import (
    SPECIAL_GROUPS,
    AccessEntry,
    Condition,
    DatasetAccess,
    Grant,
    normal_principal,
    normal_role,
)

ADDRESS = "https://bigquery.googleapis.com"
_WITH_CONDITIONS = {"accessPolicyVersion": "3"}
"""Without it, entries with conditions come back under other roles, `..._withcond_...`, and a write would lose their
conditions. Google, REST reference of `datasets.patch`, 2026-11."""
_LOST_CONDITION = "_withcond_"
_SERVICE_ACCOUNT = ".gserviceaccount.com"
_FIELDS = {"user": "userByEmail", "serviceAccount": "userByEmail", "group": "groupByEmail", "domain": "domain"}
_SERVICE = Service(
    BIGQUERY.name,
    BIGQUERY.emulator,
    BIGQUERY.start,
    {**BIGQUERY.errors, ApiFailure.CHANGED: AccessChanged, ApiFailure.CONFLICT: AccessChanged, ApiFailure.DENIED: Rejected},
)


class BigQueryDatasetLists:
    """The access lists of the datasets of a project."""

    def __init__(self, project: str, api: RestApi) -> None:
        self._project = project
        self._api = api

    def read(self, dataset: str) -> DatasetAccess:
        """Return the access list of a dataset, with all conditions.

        Raises:
            NotFound: there is no such dataset.
            Rejected: the list cannot be read whole.
        """
        with _SERVICE.translated(f"dataset {dataset}", not_found=NotFound):
            content = self._api.call("GET", self._path(dataset), params=_WITH_CONDITIONS)
        entries = content.get("access", ())
        if any(_LOST_CONDITION in entry.get("role", "") for entry in entries):
            raise Rejected(
                f"dataset {dataset}: BigQuery returned entries without their conditions, so nothing was "
                "changed: try again, or change it by `bq update`"
            )
        return DatasetAccess(dataset, content["etag"], tuple(AccessEntry(grant_of(entry), entry) for entry in entries))

    def write(self, access: DatasetAccess, grants: frozenset[Grant]) -> None:
        """Replace the grants of a list by one request, and keep every entry that is no grant.

        Args:
            access: the list as it was read.
            grants: all grants that the list has afterwards.
        """
        kept = [entry.content for entry in access.entries if entry.grant is None or entry.grant in grants]
        added = sorted(grants - access.grants, key=lambda grant: grant.sort_key)
        self._patch(access, [*kept, *map(entry_of, added)])

    def authorize(self, access: DatasetAccess, views: str) -> None:
        """Let the views of another dataset of the project read a dataset, by one request that keeps every entry.

        Args:
            access: the list of the dataset that is read.
            views: the dataset of the views.
        """
        named = {"dataset": {"projectId": self._project, "datasetId": views}, "targetTypes": ["VIEWS"]}
        self._patch(access, [*(entry.content for entry in access.entries), {"dataset": named}])

    def _patch(self, access: DatasetAccess, entries: Sequence[Mapping[str, Any]]) -> None:
        """Replace the entries of a list, unless somebody else has written since it was read."""
        with _SERVICE.translated(f"dataset {access.dataset}", not_found=NotFound):
            self._api.call(
                "PATCH",
                self._path(access.dataset),
                params=_WITH_CONDITIONS,
                headers={"If-Match": access.etag},
                json={"access": list(entries)},
            )

    def tables(self, dataset: str) -> Iterator[str]:
        """Yield the names of all tables and views of a dataset."""
        query = {"maxResults": "1000"}
        while True:
            with _SERVICE.translated(f"dataset {dataset}", not_found=NotFound):
                page = self._api.call("GET", f"{self._path(dataset)}/tables", params=query)
            yield from (table["tableReference"]["tableId"] for table in page.get("tables", ()))
            if not page.get("nextPageToken"):
                return
            query["pageToken"] = page["nextPageToken"]

    def table_bindings(self, dataset: str, table: str) -> list[Mapping[str, Any]]:
        """Return the bindings of the policy of one table or view."""
        options = {"options": {"requestedPolicyVersion": 3}}
        with _SERVICE.translated(f"table {dataset}.{table}", not_found=NotFound):
            answer = self._api.call("POST", f"{self._path(dataset)}/tables/{table}:getIamPolicy", json=options)
        return list(answer.get("bindings", ()))

    def _path(self, dataset: str) -> str:
        return f"/bigquery/v2/projects/{self._project}/datasets/{dataset}"


def grant_of(entry: Mapping[str, Any]) -> Grant | None:
    """Return the grant of an entry of the API; None where the entry is no grant of a form that is known.

    Examples:
        >>> str(grant_of({"role": "roles/bigquery.dataViewer", "userByEmail": "Ada@example.com"}))
        'user:ada@example.com READER'
        >>> grant_of({"view": {"projectId": "p", "datasetId": "d", "tableId": "v"}}) is None
        True
    """
    role, principal = entry.get("role"), _principal(entry)
    if not role or principal is None:
        return None
    condition = entry.get("condition") or {}
    texts = {key: condition[key] for key in ("expression", "title", "description") if condition.get(key)}
    return Grant(principal, normal_role(role), Condition(**texts) if texts else None)


def entry_of(grant: Grant) -> dict[str, Any]:
    """Return the entry by which a grant is written.

    Examples:
        >>> entry_of(Grant("projectOwners", "OWNER"))
        {'role': 'OWNER', 'specialGroup': 'projectOwners'}
    """
    kind, _, name = grant.principal.partition(":")
    if grant.principal in SPECIAL_GROUPS:
        entry: dict[str, Any] = {"role": grant.role, "specialGroup": grant.principal}
    elif kind in _FIELDS:
        entry = {"role": grant.role, _FIELDS[kind]: name}
    else:
        entry = {"role": grant.role, "iamMember": grant.principal}
    if grant.condition:
        found = grant.condition
        texts = (("expression", found.expression), ("title", found.title), ("description", found.description))
        entry["condition"] = {key: text for key, text in texts if text}
    return entry


def _principal(entry: Mapping[str, Any]) -> str | None:
    if email := entry.get("userByEmail"):
        # The API has one field for people and for service accounts.
        kind = "serviceAccount" if email.lower().endswith(_SERVICE_ACCOUNT) else "user"
        return normal_principal(f"{kind}:{email}")
    for kind, name in (("group", "groupByEmail"), ("domain", "domain")):
        if entry.get(name):
            return normal_principal(f"{kind}:{entry[name]}")
    found = entry.get("specialGroup") or entry.get("iamMember")
    return normal_principal(found) if found else None
