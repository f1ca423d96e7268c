"""The whole stack on this machine until Ctrl-C: BigQuery, Dataproc, topics and the functions."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from onefold.adapters.bigquery.errors import EMULATOR
from onefold.core.errors import InvalidInput, Rejected
from onefold.core.shutdown import ended_in_order
from onefold.doctor.java import java_hint
from onefold_lab.stack import PORTS, create_datasets, local_stack
from onefold_lab.state import (
    LOG,
    RunningStack,
    check_answers,
    find_stack,
    held,
    is_held,
    note_ready,
    state_folder,
    wait_until_ready,
)

PORT = 9050
"""The first port, where none is named."""
_LAST_PORT = 65535
_PAUSE = 0.1
_SHOWN_LINES = 10


def serve(port: int | None, datasets: Sequence[str], ready: Callable[[RunningStack], None]) -> None:
    """Serve BigQuery at this port, Dataproc and topics at the next two, until this process is told to end.

    Where a stack runs already, at whatever port, the datasets are created in it, and nothing is started.

    Args:
        port: the first port; None for 9050, or for that of the stack that runs.
        datasets: are created, empty.
        ready: is called with the stack when it answers.

    Raises:
        InvalidInput: the port is invalid.
        Rejected: a port is in use.
    """
    check_port(port or PORT)
    folder = state_folder(os.environ)
    while True:
        with held(folder) as is_ours:
            if is_ours:
                _run(port or PORT, datasets, folder, ready)
                return
        if found := wait_until_ready(folder):
            join(found, port, datasets)
            ready(found)
            return


def start_in_background(port: int | None, datasets: Sequence[str]) -> RunningStack:
    """Start a stack in a process of its own that outlives this one, and return it as soon as it answers.

    Args:
        port: as for `serve`.
        datasets: are created, empty.

    Raises:
        InvalidInput: the port is invalid.
        Rejected: it does not start; the text has its last output.
    """
    check_port(port or PORT)
    folder = state_folder(os.environ)
    if is_held(folder) and (found := wait_until_ready(folder)):
        join(found, port, datasets)
        return found
    folder.mkdir(parents=True, exist_ok=True)
    words = ["local", "start", "--port", str(port or PORT), *(word for name in datasets for word in ("--dataset", name))]
    command = [sys.executable, "-c", "from onefold.cli import main; main()", *words]
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    while process.poll() is None:
        if found := find_stack(folder):
            return found
        time.sleep(_PAUSE)
    if process.returncode == 0 and (found := find_stack(folder)):
        return found  # another one was started at the same time, and this one has joined it
    lines = (folder / LOG).read_text(errors="replace").splitlines()[-_SHOWN_LINES:]
    raise Rejected("\n".join(["the stack does not start:", *(line.removeprefix("Error: ") for line in lines)]))


def join(stack: RunningStack, port: int | None, datasets: Sequence[str]) -> None:
    """Use a stack that runs: create datasets that it lacks, and say where it runs.

    Args:
        stack: the stack.
        port: the first port that was asked for; None for any.
        datasets: are created, empty.

    Raises:
        Rejected: a server of the stack has ended.
    """
    from google.api_core.exceptions import Conflict

    check_answers(stack)
    for name in datasets:
        with suppress(Conflict):
            create_datasets(stack.hosts[EMULATOR], [name])
            _show(f"created dataset {name}")
    place = f" at port {stack.port}, not {port}" if port not in (None, stack.port) else ""
    _show(f"Process {stack.pid} runs the stack already{place}: `onefold local stop` ends it.")


def print_variables(hosts: Mapping[str, str]) -> None:
    """Print the variables by which commands reach a stack, for a shell."""
    for name, value in hosts.items():
        print(f"export {name}={value}")  # noqa: T201
    sys.stdout.flush()


def check_port(port: int) -> None:
    """Check the first port.

    Raises:
        InvalidInput: there are too few ports from it on.
    """
    if not 1 <= port <= _LAST_PORT - PORTS + 1:
        raise InvalidInput(
            f"expected a port from 1 to {_LAST_PORT - PORTS + 1}, got {port}: {PORTS} ports from it on are used"
        )


def _run(port: int, datasets: Sequence[str], folder: Path, ready: Callable[[RunningStack], None]) -> None:
    """Run a stack until this process is told to end.

    Raises:
        Rejected: a port is in use.
    """
    for left in folder.glob("tmp*"):
        shutil.rmtree(left)  # of a stack that was killed
    for used in range(port, port + PORTS):
        _check_free(used)
    with ended_in_order(), local_stack(port, datasets, os.environ, _show, folder) as variables:
        ready(RunningStack(port, os.getpid(), variables, folder))
        _show(java_hint() or "")
        _show("All servers are ready. Ctrl-C ends them and deletes all their data.")
        note_ready(folder, port, variables)
        signal.pause()


def _show(line: str) -> None:
    """Print a line for people, whole: several threads print."""
    if line:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def _check_free(port: int) -> None:
    """Check that no server listens at a port: a second gRPC server could share it without an error.

    Raises:
        Rejected: the port is in use.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise Rejected(f"port {port} is in use: name another one, as in onefold local start --port 9150") from error
