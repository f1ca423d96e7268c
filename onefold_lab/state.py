"""The stacks that run on this machine: a folder for each, named by its first port, in one folder of the user.

A process that runs a stack holds a lock in its folder for as long as it lives, however it ends. So a folder that a killed
process left behind is none of a running stack.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from onefold.core.errors import NotFound, Rejected

LOG = "log"
"""The output of a stack that runs in the background."""
_LOCK, _STATE = "lock", "stack.json"
_START_SECONDS, _STOP_SECONDS = 300.0, 60.0
_PAUSE = 0.1


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
    """Return the folder of all stacks, as the XDG Base Directory Specification names it: it outlives no reinstallation.

    Args:
        environ: the environment variables.
    """
    home = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "onefold" / "local"


def stack_folder(port: int, environ: Mapping[str, str]) -> Path:
    """Return the folder of the stack whose first port is this one."""
    return state_folder(environ) / str(port)


@contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Hold the folder of a stack. Yields False where another process holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("a") as file:
        is_ours = _locked(file)
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


def running_stacks(environ: Mapping[str, str]) -> list[RunningStack]:
    """Return all stacks of this user that run, by port."""
    folders = state_folder(environ).glob("[0-9]*")
    return sorted(filter(None, map(find_stack, folders)), key=lambda stack: stack.port)


def the_stack(port: int | None, environ: Mapping[str, str]) -> RunningStack:
    """Return the stack that is meant: that of a port, or the only one.

    Args:
        port: its first port; None where it is not named.
        environ: the environment variables.

    Raises:
        NotFound: no such stack runs, or several do and none is named.
    """
    found = [stack for stack in running_stacks(environ) if port in (None, stack.port)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"several stacks run, at the ports {', '.join(str(one.port) for one in found)}: name one with --port")
    raise NotFound(f"no stack runs{f' at port {port}' if port else ''}: start one with `onefold local start --detach`")


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
    """Return whether a process holds the folder of a stack."""
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
