"""The packaged functions, unpacked into an empty virtual environment with nothing but their own requirements."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import requests
from adapters.test_pubsub import names
from support.bigquery_emulator import EmulatedDataset
from support.in_memory import ABC
from support.registries import document
from support.sink import ADA, COLUMNS, message

from infra.package import ROOT, package
from onefold.batches.request import batch_message
from onefold.events.registry.api_keys import Access, create_key, stored_key
from onefold.messages.table_created import table_message
from onefold_lab.dataproc import dataproc_emulator
from onefold_lab.processes import free_port
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

pytestmark = pytest.mark.heavy

INSTALL_SECONDS = 600
START_SECONDS = 600.0
BATCH = {
    "ONEFOLD_BATCH_REGION": "europe-west1",
    "ONEFOLD_BATCH_SERVICE_ACCOUNT": "onefold-batch@my-project.iam.gserviceaccount.com",
    "ONEFOLD_BATCH_CODE": "gs://my-project-onefold-artifacts/spark/1",
}


def pip(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Our own pip for the other environment, which is emptier without one, and made in a tenth of the time."""
    other = str(folder / "venv" / "bin" / "python")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", other, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the source and the environment that Google's builder would create for it."""
    folder = tmp_path_factory.mktemp("package")
    with zipfile.ZipFile(package(folder / "functions.zip")) as archive:
        archive.extractall(folder / "source")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    done = pip(folder, "install", "--quiet", "--no-deps", "--no-compile", "-r", str(folder / "source" / "requirements.txt"))
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip(f"PyPI cannot be reached, or lacks what is pinned: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The lab, installed beside what Google's builder installs: the package has no line of it."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "onefold_lab").symlink_to(ROOT / "onefold_lab")
    (folder / "onefold_lab-0.dist-info").mkdir()
    named = tomllib.loads((ROOT / "onefold_lab" / "pyproject.toml").read_text())["project"]["entry-points"]["onefold.lab"]
    lines = ["[onefold.lab]", *(f"{name} = {target}" for name, target in named.items())]
    (folder / "onefold_lab-0.dist-info" / "entry_points.txt").write_text("\n".join(lines))
    return {"PYTHONPATH": str(folder)}


@contextlib.contextmanager
def served(unpacked: Path, function: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Run a function as Google starts it: in its folder, with its environment, configured by variables."""
    port = free_port()
    reported = {"FUNCTION_TARGET": function, "FUNCTION_SIGNATURE_TYPE": "http", "PORT": str(port), "NO_PROXY": "127.0.0.1"}
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [unpacked / "venv" / "bin" / "functions-framework"],
            cwd=unpacked / "source",
            env={**kept, **reported, **environ},
            stdout=log,
            stderr=log,
        )
        try:
            wait_for(process, port, log.fileno())
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            process.wait()


def wait_for(process: subprocess.Popen[bytes], port: int, log: int) -> None:
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    pytest.fail(os.pread(log, 10_000, 0).decode(errors="replace"))


def push(url: str, data: bytes) -> int:
    """Send a message as a push subscription does, and return the status of the answer."""
    body = {"message": {"data": base64.b64encode(data).decode(), "messageId": "1"}, "subscription": "push"}
    with requests.Session() as session:
        session.trust_env = False
        return session.post(url, data=json.dumps(body), timeout=300).status_code


@pytest.mark.long
def test_the_environment_has_exactly_the_pinned_packages(unpacked: Path) -> None:
    checked = pip(unpacked, "check")
    assert checked.returncode == 0, checked.stdout
    python = unpacked / "venv" / "bin" / "python"
    absent = subprocess.run([python, "-c", "import onefold"], cwd=unpacked, capture_output=True, text=True, check=False)
    assert "No module named 'onefold'" in absent.stderr


def test_refresh_view_starts_and_refreshes_a_view(unpacked: Path, lab: Mapping[str, str], dataset: EmulatedDataset) -> None:
    dataset.land("customer_v_abc", ABC, "1, 'Ada', 'Lovelace', 'Ada Lovelace'")
    environ = {"BIGQUERY_EMULATOR_HOST": dataset.host, "ONEFOLD_PROJECT": DEFAULT_PROJECT, **lab}
    with served(unpacked, "refresh_view", environ) as url:
        assert push(url, table_message(dataset.name, "customer", "abc")) == 204
    assert "customer_unified" in names(dataset)


def test_launch_batch_starts_and_creates_a_batch(unpacked: Path) -> None:
    ran: queue.Queue[object] = queue.Queue()
    with dataproc_emulator(run=lambda batch, _: ran.put(batch)) as host:
        environ = {"DATAPROC_EMULATOR_HOST": host, "ONEFOLD_PROJECT": "my-project", **BATCH}
        with served(unpacked, "launch_batch", environ) as url:
            assert push(url, batch_message("reconcile", "shop", "customer", {"keys": ["id"]})) == 204
        assert ran.get(timeout=300)


def test_schema_registry_starts_and_adds_a_schema(unpacked: Path, tmp_path: Path) -> None:
    key = create_key()
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [stored_key("ci", key, ["*"], Access.WRITE)]}))
    environ = {"ONEFOLD_REGISTRY": str(tmp_path / "registry"), "ONEFOLD_REGISTRY_KEYS": str(keys)}
    with served(unpacked, "schema_registry", environ) as url, requests.Session() as session:
        session.trust_env = False
        headers = {"apikey": key}
        assert session.post(f"{url}api/schemas", json=document(), headers=headers, timeout=300).status_code == 201
        listed = session.get(f"{url}api/schemas", headers=headers, timeout=300).json()
    assert listed == ["iglu:com.acme/ad_click/jsonschema/1-0-0"]


def test_sink_records_starts_and_appends_a_row(unpacked: Path, lab: Mapping[str, str], dataset: EmulatedDataset) -> None:
    dataset.land("customer_v_abc", COLUMNS)
    reported = {"ONEFOLD_PROJECT": DEFAULT_PROJECT, "ONEFOLD_TOPIC_DEAD_LETTER": "dead-letter", **lab}
    with served(unpacked, "sink_records", {"BIGQUERY_EMULATOR_HOST": dataset.host, **reported}) as url:
        assert push(url, message(ADA, dataset=dataset.name)) == 204
    assert dataset.run(f"SELECT id, name FROM {dataset.quoted('customer_v_abc')}") == [(7, "Ada")]
