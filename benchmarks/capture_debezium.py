"""Capture and Debezium's embedded engine: the same log of a MySQL, the same machine, one run.

Run: `PYTHONPATH=tests python -m benchmarks.capture_debezium [--rows 200000] [--repeat 3]`. It needs MySQL and a JDK.

- The peer is the engine with its connector of MySQL and its own settings: each event becomes JSON without a schema, and
  nothing is done with it. It reads on from a place in the log, as after a restart. Its clock runs from the start of the
  engine, when the JVM is there, to the last event.
- Capture is what `benchmarks.capture` measures: from its checks to the confirmation of the last message.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from support.database_servers import DatabaseServer, MySql, new_server
from support.debezium_engine import JARS, VERSION, engine_settings, fetch_jars, write_settings

from benchmarks.capture import Log, RemoteReceiver, Run, bars, in_a_process, line, make_logs, remote_receiver, run_capture
from benchmarks.chart import Chart
from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish

HEADING = "Capture and Debezium"
HEADER = ("log", "rows", "Debezium, rows/s", "capture, rows/s", "ratio", "Debezium, MB", "capture, MB")
_SETTINGS = {
    "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
    "snapshot.mode": "recovery",
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
}
"""The engine goes on at an offset, and learns the structures of the tables anew."""


def mysql_server() -> AbstractContextManager[DatabaseServer]:
    """A server whose log is read on from a position of a file: its transactions have no GTIDs."""
    return new_server(MySql, "--innodb-buffer-pool-size=64M", "--gtid-mode=OFF")


def run_debezium(log: Log, rows: int) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        settings = engine_settings("bench", log.port, Path(folder), log.database, 85_000)
        properties = Path(folder) / "engine.properties"
        write_settings(properties, {**settings, **_SETTINGS, "offset.storage.file.filename": Path(folder) / "offsets"})
        program = [str(Path(__file__).with_name("TimeDebezium.java")), str(properties)]
        command = ["java", "-cp", f"{JARS}/*", *program, log.start.file, str(log.start.offset), str(rows)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"Debezium's engine ended before the last of {rows} events:\n{done.stderr[-3000:]}")
    seconds, kilobytes = done.stdout.split()[-2:]
    return Run(rows, float(seconds), int(kilobytes) / 1024)


def compete(log: Log, receiver: RemoteReceiver, rounds: Rounds[Run]) -> None:
    for _ in rounds:
        own = in_a_process(run_capture, log, receiver.environ)
        own = replace(own, rows=receiver.take()[0])
        rounds.note("capture", own)
        rounds.note("Debezium", run_debezium(log, own.rows))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Capture and Debezium's embedded engine.")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=3)
    add_options(parser)
    options = parser.parse_args(argv)
    if not fetch_jars():
        raise SystemExit(
            "Debezium's engine cannot be downloaded from Maven Central: see whether it can be reached, and mvn is there"
        )
    with mysql_server() as server, remote_receiver() as receiver:
        measured = {log: Rounds[Run](options.repeat, again=bool(options.page)) for log in make_logs(server, options.rows)}
        for log, rounds in measured.items():
            compete(log, receiver, rounds)
    every = list(measured.values())
    lines = [line(log, rounds, "Debezium") for log, rounds in measured.items()]
    chart = Chart("Thousands of rows a second", [bar for log in measured for bar in bars(log, measured[log])])
    publish(options, HEADING, machine(described(every), {"Debezium": VERSION}), markdown(HEADER, lines), (), every, chart)


if __name__ == "__main__":
    main()
