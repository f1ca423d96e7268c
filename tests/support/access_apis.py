"""The two fakes of permissions behind HTTP servers, with the clients that the commands use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import requests
from google.auth.credentials import AnonymousCredentials
from support.fake_cloud_identity import FakeGroups
from support.fake_dataset_access import FakeDatasets
from support.rest import PROJECT, serving

from onefold.adapters.bigquery.dataset_access import BigQueryDatasetLists
from onefold.adapters.cloud_identity import CloudIdentityGroups
from onefold.adapters.iam_policies import IamPolicies
from onefold.adapters.rest import RestApi


@dataclass
class AccessApis:
    """Fakes that a test can exchange, behind addresses that stay."""

    bigquery_url: str = ""
    groups_url: str = ""
    datasets: FakeDatasets = field(default_factory=FakeDatasets)
    directory: FakeGroups = field(default_factory=FakeGroups)

    def reset(self) -> None:
        self.datasets, self.directory = FakeDatasets(), FakeGroups()

    @property
    def lists(self) -> BigQueryDatasetLists:
        return BigQueryDatasetLists(PROJECT, self._api)

    @property
    def groups(self) -> CloudIdentityGroups:
        return CloudIdentityGroups(AnonymousCredentials(), self.groups_url)  # type: ignore[no-untyped-call]

    @property
    def policies(self) -> IamPolicies:
        return IamPolicies(PROJECT, self._api, self._api, self.lists)

    @property
    def _api(self) -> RestApi:
        session = requests.Session()
        session.trust_env = False
        return RestApi(session, self.bigquery_url)


@pytest.fixture(scope="module")
def access_servers() -> Iterator[AccessApis]:
    apis = AccessApis()
    with (
        serving(lambda request: apis.datasets.answer(request)) as apis.bigquery_url,
        serving(lambda request: apis.directory.answer(request)) as apis.groups_url,
    ):
        yield apis


@pytest.fixture
def apis(access_servers: AccessApis) -> AccessApis:
    """Return empty fakes."""
    access_servers.reset()
    return access_servers
