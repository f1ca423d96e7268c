"""The clients of the commands `access ...`, with the credentials of this process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import google.auth
from google.auth import exceptions
from google.auth.transport.requests import AuthorizedSession

from onefold.adapters.bigquery import dataset_access
from onefold.adapters.cloud_identity import CloudIdentityGroups
from onefold.adapters.gcs import GcsObjects
from onefold.adapters.google_errors import BIGQUERY, no_credentials
from onefold.adapters.iam_policies import IAM, RESOURCE_MANAGER, IamPolicies
from onefold.adapters.rest import SCOPES, RestApi
from onefold.core.errors import Rejected
from onefold.ports.objects import StoredObject


@dataclass(frozen=True)
class Addresses:
    """The addresses of the APIs; None for Google's own one."""

    bigquery: str = dataset_access.ADDRESS
    groups: str | None = None
    manager: str = RESOURCE_MANAGER
    iam: str = IAM


class AccessClients:
    """Makes each client at its first use."""

    addresses = Addresses()

    def __init__(self, project: str) -> None:
        """Prepare the clients; no request is sent.

        Args:
            project: the project of the datasets.

        Raises:
            Rejected: the environment names the emulator of BigQuery, which keeps no access lists.
        """
        if os.environ.get(BIGQUERY.emulator):
            raise Rejected(f"the emulator of BigQuery keeps no permissions: unset {BIGQUERY.emulator}")
        self.project = project
        self._objects = GcsObjects()

    @cached_property
    def lists(self) -> dataset_access.BigQueryDatasetLists:
        """The access lists of the datasets."""
        return dataset_access.BigQueryDatasetLists(self.project, self._api(self.addresses.bigquery))

    @cached_property
    def groups(self) -> CloudIdentityGroups:
        """The groups of the organization."""
        return CloudIdentityGroups(self._credentials, self.addresses.groups)

    @cached_property
    def policies(self) -> IamPolicies:
        """The policies of the project and of its tables."""
        manager, iam = self._api(self.addresses.manager), self._api(self.addresses.iam)
        return IamPolicies(self.project, manager, iam, self.lists)

    def content(self, name: str) -> bytes:
        """Return the content of a file or of an object of Cloud Storage.

        Raises:
            Rejected: the file cannot be read, or there is no such object.
        """
        if name.startswith("gs://"):
            found = self._object(name)
            if found is None:
                raise Rejected(f"{name} does not exist: `make deploy` writes it")
            return found.data
        try:
            return Path(name).read_bytes()
        except OSError as error:
            raise Rejected(f"{name} cannot be read ({error.strerror}): `make deploy` writes it") from error

    def state(self, address: str) -> bytes | None:
        """Return the content of Terraform's state; None where there is no such object."""
        found = self._object(address)
        return found.data if found else None

    def _object(self, address: str) -> StoredObject | None:
        return self._objects.find(address)

    def _api(self, address: str) -> RestApi:
        return RestApi(AuthorizedSession(self._credentials), address)  # type: ignore[no-untyped-call]

    @cached_property
    def _credentials(self) -> Any:
        try:
            credentials, _ = google.auth.default(scopes=SCOPES)
        except exceptions.DefaultCredentialsError as error:
            raise Rejected(no_credentials(error)) from error
        return credentials
