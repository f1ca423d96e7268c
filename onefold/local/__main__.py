"""`python -m onefold.local [PORT]`: BigQuery's emulator and the stand-in for Dataproc, empty, until Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys

from onefold.core.errors import OnefoldError, Rejected
from onefold.local.spark_process import java_hint

PORT = 9050


def main(arguments: list[str]) -> int:
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
    """BigQuery at this port, Dataproc at the next one; what to export is printed when both answer."""
    from onefold.local.dataproc import dataproc_emulator
    from onefold.local.processes import bigquery_emulator, ended_in_order

    for one in (port, port + 1):
        _check_free(one)
    with (
        ended_in_order(),
        bigquery_emulator(port=port) as bigquery,
        dataproc_emulator({"BIGQUERY_EMULATOR_HOST": bigquery}, port=port + 1) as dataproc,
    ):
        print(f"export BIGQUERY_EMULATOR_HOST={bigquery}")  # noqa: T201
        print(f"export DATAPROC_EMULATOR_HOST={dataproc}", flush=True)  # noqa: T201
        hint = java_hint()
        sys.stderr.write(f"{hint}\n" if hint else "")
        sys.stderr.write("Both answer. Ctrl-C ends them, and all that is in them is gone.\n")
        signal.pause()


def _check_free(port: int) -> None:
    """A second stand-in could share the port of a first one unnoticed."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise Rejected(f"port {port} is taken: name another one, as in python -m onefold.local 9150") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
