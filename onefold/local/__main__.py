"""`python -m onefold.local [PORT] [--dataset D]...`: run BigQuery, Dataproc, topics and the functions until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import NoReturn

from onefold.core.errors import InvalidInput, OnefoldError, Rejected
from onefold.core.extras import missing_package
from onefold.local.spark_process import java_hint

PORT = 9050
_LAST_PORT = 65535


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are reported like all others."""

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(f"{message}: see python -m onefold.local --help")


def main(arguments: list[str]) -> int:
    """Run the command line and return the exit code: 0 after Ctrl-C, 1 after an error.

    Args:
        arguments: the words behind `python -m onefold.local`.
    """
    try:
        given = _parser().parse_args(arguments)
        with contextlib.suppress(KeyboardInterrupt):
            serve(given.port, given.dataset)
    except ModuleNotFoundError as error:
        sys.stderr.write(f"{missing_package(error, 'local')}\n")
        return 1
    except OnefoldError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m onefold.local", description="Run Onefold's stack on this machine until Ctrl-C.")
    parser.add_argument(
        "port", nargs="?", type=int, default=PORT, help=f"the first of three ports; default: {PORT}", metavar="PORT"
    )
    parser.add_argument("--dataset", action="append", default=[], metavar="D", help="create this dataset, empty")
    return parser


def serve(port: int, datasets: Sequence[str]) -> None:
    """Serve BigQuery at this port, Dataproc and topics at the next two, and print the variables to export.

    Args:
        port: the first port.
        datasets: are created, empty.

    Raises:
        InvalidInput: the port is invalid.
        Rejected: a port is in use.
    """
    from onefold.local.processes import ended_in_order
    from onefold.local.stack import PORTS, local_stack

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
            raise Rejected(f"port {port} is in use: name another one, as in python -m onefold.local 9150") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
