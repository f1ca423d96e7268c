"""`python -m onefold.local [PORT]`: run empty emulators of BigQuery and Dataproc until Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys

from onefold.core.errors import OnefoldError, Rejected
from onefold.local.spark_process import java_hint

PORT = 9050


def main(arguments: list[str]) -> int:
    """Run the command line and return the exit code: 0 after Ctrl-C, 1 after an error.

    Args:
        arguments: the port of BigQuery, or nothing.
    """
    try:
        with contextlib.suppress(KeyboardInterrupt):
            serve(int(arguments[0]) if arguments else PORT)
    except ModuleNotFoundError as error:
        sys.stderr.write(f"{error.name} is missing: pip install 'onefold[local]'\n")
        return 1
    except (OnefoldError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def serve(port: int) -> None:
    """Serve BigQuery at this port and Dataproc at the next one, and print the variables to export.

    Raises:
        Rejected: a port is in use.
    """
    from onefold.local.dataproc import dataproc_emulator
    from onefold.local.processes import bigquery_emulator, ended_in_order

    for used in (port, port + 1):
        _check_free(used)
    with (
        ended_in_order(),
        bigquery_emulator(port=port) as bigquery,
        dataproc_emulator({"BIGQUERY_EMULATOR_HOST": bigquery}, port=port + 1) as dataproc,
    ):
        print(f"export BIGQUERY_EMULATOR_HOST={bigquery}")  # noqa: T201
        print(f"export DATAPROC_EMULATOR_HOST={dataproc}", flush=True)  # noqa: T201
        hint = java_hint()
        sys.stderr.write(f"{hint}\n" if hint else "")
        sys.stderr.write("Both are ready. Ctrl-C ends them and deletes all their data.\n")
        signal.pause()


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
