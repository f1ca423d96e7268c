"""The stack that runs on this machine: one for each user, whose state is one folder.

The process that runs it holds a lock in that folder for as long as it lives, however it ends. So what a killed process left
in the folder is no stack.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from onefold.core.errors import NotFound, Rejected
from onefold.core.text import shown_list

LOG = "log"
"""The output of a stack that runs in the background."""
_LOCK, _STATE = "lock", "stack.json"
_START_SECONDS, _STOP_SECONDS = 300.0, 60.0
_PAUSE = 0.1
_CONNECT_SECONDS = 5.0


@dataclass(frozen=True)
class RunningStack:
    """A stack that runs and answers.

    Attributes:
        port: the first of its ports.
        pid: its process.
        hosts: the variables by which commands reach it.
        folder: its state, with the logs of its functions.
    """

    port: int
    pid: int
    hosts: Mapping[str, str]
    folder: Path

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of `--json`."""
        return {"port": self.port, "pid": self.pid, "hosts": dict(self.hosts), "folder": str(self.folder)}


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the stack, where the XDG Base Directory Specification puts state.

    Args:
        environ: the environment variables.
    """
    home = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "onefold" / "local"


@contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Hold the folder of the stack. Yields False where another process holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("a") as file:
        is_ours = _locked(file)
        if is_ours:
            (folder / _STATE).unlink(missing_ok=True)  # of a process that was killed
        try:
            yield is_ours
        finally:
            if is_ours:
                (folder / _STATE).unlink(missing_ok=True)


def note_ready(folder: Path, port: int, hosts: Mapping[str, str]) -> None:
    """Say that the stack of this process answers. The file appears at once with all that it says.

    Args:
        folder: of the stack, which this process holds.
        port: its first port.
        hosts: the variables by which commands reach it.
    """
    made = folder / f"{_STATE}.new"
    made.write_text(json.dumps({"port": port, "pid": os.getpid(), "hosts": dict(hosts)}))
    made.replace(folder / _STATE)


def find_stack(folder: Path) -> RunningStack | None:
    """Return the stack of a folder; None where none runs, or it does not answer yet."""
    try:
        found = json.loads((folder / _STATE).read_text())
    except (FileNotFoundError, ValueError):
        return None
    return RunningStack(found["port"], found["pid"], found["hosts"], folder) if is_held(folder) else None


def the_stack(environ: Mapping[str, str]) -> RunningStack:
    """Return the stack of this user.

    Args:
        environ: the environment variables.

    Raises:
        NotFound: none runs.
        Rejected: a server of it has ended.
    """
    if found := find_stack(state_folder(environ)):
        check_answers(found)
        return found
    raise NotFound("no stack runs: start one with `onefold local start`, in the background with --detach")


def check_answers(stack: RunningStack) -> None:
    """Check that the servers of a stack listen: one of them may have ended while the process goes on.

    Raises:
        Rejected: one does not.
    """
    ended = [name for name, host in stack.hosts.items() if not _listens(host)]
    if ended:
        raise Rejected(
            f"no server answers at {shown_list(ended)} of the stack of process {stack.pid}: end it with "
            "`onefold local stop`, and start another"
        )


def _listens(host: str) -> bool:
    name, _, port = host.rpartition("//")[2].partition(":")
    try:
        with socket.create_connection((name, int(port)), _CONNECT_SECONDS):
            return True
    except OSError:
        return False


def wait_until_ready(folder: Path) -> RunningStack | None:
    """Wait until the stack of a folder answers; None where the process that holds the folder ends before.

    Raises:
        Rejected: it does not answer within five minutes.
    """
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if found := find_stack(folder):
            return found
        if not is_held(folder):
            return find_stack(folder)
        time.sleep(_PAUSE)
    raise Rejected(f"the stack of {folder} does not answer: its output is in {folder / LOG}")


def end_stack(stack: RunningStack) -> None:
    """End a stack, and wait until it has ended.

    Raises:
        Rejected: it does not end within a minute.
    """
    os.kill(stack.pid, signal.SIGTERM)
    end = time.monotonic() + _STOP_SECONDS
    while is_held(stack.folder):
        if time.monotonic() > end:
            raise Rejected(f"process {stack.pid} does not end: end it with `kill -9 {stack.pid}`")
        time.sleep(_PAUSE)


def is_held(folder: Path) -> bool:
    """Return whether a process holds the folder of the stack."""
    try:
        with (folder / _LOCK).open("a") as file:
            return not _locked(file)
    except FileNotFoundError:
        return False


def _locked(file: IO[str]) -> bool:
    """Take the lock of a file, which ends with the file; another process that only looks has it for a moment."""
    for _ in range(3):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE / 4)
        else:
            return True
    return False
