"""moto's server as Amazon's S3, with the environment by which the real client finds it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
from moto.server import ThreadedMotoServer

_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture
def s3_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    requests.post(f"{url}/moto-api/reset", timeout=300)  # buckets outlive the server within one process
    for name, value in {**_CREDENTIALS, "AWS_ENDPOINT_URL": url}.items():
        monkeypatch.setenv(name, value)
    yield url
    server.stop()
