"""The most memory of the function `refresh_view` while it refreshes large views.

Run: `PYTHONPATH=tests python -m benchmarks.memory [--versions 900] [--columns 300]`.

The function is the real one, served by its framework's application in a process of its own, with Google's clients: they talk
to a BigQuery and a Pub/Sub in another process (`tests/fake_bigquery.py`, `tests/capture_receiver.py`), so that the memory of
these does not count. Each figure is the peak of the resident set (`VmHWM`) of a new process, which has first answered a
message for a table of one version. The messages of `at once` are sent together, each for a table of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path

from capture_receiver import receiving
from fake_bigquery import PROJECT, FakeBigQuery

from benchmarks.render import history
from benchmarks.report import add_options, machine, markdown, publish, versions

HEADING = "Memory of a refresh"
HEADER = ("refreshes", "versions", "columns", "peak, MB", "before, MB")
AT_ONCE = (1, 4)
_FUNCTION = Path(__file__).with_name("refresh_process.py")
_spawn = multiprocessing.get_context("spawn")


class _Server(ThreadingHTTPServer):
    def __init__(self, fake: FakeBigQuery) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fake = fake


class _Handler(BaseHTTPRequestHandler):
    """Hands each request to the fake as the client's transport does."""

    server: _Server
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        answer = self.server.fake.request(self.command, self.path, body or None, dict(self.headers))
        self.send_response(answer.status_code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_GET = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815 the names are http.server's

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def serve_fakes(pipe: Connection, count: int, columns: int) -> None:
    """In a process of its own: tables `large0` and so on, of so many versions, and `small`; until the pipe is written to."""
    fake = FakeBigQuery()
    for version in history(count, columns):
        texts = [f"{column.name} {column.type}" for column in version.columns]
        for number in range(max(AT_ONCE)):
            fake.create_table(f"large{number}_v_{version.id}", *texts)
    fake.create_table("small_v_abc", "id INT64")
    server = _Server(fake)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with receiving() as receiver:
        own = {"ONEFOLD_PROJECT": PROJECT, "ONEFOLD_TOPIC_SCHEMA_CHANGES": "schema-changes"}
        found = {
            "BIGQUERY_EMULATOR_HOST": f"127.0.0.1:{server.server_port}",
            "PUBSUB_EMULATOR_HOST": receiver.pubsub_address,
        }
        pipe.send({**own, **found})
        pipe.recv()


@contextmanager
def fakes(count: int, columns: int) -> Iterator[dict[str, str]]:
    """The environment by which clients find the fakes."""
    near, far = _spawn.Pipe()
    process = _spawn.Process(target=serve_fakes, args=(far, count, columns), daemon=True)
    process.start()
    try:
        yield near.recv()
    finally:
        near.send("end")
        process.join()


def measure(count: int, columns: int) -> dict[int, dict[str, float]]:
    """The peaks of new processes, in MB of 1,000,000 bytes: `before` the large refreshes, and `after` them."""
    version = history(1, 2)[0].id
    peaks = {}
    for at_once in AT_ONCE:
        with fakes(count, columns) as environ:
            command = [sys.executable, str(_FUNCTION), version, *(f"large{number}" for number in range(at_once))]
            done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, check=True, text=True)
            peaks[at_once] = json.loads(done.stdout.splitlines()[-1])
    return peaks


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The most memory of a refresh.")
    parser.add_argument("--versions", type=int, default=900)
    parser.add_argument("--columns", type=int, default=300)
    add_options(parser)
    options = parser.parse_args(argv)
    sizes = f"{options.versions:,} versions of at least {options.columns} columns"
    lines = [
        (
            f"{at_once} at once",
            f"{options.versions:,}",
            f"{options.columns:,}",
            f"{found['after']:.0f}",
            f"{found['before']:.0f}",
        )
        for at_once, found in measure(options.versions, options.columns).items()
    ]
    named = versions(google_cloud_bigquery="google-cloud-bigquery", functions_framework="functions-framework")
    publish(options, HEADING, machine(sizes, named), markdown(HEADER, lines))


if __name__ == "__main__":
    main()
