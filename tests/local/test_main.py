"""The page "On a laptop": its commands run as they are written, with the emulators that it starts."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onefold.batches.batch import with_defaults
from onefold.batches.jobs import JOBS
from onefold.batches.request import BatchRequest
from onefold.local.processes import free_port
from onefold.settings.environment import load_settings

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorials" / "first-batch.md").read_text()
BLOCK = re.compile(r"^```(sh|sh server)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
JOB = re.compile(r"onefold batch|python spark_jobs/")
SECONDS = 400


def commands(kind: str, port: int) -> str:
    """Return the commands of the page with ports that are not in use."""
    text = "".join(text for found, text in BLOCK.findall(PAGE) if found == kind)
    text = text.replace("-m onefold.local\n", f"-m onefold.local {port}\n")
    return text.replace("9050", str(port)).replace("9051", str(port + 1))


@pytest.fixture
def environ() -> dict[str, str]:
    ours = ("ONEFOLD_", "BIGQUERY_EMULATOR_HOST", "DATAPROC_EMULATOR_HOST")
    return {**{name: value for name, value in os.environ.items() if not name.startswith(ours)}, "PATH": PATH}


@pytest.fixture
def port(environ: dict[str, str], tmp_path: Path) -> Iterator[int]:
    """Of BigQuery; both answer."""
    port = free_port()
    command = commands("sh server", port)
    process = subprocess.Popen(
        ["bash", "-c", f"exec {command}"], cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        printed = [process.stdout.readline() for _ in range(2)]
        assert "".join(printed) in commands("sh", port)
        yield port
    finally:
        process.terminate()
        process.communicate()


def test_the_commands_of_the_page_run(port: int, environ: dict[str, str], tmp_path: Path) -> None:
    """But for those of Spark, each of which would take as long as all others; see below."""
    script = "".join(line for line in commands("sh", port).splitlines(keepends=True) if not JOB.match(line))
    done = subprocess.run(
        ["bash", "-euc", script], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.count("the same: ") == 2


def test_the_jobs_of_the_page_have_valid_arguments() -> None:
    jobs = [shlex.split(line) for line in commands("sh", 9050).splitlines() if JOB.match(line)]
    for words in jobs:
        batch = words[0] == "onefold"
        job = words[2] if batch else Path(words[1]).stem
        own = words[words.index("--") + 1 :] if batch else words[2:]
        request = BatchRequest(job, "shop", "account", tuple(own))
        assert batch or (ROOT / words[1]).is_file()
        request.form.parse(with_defaults(request) if batch else own)
    assert [words[:3] for words in jobs if words[0] == "onefold"] == [["onefold", "batch", job] for job in JOBS]


def test_the_settings_of_the_page_are_all_that_a_batch_needs() -> None:
    exported = dict(re.findall(r"^export (ONEFOLD_\w+)=(.*)$", PAGE, re.MULTILINE))
    load_settings(exported).batch.check_complete()


def test_a_port_in_use_is_an_error(environ: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "onefold.local", str(port)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"port {port} is in use: name another one, as in python -m onefold.local 9150\n"
