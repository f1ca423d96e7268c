"""The peak memory of the function `refresh_view` while it refreshes large views.

Run: `PYTHONPATH=tests python -m benchmarks.memory [--versions 900] [--columns 300]`.

The function is the real one, served by its framework's application in a process of its own, with Google's clients: they talk
to a BigQuery and a Pub/Sub in another process (`fake_bigquery.py` and `capture_receiver.py` of `tests/support/`), so that
the memory of these does not count. Each figure is the peak of the resident set (`VmHWM`) of a new process, which has first
answered a message for a table of one version. The messages of `at once` are sent together, each for a table of its own.
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
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from support.fake_bigquery import FakeBigQuery
from support.rest import PROJECT
from support.rest_topics import rest_topics

from benchmarks.render import history
from benchmarks.report import add_options, machine, markdown, publish, versions

HEADING = "Memory of a refresh"
HEADER = ("refreshes", "history", "form of the view", "peak, MB", "before, MB")
MOST_AT_ONCE = 4
_FUNCTION = Path(__file__).with_name("refresh_process.py")
_spawn = multiprocessing.get_context("spawn")


class _Server(ThreadingHTTPServer):
    def __init__(self, fake: FakeBigQuery) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fake = fake


class _Handler(BaseHTTPRequestHandler):
    """A handler that passes each request to the fake as the client's transport does."""

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
        """Print no log of requests."""


@dataclass(frozen=True)
class Case:
    """Refreshes that arrive together, and the history of each of their tables.

    converted: whether half of the versions have another type in every column; else two columns have.
    """

    at_once: int
    versions: int
    columns: int
    converted: bool = False

    @property
    def history(self) -> str:
        return "every column changed its type" if self.converted else "two columns changed their type"

    def tables(self) -> Iterator[tuple[str, list[str]]]:
        """Return the name and the columns of each version of a table `large`."""
        for number, version in enumerate(history(self.versions, self.columns)):
            old = self.converted and number < self.versions / 2
            yield version.id, [f"{column.name} {'INT64' if old else column.type}" for column in version.columns]


def serve_fakes(pipe: Connection, case: Case) -> None:
    """Serve the tables `large0`, `large1` ... and `small` in a process until the pipe is written to."""
    fake = FakeBigQuery()
    for version, columns in case.tables():
        for number in range(case.at_once):
            fake.create_table(f"large{number}_v_{version}", *columns)
    fake.create_table("small_v_abc", "id INT64")
    server = _Server(fake)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with rest_topics() as topics:
        own = {"ONEFOLD_PROJECT": PROJECT, "ONEFOLD_TOPIC_SCHEMA_CHANGES": "schema-changes"}
        found = {
            "BIGQUERY_EMULATOR_HOST": f"127.0.0.1:{server.server_port}",
            "PUBSUB_EMULATOR_HOST": topics.address,
        }
        pipe.send({**own, **found})
        pipe.recv()


@contextmanager
def fakes(case: Case) -> Iterator[dict[str, str]]:
    """Run the fakes. Yields the environment by which clients find them."""
    near, far = _spawn.Pipe()
    process = _spawn.Process(target=serve_fakes, args=(far, case), daemon=True)
    process.start()
    try:
        yield near.recv()
    finally:
        near.send("end")
        process.join()


def measure(case: Case) -> dict[str, Any]:
    """Return the figures that `refresh_process` prints."""
    version = next(case.tables())[0]
    with fakes(case) as environ:
        command = [sys.executable, str(_FUNCTION), version, *(f"large{number}" for number in range(case.at_once))]
        done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, check=True, text=True)
    *logged, last = map(json.loads, done.stdout.splitlines())
    *_, refreshed = (line for line in logged if line["event"] == "refreshed")
    return {**last, "form": refreshed["form"]}


def line(case: Case) -> tuple[str, ...]:
    found = measure(case)
    return f"{case.at_once} at once", case.history, found["form"], f"{found['after']:.0f}", f"{found['before']:.0f}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The most memory of a refresh.")
    parser.add_argument("--versions", type=int, default=900)
    parser.add_argument("--columns", type=int, default=300)
    add_options(parser)
    options = parser.parse_args(argv)
    cases = [Case(at_once, options.versions, options.columns) for at_once in (1, MOST_AT_ONCE)]
    cases += [Case(at_once, options.versions, options.columns, converted=True) for at_once in (1, MOST_AT_ONCE)]
    sizes = f"{options.versions:,} versions of {options.columns} columns and more"
    named = versions(google_cloud_bigquery="google-cloud-bigquery", functions_framework="functions-framework")
    publish(options, HEADING, machine(sizes, named), markdown(HEADER, list(map(line, cases))))


if __name__ == "__main__":
    main()
