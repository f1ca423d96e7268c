"""The embedded stack of a laptop: BigQuery's emulator and the real functions server, each a process of its own."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import requests

from onefold.errors import Rejected
from onefold.local.emulator import DEFAULT_PROJECT

_START_SECONDS = 60.0


@contextlib.contextmanager
def bigquery_emulator(project: str = DEFAULT_PROJECT) -> Iterator[str]:
    """The emulator on a free port, with nothing in it; gives the value for BIGQUERY_EMULATOR_HOST."""
    import duckdb_extensions

    # DuckDB would download its spatial extension, without which the emulator does not start; a package ships it.
    duckdb_extensions.import_extension("spatial")
    rest, grpc = _free_port(), _free_port()
    command = [sys.executable, "-m", "bqemulator", "start", "--rest-port", str(rest), "--grpc-port", str(grpc)]
    with _process([*command, "--project", project, "--log-level", "error"], {}, f"http://127.0.0.1:{rest}/"):
        yield f"http://127.0.0.1:{rest}"


@contextlib.contextmanager
def function_server(target: str, environ: Mapping[str, str]) -> Iterator[str]:
    """`functions-framework` serving one function of functions/main.py; gives its URL."""
    port = _free_port()
    command = [sys.executable, "-m", "functions_framework", "--source", str(functions_source()), "--target", target]
    url = f"http://127.0.0.1:{port}/"
    with _process([*command, "--signature-type", "cloudevent", "--host", "127.0.0.1", "--port", str(port)], environ, url):
        yield url


def functions_source() -> Path:
    """functions/main.py of the checkout.

    Raises:
        Rejected: the library is installed without it.
    """
    source = Path(__file__).resolve().parents[2] / "functions" / "main.py"
    if not source.is_file():
        raise Rejected(
            f"{source} is missing: the demo serves the function of a checkout; clone the project and run it there"
        )
    return source


@contextlib.contextmanager
def _process(command: list[str], environ: Mapping[str, str], url: str) -> Iterator[None]:
    """A process that answers at `url`, ended with the block; what it printed is told where it does not start."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, **environ})  # noqa: S603
        try:
            _wait_until_it_answers(process, command, url, output)
            yield
        finally:
            process.terminate()
            process.wait()


def _wait_until_it_answers(process: subprocess.Popen[bytes], command: list[str], url: str, output: object) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(requests.exceptions.RequestException):  # not yet
            requests.get(url, timeout=5)
            return
        time.sleep(0.1)
    raise Rejected(f"{' '.join(command[1:4])} does not answer at {url}:\n{_tail(output)}")


def _tail(output: object) -> str:
    output.seek(0)  # type: ignore[attr-defined]
    return str(output.read().decode(errors="replace")[-2000:])  # type: ignore[attr-defined]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
