"""The embedded stack of a laptop: BigQuery's emulator and the real functions server, each a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

import requests

from onefold.adapters.bigquery.emulator import DEFAULT_PROJECT
from onefold.core.errors import Rejected
from onefold.local.send_event import local_session
from onefold.local.sources import source_folder

_START_SECONDS = 60.0
_END_SECONDS = 10.0
_TAIL_BYTES = 20_000
_TAIL_LINES = 10
_LOCAL_HOSTS = "127.0.0.1,localhost"
_TELLS_AN_ERROR = re.compile(r"error|exception|critical|fail", re.IGNORECASE)
_SEVERE = frozenset({"WARNING", "ERROR", "CRITICAL"})


@contextlib.contextmanager
def bigquery_emulator(
    project: str = DEFAULT_PROJECT, storage_port: int | None = None, port: int | None = None
) -> Iterator[str]:
    """The emulator with nothing in it; gives the value for BIGQUERY_EMULATOR_HOST.

    Args:
        storage_port: where it serves the Storage API over gRPC; a free port without one.
        port: a free one without it.
    """
    import duckdb_extensions

    # DuckDB would download its spatial extension, without which the emulator does not start; a package ships it.
    duckdb_extensions.import_extension("spatial")
    rest, grpc = port or free_port(), storage_port or free_port()
    command = [sys.executable, "-m", "onefold.local.emulation", "start", "--rest-port", str(rest), "--grpc-port", str(grpc)]
    with _process([*command, "--project", project, "--log-level", "error"], {}, f"http://127.0.0.1:{rest}/"):
        yield f"http://127.0.0.1:{rest}"


@contextlib.contextmanager
def function_server(target: str, environ: Mapping[str, str], log: IO[bytes] | None = None) -> Iterator[str]:
    """`functions-framework` serving one function of functions/main.py; gives its URL.

    Args:
        environ: its settings. Those of whoever starts it, in the environment and in an onefold.yaml, do not count.
        log: where its output goes, for a caller that wants to tell it.
    """
    port = free_port()
    command = [sys.executable, "-m", "functions_framework", "--source", str(functions_source()), "--target", target]
    command += ["--signature-type", "cloudevent", "--host", "127.0.0.1", "--port", str(port)]
    url = f"http://127.0.0.1:{port}/"
    with tempfile.TemporaryDirectory() as folder, _process(command, environ, url, folder, log):
        yield url


def functions_source() -> Path:
    """Return functions/main.py, of the checkout or as installed.

    Raises:
        Rejected: the library is installed without it.
    """
    source = source_folder("functions") / "main.py"
    if not source.is_file():
        raise Rejected(f"{source} is missing: install the library anew, or run the demo in a checkout of the project")
    return source


@contextlib.contextmanager
def ended_in_order() -> Iterator[None]:
    """A terminal that is closed, or a `kill`, ends the processes that were started, as Ctrl-C does."""
    # Who ignores one, as nohup does, keeps ignoring it.
    caught = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, _exit) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(number: int, _: FrameType | None) -> NoReturn:
    # A second one must not break off what the first one began.
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


def told_errors(log: IO[bytes]) -> str:
    """The last lines of a log that tell of an error; its last lines of any kind where none does."""
    end = log.seek(0, os.SEEK_END)
    log.seek(max(0, end - _TAIL_BYTES))
    lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    severe = [line for line in lines if _tells_an_error(line)]
    return "\n".join((severe or lines)[-_TAIL_LINES:])


def _tells_an_error(line: str) -> bool:
    """A structured line says so by its severity: its text may name an error that was none."""
    with contextlib.suppress(ValueError):
        event = json.loads(line)
        if isinstance(event, dict) and "severity" in event:
            return event["severity"] in _SEVERE
    return bool(_TELLS_AN_ERROR.search(line))


@contextlib.contextmanager
def _process(
    command: list[str], environ: Mapping[str, str], url: str, folder: str | None = None, log: IO[bytes] | None = None
) -> Iterator[None]:
    """A process that answers at `url`, ended with the block; what it printed is told where it does not start."""
    with tempfile.TemporaryFile() as own:
        output = log or own
        environ = {**_environ(), **environ}
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environ, cwd=folder)  # noqa: S603
        try:
            _wait_until_it_answers(process, command, url, output)
            yield
        finally:
            _end(process)


def _environ() -> dict[str, str]:
    """Ours without the settings of whoever runs this, and without a proxy on the way to this machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ONEFOLD_")}
    for name in ("no_proxy", "NO_PROXY"):
        kept[name] = ",".join(filter(None, (kept.get(name), _LOCAL_HOSTS)))
    return kept


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_until_it_answers(process: subprocess.Popen[bytes], command: list[str], url: str, output: IO[bytes]) -> None:
    end = time.monotonic() + _START_SECONDS
    with local_session() as session:
        while time.monotonic() < end and process.poll() is None:
            with contextlib.suppress(requests.exceptions.RequestException):  # not yet
                session.get(url, timeout=5)
                return
            time.sleep(0.1)
    raise Rejected(f"{' '.join(command[1:4])} does not answer at {url}:\n{told_errors(output)}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
