"""`onefold local start --detach`, `status`, `query`, `send` and `stop`: one stack, found by its state."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.capture import eventually
from support.cli import Run
from support.pages import background, clean_environ

from onefold.cli.examples import EXAMPLES
from onefold.core.errors import NotFound
from onefold_lab.processes import free_port
from onefold_lab.state import find_stack, held, is_held, note_ready, state_folder, the_stack

EMULATORS = ("BIGQUERY_EMULATOR_HOST", "DATAPROC_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stack, of nobody else, in a terminal that knows no stack."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in EMULATORS:  # commands set them: this way they are as before after the test
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return state_folder(os.environ)


@pytest.mark.usefixtures("state")
def test_without_a_stack_status_says_so_and_stop_does_nothing(run: Run) -> None:
    assert (run("local", "status").code, run("local", "status", "--json").results) == (2, [])
    status = run("local", "status")
    assert (status.out, "onefold local start --detach" in status.err) == ("", True)  # the shell's eval runs what is printed
    assert (run("local", "stop").code, run("local", "stop").out) == (0, "no stack runs\n")
    assert "start one with `onefold local start`" in run("local", "query", "SELECT 1").err


def test_what_a_killed_process_left_is_no_stack(state: Path, tmp_path: Path) -> None:
    assert tmp_path in state.parents
    with held(state) as is_ours:
        assert is_ours
        note_ready(state, 9050, {"A": "b"})
        left = (state / "stack.json").read_text()
        found = find_stack(state)
        assert found
        assert (found.port, found.pid, found.hosts) == (9050, os.getpid(), {"A": "b"})
    (state / "stack.json").write_text(left)
    assert (find_stack(state), is_held(state)) == (None, False)
    with held(state):  # by the next process, which does not answer yet
        assert find_stack(state) is None
    (state / "stack.json").write_text(left)
    with pytest.raises(NotFound, match="no stack runs"):
        the_stack(os.environ)


def test_a_stack_whose_server_has_ended_is_an_error_that_says_how_to_end_it(run: Run, state: Path) -> None:
    with held(state):
        note_ready(state, 9050, {"BIGQUERY_EMULATOR_HOST": f"http://127.0.0.1:{free_port()}"})
        for words in (["status"], ["start", "--detach"], ["query", "SELECT 1"]):
            done = run("local", *words)
            assert (done.code, done.out) == (1, "")
            assert "no server answers at BIGQUERY_EMULATOR_HOST of the stack of process" in done.err
            assert "end it with `onefold local stop`, and start another" in done.err


def test_only_one_process_holds_the_folder(state: Path) -> None:
    with held(state) as first, held(state) as second:
        assert (first, second) == (True, False)
    with held(state) as again:
        assert again


@pytest.mark.usefixtures("state")
def test_the_former_place_of_the_port_works_and_says_the_present_one(run: Run) -> None:
    done = run("local", "start", 70000)
    assert done.err.splitlines() == [
        "the port is now --port 70000; the next release refuses it without --port",
        "Error: expected a port from 1 to 65533, got 70000: 3 ports from it on are used",
    ]
    assert "PORT" not in run("local", "start", "--help").out


@pytest.fixture
def port(run: Run, state: Path) -> Iterator[int]:
    """The first port of a stack that runs in the background, started as an example says."""
    assert not state.exists()
    port = free_port(3)
    _, example = EXAMPLES["local start"]
    started = run(*shlex.split(example.replace("9150", str(port)))[1:])
    assert started.code == 0, started.err
    yield port
    run("local", "stop")


@pytest.mark.process
@pytest.mark.heavy
def test_a_stack_in_the_background_is_found_used_and_ended(
    run: Run, port: int, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = run("local", "status", "--json").results
    assert (found["port"], found["hosts"]["BIGQUERY_EMULATOR_HOST"]) == (port, f"http://127.0.0.1:{port}")
    assert found["folder"] == str(state)
    again = run("local", "start", "--detach", "--dataset", "shop")
    assert (again.code, again.out.splitlines()[0]) == (0, f"export BIGQUERY_EMULATOR_HOST=http://127.0.0.1:{port}")
    assert f"Process {found['pid']} runs the stack already: " in again.err
    other = run("local", "start", "--port", 9150, "--detach", "--json")
    assert (other.result, f"already at port {port}, not 9150: " in other.err) == (found, True)
    assert run("workload", "--out", "work").code == 0
    for command in ("start", "status", "query", "send", "load"):
        check_examples(run, command)
    assert run("local", "query", "SELECT * FROM shop.customer_v_abc", "--json").result["rows"] == [{"id": 1}]
    loaded = run("local", "query", "SELECT a_geography, a_interval FROM more.account_truth", "--json").result
    assert [column["type"] for column in loaded["columns"]] == ["ARRAY<GEOGRAPHY>", "ARRAY<INTERVAL>"]
    log = state / "log"
    eventually(lambda: "schema-changes: {}" in log.read_text())
    assert "is not a topic; known are" in run("local", "send", "nowhere", "{}").err
    with monkeypatch.context() as exported:
        for name, value in found["hosts"].items():
            exported.setenv(name, value)
        assert "run: onefold local query --allow-write" in run("plan", "nowhere.customer").err
    stopped = run("local", "stop")
    assert (stopped.code, stopped.out) == (0, f"ended the stack at port {port}\n")
    check_examples(run, "stop")
    assert run("local", "status").code == 2
    eventually(lambda: process_state(found["pid"]) in ("", "Z"))  # a zombie is a process that has ended


def check_examples(run: Run, command: str) -> None:
    """Run the examples of a command of the stack, in the foreground: where one runs, a start only finds it."""
    for example in EXAMPLES[f"local {command}"]:
        done = run(*(word for word in shlex.split(example)[1:] if word != "--detach"))
        assert done.code == 0, (example, done.err)


def process_state(pid: int) -> str:
    printed = subprocess.run(["ps", "-p", str(pid), "-o", "stat="], capture_output=True, text=True, check=False).stdout
    return printed.strip()[:1]


SERVED = """
import signal, sys
from onefold_lab.processes import bigquery_emulator
with bigquery_emulator(port=int(sys.argv[1])) as host:
    print("served at", host, flush=True)
    signal.pause()
"""


@pytest.mark.process
def test_the_servers_of_a_process_end_with_it_however_it_ends(tmp_path: Path) -> None:
    output, port = tmp_path / "output", free_port()
    (tmp_path / "serve.py").write_text(SERVED)
    with background(f"{sys.executable} serve.py {port}", tmp_path, clean_environ(), output) as process:
        eventually(lambda: "served at" in output.read_text())
        assert answers(port)
        process.send_signal(signal.SIGKILL)
        process.wait()
        eventually(lambda: not answers(port))


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.process
@pytest.mark.usefixtures("state")
def test_a_stack_that_cannot_start_in_the_background_says_why(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_VIEW_NAME", "{x}")
    done = run("local", "start", "--port", free_port(3), "--detach")
    assert (done.code, done.out) == (1, "")
    assert "the stack does not start" in done.err
    assert "ONEFOLD_VIEW_NAME" in done.err
