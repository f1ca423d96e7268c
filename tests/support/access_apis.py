"""The two fakes of permissions behind HTTP servers, with the clients that the commands use."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests
from google.auth.credentials import AnonymousCredentials
from support.fake_cloud_identity import FakeGroups
from support.fake_dataset_access import FakeDatasets

from onefold.adapters.bigquery.dataset_access import BigQueryDatasetLists
from onefold.adapters.cloud_identity import CloudIdentityGroups
from onefold.adapters.iam_policies import IamPolicies
from onefold.adapters.rest import RestApi

PROJECT = "my-project"
Answer = Callable[[str, str, Any, Any], tuple[int, Any]]


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


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, content = answer(self.command, self.path, self.headers, json.loads(data) if data else None)
            text = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            with contextlib.suppress(BrokenPipeError):
                self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 the server calls these names

        def log_message(self, *_: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def access_servers() -> Iterator[AccessApis]:
    apis = AccessApis()
    with (
        serving(lambda *request: apis.datasets.answer(*request)) as apis.bigquery_url,
        serving(lambda *request: apis.directory.answer(*request)) as apis.groups_url,
    ):
        yield apis


@pytest.fixture
def apis(access_servers: AccessApis) -> AccessApis:
    """Return empty fakes."""
    access_servers.reset()
    return access_servers
