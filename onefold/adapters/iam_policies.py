"""Grants that bypass the access lists of datasets: those of the project, and those of single tables. They are only read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from onefold.adapters.bigquery.dataset_access import BigQueryDatasetLists
from onefold.adapters.google_errors import ApiFailure, Service
from onefold.adapters.rest import RestApi
from onefold.core.errors import NotFound, Rejected
from onefold.ports.access import Bypass

RESOURCE_MANAGER, IAM = "https://cloudresourcemanager.googleapis.com", "https://iam.googleapis.com"
_DATA_ROLES = frozenset(
    {
        "roles/owner",
        "roles/editor",
        *(f"roles/bigquery.{name}" for name in ("admin", "dataOwner", "dataEditor", "dataViewer", "studioAdmin")),
    }
)
"""Google's roles that read or write the data of every dataset of a project, or change who may. BigQuery, "IAM roles and
permissions", https://cloud.google.com/bigquery/docs/access-control, 2026-11."""
_DATA_PERMISSIONS = frozenset(
    {
        "bigquery.tables.getData",
        "bigquery.tables.updateData",
        "bigquery.tables.setIamPolicy",
        "bigquery.datasets.update",
        "bigquery.datasets.setIamPolicy",
    }
)
_CUSTOM = ("projects/", "organizations/")
_THREADS = 16
_SERVICE = Service("Google Cloud", "", "", {ApiFailure.NOT_FOUND: NotFound, ApiFailure.DENIED: Rejected})


class IamPolicies:
    """The policies of a project and of its tables."""

    def __init__(self, project: str, manager: RestApi, iam: RestApi, lists: BigQueryDatasetLists) -> None:
        """Prepare the requests; none is sent.

        Args:
            project: the identifier of the project.
            manager: the Resource Manager API.
            iam: the IAM API.
            lists: the datasets, with the policies of their tables.
        """
        self._project = project
        self._manager = manager
        self._iam = iam
        self._lists = lists

    def of_project(self) -> Iterator[Bypass]:
        """Yield the grants of the project that give access to the data of all datasets."""
        options = {"options": {"requestedPolicyVersion": 3}}
        with _SERVICE.translated(f"project {self._project}"):
            answer = self._manager.call("POST", f"/v3/projects/{self._project}:getIamPolicy", json=options)
        for binding in answer.get("bindings", ()):
            if self._gives_data(binding["role"]):
                yield _bypass(f"project {self._project}", binding)

    def of_tables(self, dataset: str) -> Iterator[Bypass]:
        """Yield the grants on single tables and views of a dataset. A table that was dropped meanwhile has none."""
        with ThreadPoolExecutor(_THREADS) as pool:
            names = list(self._lists.tables(dataset))
            for name, bindings in zip(names, pool.map(lambda table: self._bindings(dataset, table), names), strict=True):
                yield from (_bypass(f"table {dataset}.{name}", binding) for binding in bindings)

    def _bindings(self, dataset: str, table: str) -> list[Mapping[str, Any]]:
        try:
            return self._lists.table_bindings(dataset, table)
        except NotFound:
            return []

    def _gives_data(self, role: str) -> bool:
        if not role.startswith(_CUSTOM):
            return role in _DATA_ROLES
        with _SERVICE.translated(f"role {role}"):
            answer = self._iam.call("GET", f"/v1/{role}", params={"fields": "includedPermissions"})
        return bool(_DATA_PERMISSIONS & set(answer.get("includedPermissions", ())))


def _bypass(where: str, binding: Mapping[str, Any]) -> Bypass:
    return Bypass(where, binding["role"], tuple(sorted(binding.get("members", ()))))
