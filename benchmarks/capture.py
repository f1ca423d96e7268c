"""Capture and the bare reader that it builds on: the same log, the same machine, one run.

Run: `PYTHONPATH=tests python -m benchmarks.capture [--rows 200000] [--repeat 5] [--seconds 20]`. It needs `mariadbd`.

- The peer is `BinLogStreamReader` of mysql-replication, whose rows are iterated over, and nothing is done with them.
- Capture is what the command runs, from its checks on, up to the confirmation of the last message. It publishes by Google's
  client over gRPC to a receiver on this machine, in a process of its own.

Each run is a process of its own, which reads the whole log. The rounds alternate; the first one fills the system's cache and
is not counted. The lag is from when an INSERT of one row is sent until its message arrives, while the process runs as a
service.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pymysql
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent
from support.capture_receiver import Receiver, receiving
from support.database_servers import DatabaseServer, MariaDb, new_server
from support.source_database import end_of_log, numbers

from benchmarks.chart import Bar, Chart
from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish, ratio, spread, versions
from onefold.cli.capture import capture, prepared_capture
from onefold.cli.capture_options import address_of, options_from
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.connection import connect, query
from onefold.settings.environment import Settings

HEADING = "Capture"
HEADER = ("log", "rows", "bare reader, rows/s", "capture, rows/s", "ratio", "bare reader, MB", "capture, MB")
NARROW = "(id INT PRIMARY KEY, name VARCHAR(60), price DECIMAL(10,2), at DATETIME, n BIGINT)"
NARROW_ROW = "seq, CONCAT('name of ', seq), seq % 10000 / 7, '2024-02-29 03:04:05', seq * seq"
_KINDS = (
    ("INT", "seq % 1000"), ("VARCHAR(40)", "CONCAT('text ', seq)"), ("DECIMAL(12,4)", "seq % 9999 / 7"),
    ("DATETIME", "'2024-02-29 03:04:05'"), ("DOUBLE", "seq / 3"), ("TEXT", "REPEAT('y', 30)"), ("DATE", "NULL"),
    ("BIGINT UNSIGNED", "seq"), ("TIMESTAMP(3)", "'2024-02-29 03:04:05.678'"), ("ENUM('new','paid','sent')", "'paid'"),
)  # fmt: skip
_WIDE = [_KINDS[place % len(_KINDS)] for place in range(28)]
_COLUMNS = ", ".join(f"column_{number} {kind} NULL" for number, (kind, _) in enumerate(_WIDE))
WIDE = f"(id INT PRIMARY KEY, {_COLUMNS}, n BIGINT)"
WIDE_ROW = ", ".join(("seq", *(value for _, value in _WIDE), "seq * seq"))
_AT_ONCE = 100
"""Rows of a transaction."""
_SENT = re.compile(rb'"sent":(\d+)')
_RATE = 1_000
"""Rows a second of the steady load, each a transaction."""
_spawn = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Run:
    rows: int
    seconds: float
    megabytes: float
    """The peak memory in MB."""

    @property
    def rate(self) -> float:
        return self.rows / self.seconds


@dataclass(frozen=True)
class Log:
    """A section of a binary log with the rows of one table."""

    title: str
    port: int
    database: str
    start: LogPosition


@dataclass
class Counting(Receiver):
    """A receiver that counts rows without storing them."""

    rows: int = 0
    lags: list[float] = field(default_factory=list)
    _counting: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def publish(self, request: Any, context: Any) -> Any:
        arrived = time.time()
        rows = sum(message.data.count(b'"change_sequence_number"') for message in request.messages)
        lags = [arrived - int(sent) / 1e6 for message in request.messages for sent in _SENT.findall(message.data)]
        with self._counting:  # several requests are answered at the same time
            self.rows += rows
            self.lags += lags
        answer = super().publish(request, context)
        self.arrived.clear()
        return answer

    def take(self) -> tuple[int, list[float]]:
        with self._counting:
            taken, self.rows, self.lags = (self.rows, self.lags), 0, []
        return taken


def _receive(pipe: Connection) -> None:
    counting = Counting()
    with receiving(counting):
        pipe.send((counting.pubsub_address, counting.bigquery_address))
        while pipe.recv():
            pipe.send(counting.take())


@dataclass(frozen=True)
class RemoteReceiver:
    environ: dict[str, str]
    take: Callable[[], tuple[int, list[float]]]


@contextmanager
def remote_receiver() -> Iterator[RemoteReceiver]:
    ours, theirs = _spawn.Pipe()
    process = _spawn.Process(target=_receive, args=(theirs,), daemon=True)
    process.start()
    pubsub, bigquery = ours.recv()

    def take() -> tuple[int, list[float]]:
        ours.send(True)
        taken: tuple[int, list[float]] = ours.recv()
        return taken

    environ = {"PUBSUB_EMULATOR_HOST": pubsub, "BIGQUERY_EMULATOR_HOST": bigquery, "ONEFOLD_SOURCE_PASSWORD": ""}
    try:
        yield RemoteReceiver(environ, take)
    finally:
        ours.send(False)
        process.join()


def run_bare(log: Log) -> Run:
    started = time.perf_counter()
    reader = BinLogStreamReader(
        {"host": "127.0.0.1", "port": log.port, "user": "root", "password": ""},
        server_id=77,
        log_file=log.start.file,
        log_pos=log.start.offset,
        resume_stream=True,
        only_schemas=[log.database],
        only_events=[WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent],
    )
    rows = sum(1 for event in reader for _ in event.rows)
    reader.close()
    return Run(rows, time.perf_counter() - started, _peak("self"))


def run_capture(log: Log, environ: dict[str, str]) -> Run:
    """Capture a log once. Returns the run without its number of rows, which the receiver counts."""
    os.environ.update(environ)
    with tempfile.TemporaryDirectory() as folder:
        start = ["--start", f"{log.start.file}:{log.start.offset}", "--once"]
        options = capture.make_context("capture", [*arguments(log.port, log.database, folder), *start]).params
        where = address_of(options, os.environ)
        process = prepared_capture(Settings(), where, options_from(options), options, lambda *_: None)
        started = time.perf_counter()
        process.run()
        return Run(0, time.perf_counter() - started, _peak("self"))


def arguments(port: int, database: str, folder: str) -> list[str]:
    source = ["--host", "127.0.0.1", "--port", str(port), "--user", "root", "--include", database]
    return [*source, "--source", "bench", "--dataset", "bench", "--checkpoint", folder, "--project", "bench"]


def _peak(process: str) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def in_a_process(work: Callable[..., Run], *words: Any) -> Run:
    with ProcessPoolExecutor(1, mp_context=_spawn) as pool:
        return pool.submit(work, *words).result()


def make_logs(server: DatabaseServer, rows: int) -> Iterator[Log]:
    tables = ((NARROW, NARROW_ROW, rows, _AT_ONCE), (WIDE, WIDE_ROW, rows, _AT_ONCE), (NARROW, NARROW_ROW, rows // 4, 1))
    for number, (columns, values, count, at_once) in enumerate(tables):
        database = f"bench_{number}"
        with connect(server.address) as connection:
            query(connection, f"CREATE DATABASE {database}")
            connection.select_db(database)
            query(connection, f"CREATE TABLE t {columns}")
            start = end_of_log(connection)
            fill(connection, values, count, at_once)
        width = "5 columns" if columns == NARROW else "30 columns"
        yield Log(f"{width}, {at_once} in a transaction", server.port, database, start)


def fill(connection: pymysql.Connection, values: str, rows: int, at_once: int) -> None:
    """Run four insertions, then an update of the last inserted rows."""
    for number, first in enumerate(range(0, rows * 4 // 5, at_once), start=1):
        last = first + at_once - 1
        query(connection, f"INSERT INTO t SELECT {values} FROM {numbers(first, last)}")
        if number % 4 == 0:
            query(connection, f"UPDATE t SET n = -1 WHERE id BETWEEN {first} AND {last}")


def compete(log: Log, receiver: RemoteReceiver, rounds: Rounds[Run]) -> None:
    """Note the runs of the bare reader, and of capture."""
    for _ in rounds:
        bare, own = in_a_process(run_bare, log), in_a_process(run_capture, log, receiver.environ)
        own = replace(own, rows=receiver.take()[0])
        if bare.rows != own.rows:
            raise SystemExit(f"the rows differ: {bare} and {own}")
        rounds.note("bare", bare)
        rounds.note("capture", own)


def bars(log: Log, rounds: Rounds[Run]) -> Iterator[Bar]:
    for name, runs in rounds.figures.items():
        yield Bar(f"{log.title}, {name}", spread([run.rate / 1000 for run in runs]), name == "capture")


def line(log: Log, rounds: Rounds[Run], peer: str) -> tuple[str, ...]:
    other, own = rounds.figures[peer], rounds.figures["capture"]
    rates = [[run.rate for run in kind] for kind in (other, own)]
    memory = [f"{max(run.megabytes for run in kind):.0f}" for kind in (other, own)]
    texts = [f"{spread(kind).median:,.0f}" for kind in rates]
    return log.title, f"{own[0].rows:,}", *texts, ratio(rates[1], rates[0]).text(), *memory


def steady(server: DatabaseServer, receiver: RemoteReceiver, seconds: int) -> tuple[list[float], float]:
    """Run capture as a service. Returns the sorted lags in seconds, and the peak memory in MB."""
    with connect(server.address) as connection, tempfile.TemporaryDirectory() as folder:
        query(connection, "CREATE DATABASE steady")
        query(connection, "CREATE TABLE steady.t (id INT PRIMARY KEY, name VARCHAR(60), sent BIGINT)")
        command = [sys.executable, "-c", "from onefold.cli import main; main()", "capture"]
        environ = {**os.environ, **receiver.environ}
        command += arguments(server.port, "steady", folder)
        process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL)
        while not (Path(folder) / "checkpoint.json").exists():
            time.sleep(0.1)
        receiver.take()
        began = time.perf_counter()
        for number in range(seconds * _RATE):
            time.sleep(max(0.0, began + number / _RATE - time.perf_counter()))
            query(connection, f"INSERT INTO steady.t VALUES ({number}, 'name of {number}', {time.time_ns() // 1000})")
        time.sleep(2)
        megabytes = _peak(str(process.pid))
        process.send_signal(signal.SIGTERM)
        process.wait()
    rows, lags = receiver.take()
    if rows != seconds * _RATE:
        raise SystemExit(f"{rows} rows have arrived of {seconds * _RATE}")
    return sorted(lags), megabytes


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Capture and the bare reader of mysql-replication.")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    add_options(parser)
    options = parser.parse_args(argv)
    with new_server(MariaDb, "--innodb-buffer-pool-size=64M") as server, remote_receiver() as receiver:
        measured = {log: Rounds[Run](options.repeat, again=bool(options.page)) for log in make_logs(server, options.rows)}
        for log, rounds in measured.items():
            compete(log, receiver, rounds)
        lags, megabytes = steady(server, receiver, options.seconds)
    median, late = (1000 * lags[int(len(lags) * share)] for share in (0.5, 0.99))
    load = f"{_RATE:,} rows a second for {options.seconds} seconds, each a transaction"
    steady_line = f"{load}: a lag of {median:.0f} ms (median) and {late:.0f} ms (99 %), {megabytes:.0f} MB at most"
    named = versions(mysql_replication="mysql-replication")
    sizes, every = described(list(measured.values())), list(measured.values())
    lines = [line(log, rounds, "bare") for log, rounds in measured.items()]
    chart = Chart("Thousands of rows a second", [bar for log in measured for bar in bars(log, measured[log])])
    publish(options, HEADING, machine(sizes, named), markdown(HEADER, lines), [steady_line], every, chart)


if __name__ == "__main__":
    main()
