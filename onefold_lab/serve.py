"""The whole stack on this machine until Ctrl-C: BigQuery, Dataproc, topics and the functions."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Sequence

from onefold.core.errors import InvalidInput, Rejected
from onefold.core.shutdown import ended_in_order
from onefold.doctor.java import java_hint
from onefold_lab.stack import PORTS, local_stack

_LAST_PORT = 65535


def serve(port: int, datasets: Sequence[str]) -> None:
    """Serve BigQuery at this port, Dataproc and topics at the next two, and print the variables to export.

    Args:
        port: the first port.
        datasets: are created, empty.

    Raises:
        InvalidInput: the port is invalid.
        Rejected: a port is in use.
    """
    if not 1 <= port <= _LAST_PORT - PORTS + 1:
        raise InvalidInput(
            f"expected a port from 1 to {_LAST_PORT - PORTS + 1}, got {port}: {PORTS} ports from it on are used"
        )
    for used in range(port, port + PORTS):
        _check_free(used)
    with ended_in_order(), local_stack(port, datasets, os.environ, _show) as variables:
        for name, value in variables.items():
            print(f"export {name}={value}")  # noqa: T201
        sys.stdout.flush()
        _show(java_hint() or "")
        _show("All servers are ready. Ctrl-C ends them and deletes all their data.")
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
            raise Rejected(f"port {port} is in use: name another one, as in onefold local start 9150") from error
