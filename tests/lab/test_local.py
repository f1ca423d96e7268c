"""`onefold local start --detach`, `status`, `query`, `send` and `stop`: one stack, found by its state."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.capture import eventually
from support.cli import Run

from onefold.core.errors import NotFound
from onefold_lab.processes import free_port
from onefold_lab.state import find_stack, held, is_held, note_ready, running_stacks, stack_folder, the_stack

EMULATORS = ("BIGQUERY_EMULATOR_HOST", "DATAPROC_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the state of stacks, of nobody else, in a terminal that knows no stack."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in EMULATORS:
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "state"


@pytest.mark.usefixtures("state")
def test_without_a_stack_status_says_so_and_stop_does_nothing(run: Run) -> None:
    assert (run("local", "status").code, run("local", "status", "--json").results) == (2, [])
    assert "onefold local start --detach" in run("local", "status").out
    assert (run("local", "stop").code, run("local", "stop").out) == (0, "no stack runs\n")
    assert "start the stack with onefold local start" in run("local", "query", "SELECT 1").err


@pytest.mark.usefixtures("state")
def test_a_folder_that_a_killed_process_left_is_no_stack(state: Path) -> None:
    folder = stack_folder(9050, os.environ)
    assert state in folder.parents
    with held(folder) as is_ours:
        assert is_ours
        note_ready(folder, 9050, {"A": "b"})
        left = (folder / "stack.json").read_text()
        found = find_stack(folder)
        assert found is not None
        assert (found.port, found.pid, found.hosts) == (9050, os.getpid(), {"A": "b"})
    (folder / "stack.json").write_text(left)
    assert (find_stack(folder), running_stacks(os.environ), is_held(folder)) == (None, [], False)


@pytest.mark.usefixtures("state")
def test_of_several_stacks_one_has_to_be_named() -> None:
    first, second = (stack_folder(port, os.environ) for port in (9050, 9150))
    with held(first), held(second):
        note_ready(first, 9050, {})
        note_ready(second, 9150, {})
        with pytest.raises(NotFound, match="several stacks run, at the ports 9050, 9150"):
            the_stack(None, os.environ)
        assert the_stack(9150, os.environ).port == 9150
        with pytest.raises(NotFound, match="no stack runs at port 9250"):
            the_stack(9250, os.environ)


@pytest.mark.usefixtures("state")
def test_only_one_process_holds_the_folder_of_a_port() -> None:
    folder = stack_folder(9050, os.environ)
    with held(folder) as first, held(folder) as second:
        assert (first, second) == (True, False)
    with held(folder) as again:
        assert again


@pytest.fixture
def port(run: Run, state: Path) -> Iterator[int]:
    """The first port of a stack that runs in the background."""
    assert not state.exists()
    port = free_port(3)
    started = run("local", "start", port, "--detach", "--dataset", "shop")
    assert started.code == 0, started.err
    yield port
    run("local", "stop")


@pytest.mark.process
@pytest.mark.heavy
def test_a_stack_in_the_background_is_found_used_and_ended(run: Run, port: int, state: Path) -> None:
    (found,) = run("local", "status", "--json").results
    assert (found["port"], found["hosts"]["BIGQUERY_EMULATOR_HOST"]) == (port, f"http://127.0.0.1:{port}")
    assert str(state) in found["folder"]
    again = run("local", "start", port, "--detach", "--dataset", "shop", "--dataset", "more")
    assert (again.code, again.out.splitlines()[0]) == (0, f"export BIGQUERY_EMULATOR_HOST=http://127.0.0.1:{port}")
    assert f"Process {found['pid']} runs this stack already" in again.err
    assert run("local", "start", port).out == again.out, "a start in the foreground finds it, too"
    assert run("local", "start", port, "--json").result == found
    assert run("workload", "--out", "work", "--operations", 5, "--versions", 1, "--few-columns").code == 0
    loaded = run("local", "load", "work", "more", "account", "--json").results
    assert [entry["table"] for entry in loaded] == [
        "more.account_v_" + loaded[0]["table"].split("_v_")[1],
        "more.account_truth",
    ]
    assert run("local", "query", "CREATE TABLE more.t AS SELECT 1 AS a").code == 0
    assert run("local", "query", "SELECT * FROM more.t", "--json").result["rows"] == [{"a": 1}]
    assert run("local", "query", "SELECT 1", "--port", port).code == 0
    sent = run("local", "send", "schema-changes", '{"x": 1}')
    assert (sent.code, sent.out.startswith("published to schema-changes as ")) == (0, True)
    log = Path(found["folder"]) / "log"
    eventually(lambda: 'schema-changes: {"x": 1}' in log.read_text())
    assert "is not a topic; known are" in run("local", "send", "nowhere", "{}").err
    stopped = run("local", "stop")
    assert (stopped.code, stopped.out) == (0, f"ended the stack at port {port}\n")
    assert run("local", "status").code == 2
    eventually(lambda: process_state(found["pid"]) in ("", "Z"))  # a zombie is a process that has ended


def process_state(pid: int) -> str:
    printed = subprocess.run(["ps", "-p", str(pid), "-o", "stat="], capture_output=True, text=True, check=False).stdout
    return printed.strip()[:1]


@pytest.mark.process
@pytest.mark.usefixtures("state")
def test_a_stack_that_cannot_start_in_the_background_says_why(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_VIEW_NAME", "{x}")
    done = run("local", "start", free_port(3), "--detach")
    assert (done.code, done.out) == (1, "")
    assert "the stack does not start" in done.err
    assert "ONEFOLD_VIEW_NAME" in done.err
