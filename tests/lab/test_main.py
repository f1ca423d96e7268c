"""The page "On a laptop": its commands run as they are written, with the emulators that it starts."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.cli import Run
from support.page_reader import Reader
from support.pages import ROOT, blocks, clean_environ

from onefold.batches.batch import with_defaults
from onefold.batches.jobs import JOBS
from onefold.batches.request import BatchRequest
from onefold.settings.environment import load_settings

PAGE = ROOT / "docs" / "tutorials" / "first-batch.md"
OTHERS = frozenset({"pull", "check", "shred"})
"""Jobs that have a page of their own, which another test runs."""
JOB = re.compile(r"onefold batch|python spark_jobs/")
SECONDS = 400


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {**clean_environ(), "XDG_STATE_HOME": str(tmp_path / "state")}


def without_jobs(text: str) -> str:
    """Leave out the jobs of Spark, each of which would take as long as all other commands."""
    return "".join(line for line in text.splitlines(keepends=True) if not JOB.match(line))


def test_the_commands_of_the_page_run_but_for_those_of_spark(environ: dict[str, str], tmp_path: Path) -> None:
    with ExitStack() as stack:
        printed = Reader(tmp_path, environ, stack, edited=without_jobs).read(PAGE)
    assert "".join(printed).count("the same: ") == 2


def test_the_jobs_of_the_page_have_valid_arguments() -> None:
    jobs = [shlex.split(line) for _, text in blocks(PAGE, 9050) for line in text.splitlines() if JOB.match(line)]
    for words in jobs:
        batch = words[0] == "onefold"
        job = words[2] if batch else Path(words[1]).stem
        own = words[words.index("--") + 1 :] if batch else words[2:]
        request = BatchRequest(job, "shop", "account", tuple(own))
        assert batch or (ROOT / words[1]).is_file()
        request.form.parse(with_defaults(request) if batch else own)
    assert [words[:3] for words in jobs if words[0] == "onefold"] == [
        ["onefold", "batch", job] for job in JOBS if job not in OTHERS
    ]


def test_the_settings_of_the_page_are_all_that_a_batch_needs() -> None:
    exported = dict(re.findall(r"^export (ONEFOLD_\w+)=(.*)$", PAGE.read_text(), re.MULTILINE))
    load_settings(exported).batch.check_complete()


def test_a_port_in_use_is_an_error(environ: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [str(Path(sys.executable).with_name("onefold")), "local", "start", "--port", str(port)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Error: port {port} is in use: name another one, as in onefold local start --port 9150\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--port", "x"], "'x' is not a valid integer"),
        (["--port", "70000"], "expected a port from 1 to 65533, got 70000: 3 ports from it on are used"),
        (["--dataset"], "Option '--dataset' requires an argument"),
        (["--port", "9150", "--dataset", "a-b"], "dataset 'a-b'"),
    ],
)
def test_a_wrong_command_line_is_one_error(words: list[str], error: str, run: Run) -> None:
    outcome = run("local", "start", *words)
    assert (outcome.code, outcome.out, error in outcome.err) == (1, "", True), outcome.err


@pytest.mark.parametrize(("former", "command"), [("", "start"), (".query", "query"), (".load_workload", "load")])
def test_a_former_name_is_the_command_and_says_how_it_is_called_now(former: str, command: str) -> None:
    words = [sys.executable, "-m", f"onefold.local{former}", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert (done.returncode, done.stdout.split(" [")[0]) == (0, f"Usage: onefold local {command}")
    assert done.stderr == f"this is now `onefold local {command}`: the former name goes with the next release\n"
