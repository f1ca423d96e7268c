"""The processes of the embedded stack: BigQuery's emulator, and the server of the real functions."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import IO

import requests

from onefold.adapters.send_event import local_session
from onefold.core.errors import Rejected
from onefold.core.sources import functions_source
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

_START_SECONDS = 300.0
_END_SECONDS = 10.0
_TAIL_BYTES = 20_000
_TAIL_LINES = 10
_LOCAL_HOSTS = "127.0.0.1,localhost"
_ERROR_WORDS = re.compile(r"error|exception|critical|fail", re.IGNORECASE)
_SEVERE = frozenset({"WARNING", "ERROR", "CRITICAL"})


@contextlib.contextmanager
def bigquery_emulator(
    project: str = DEFAULT_PROJECT, storage_port: int | None = None, port: int | None = None
) -> Iterator[str]:
    """Run an empty emulator of BigQuery. Yields the value for BIGQUERY_EMULATOR_HOST.

    Args:
        project: the project that the emulator has.
        storage_port: the port of the Storage API over gRPC; by default a free one.
        port: the port of the REST API; by default a free one.
    """
    import duckdb_extensions

    # DuckDB would download its spatial extension, without which the emulator does not start; a package ships it.
    duckdb_extensions.import_extension("spatial")
    rest, grpc = port or free_port(), storage_port or free_port()
    command = ["onefold_lab.bigquery", "start", "--rest-port", str(rest), "--grpc-port", str(grpc)]
    command += ["--project", project, "--log-level", "error"]
    with _process("the embedded BigQuery", command, {}, f"http://127.0.0.1:{rest}/"):
        yield f"http://127.0.0.1:{rest}"


@contextlib.contextmanager
def function_server(target: str, environ: Mapping[str, str], log: IO[bytes] | None = None) -> Iterator[str]:
    """Serve one function of functions/main.py with `functions-framework`. Yields its URL.

    Args:
        target: the name of the function.
        environ: its settings. Settings of this process, in variables or in an onefold.yaml, have no effect on it.
        log: a file for its output, for callers that show errors.
    """
    port = free_port()
    command = ["functions_framework", "--source", str(functions_source()), "--target", target]
    command += ["--signature-type", "cloudevent", "--host", "127.0.0.1", "--port", str(port)]
    url = f"http://127.0.0.1:{port}/"
    with tempfile.TemporaryDirectory() as folder, _process(target, command, environ, url, folder, log):
        yield url


def last_errors(log: IO[bytes]) -> str:
    """Return the last lines of a log that report an error; if no line does, the last lines."""
    end = log.seek(0, os.SEEK_END)
    log.seek(max(0, end - _TAIL_BYTES))
    lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    severe = [line for line in lines if _reports_error(line)]
    return "\n".join((severe or lines)[-_TAIL_LINES:])


def _reports_error(line: str) -> bool:
    """Return True for a line that reports an error: by its severity if it has one, else by its words."""
    with contextlib.suppress(ValueError):
        event = json.loads(line)
        if isinstance(event, dict) and "severity" in event:
            return event["severity"] in _SEVERE
    return bool(_ERROR_WORDS.search(line))


@contextlib.contextmanager
def _process(
    name: str,
    command: list[str],
    environ: Mapping[str, str],
    url: str,
    folder: str | None = None,
    log: IO[bytes] | None = None,
) -> Iterator[None]:
    """Run a server process and wait until it answers at `url`. The process ends with the block, and with this process.

    Args:
        name: what the server is, for errors.
        command: the module that is the server, and its arguments.
        environ: variables of the process in addition to those of this one.
        url: the address at which the server answers.
        folder: the working directory.
        log: a file for its output.

    Raises:
        Rejected: the server does not answer; the text has the errors that it printed.
    """
    with tempfile.TemporaryFile() as own:
        output = log or own
        environ = {**_environ(), **environ}
        command = [sys.executable, "-m", "onefold_lab.child", *command]
        process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=output, stderr=output, env=environ, cwd=folder
        )
        try:
            _wait_until_it_answers(process, name, url, output)
            yield
        finally:
            end_process(process)


def _environ() -> dict[str, str]:
    """Return the environment of this process without the settings of Onefold, and without a proxy for this machine."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ONEFOLD_")}
    for name in ("no_proxy", "NO_PROXY"):
        inherited[name] = ",".join(filter(None, (inherited.get(name), _LOCAL_HOSTS)))
    return inherited


def end_process(process: subprocess.Popen[bytes]) -> None:
    """End a process: it gets 10 seconds to end by itself."""
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin:
        process.stdin.close()


def _wait_until_it_answers(process: subprocess.Popen[bytes], name: str, url: str, output: IO[bytes]) -> None:
    """Wait until a server answers.

    Raises:
        Rejected: the process ends, or does not answer within five minutes.
    """
    end = time.monotonic() + _START_SECONDS
    with local_session() as session:
        while time.monotonic() < end and process.poll() is None:
            with contextlib.suppress(requests.exceptions.RequestException):  # the server has not started yet
                session.get(url, timeout=5)
                return
            time.sleep(0.1)
    raise Rejected(f"{name} does not answer at {url}:\n{last_errors(output)}")


def free_port(count: int = 1) -> int:
    """Return the first of `count` free ports in a row, below those that systems give to connections by themselves."""
    first = random.SystemRandom().randrange(10_000, 32_000)
    with contextlib.ExitStack() as stack:
        try:
            for port in range(first, first + count):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
        except OSError:
            return free_port(count)
    return first
