"""The pull of one table into files and its peers: the same rows, the same machine, one run.

Run: `PYTHONPATH=tests python -m benchmarks.loads [--rows 2000000] [--repeat 3]`. It needs `mariadbd` and `mariadb-dump`.
dlt and ConnectorX take part where they are installed: `make bench` brings them.

A table of 12 columns on a MariaDB of this machine, which has it in memory. `benchmarks.load_peers` describes the peers. Our
job works in a Spark session that is open already: its start is measured once and printed, and is in no figure of the table.
The rounds alternate, and each begins with another one; the first one warms up. Each run writes into a new folder, whose rows
are compared with those of all others by a hash of all values.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession
from support.database_servers import MariaDb, new_server

from benchmarks.chart import Bar, Chart
from benchmarks.load_peers import (
    COLUMNS,
    DATABASE,
    TABLE,
    ConnectorX,
    Contestant,
    Dlt,
    Dump,
    Loop,
    Onefold,
    Server,
    Totals,
    is_installed,
)
from benchmarks.processor_time import processor_seconds
from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish, ratio, spread, versions
from benchmarks.spark_session import forget
from onefold.mysql.connection import connect, query
from onefold.spark.session import open_session

HEADING = "Pulled tables"
HEADER = ("", "seconds", "CPU seconds", "rows a second", "ratio to onefold", "ratio to the loop")
_OPTIONAL: Mapping[str, Contestant] = {"dlt": Dlt(), "connectorx": ConnectorX()}
_BASE = {True: "onefold, gzip", False: "onefold"}
_SERVER = (
    "--innodb-buffer-pool-size=1G", "--innodb-log-file-size=256M", "--default-time-zone=+00:00",
    "--secure-file-priv=",
)  # fmt: skip


@dataclass(frozen=True)
class Took:
    """What a run took: seconds by the clock, and of the processors, those of the server among them."""

    seconds: float
    processors: float


@dataclass
class Contest:
    """What each run took, by contestant, and what their files hold."""

    server: Server
    folder: Path
    contestants: Sequence[Contestant]
    forget: Callable[[], None]
    """Clears what Spark has cached."""
    rounds: Rounds[Took]
    totals: dict[str, Totals] = field(default_factory=dict)

    def run(self) -> None:
        """Make all rounds."""
        for number in self.rounds:
            turn = number % len(self.contestants)
            for contestant in (*self.contestants[turn:], *self.contestants[:turn]):
                self._run_one(contestant)

    def _run_one(self, contestant: Contestant) -> None:
        """Run one contestant.

        Raises:
            SystemExit: its rows differ from those of another one.
        """
        folder = self.folder / "output"
        folder.mkdir()
        folder.chmod(0o777)  # the server writes into it, too
        self.forget()
        before = processor_seconds()
        seconds = contestant.run(self.server, folder)
        self.rounds.note(contestant.name, Took(seconds, processor_seconds() - before))
        self.totals[contestant.name] = contestant.totals(folder)
        shutil.rmtree(folder)
        if len(set(self.totals.values())) != 1:
            raise SystemExit(f"the rows differ: {self.totals}")

    def lines(self, rows: int) -> Iterator[tuple[str, ...]]:
        for name in self.rounds.figures:
            zipped = name.endswith("gzip")
            seconds, own, loop = (self._seconds(one) for one in (name, _BASE[zipped], Loop(zipped).name))
            against = "" if name == _BASE[zipped] else ratio(seconds, own).text()
            faster = "" if name == Loop(zipped).name else ratio(loop, seconds).text()
            cpu = spread([took.processors for took in self.rounds.figures[name]]).text(1)
            yield name, spread(seconds).text(1), cpu, f"{rows / spread(seconds).median:,.0f}", against, faster

    def chart(self, rows: int) -> Chart:
        speeds = {
            name: spread([rows / took.seconds / 1000 for took in found]) for name, found in self.rounds.figures.items()
        }
        bars = [Bar(name, speed, name in _BASE.values()) for name, speed in speeds.items()]
        return Chart("Thousands of rows a second", bars, 0)

    def _seconds(self, name: str) -> list[float]:
        return [took.seconds for took in self.rounds.figures[name]]


@contextmanager
def server_of(rows: int, *, has_log: bool = False) -> Iterator[Server]:
    """A server with the table, whose rows are in no binary log."""
    with new_server(MariaDb, *_SERVER, *([] if has_log else ["--skip-log-bin"])) as server:
        with connect(server.address) as connection:
            query(connection, "SET sql_log_bin = 0")
            query(connection, f"CREATE DATABASE {DATABASE}")
            connection.select_db(DATABASE)
            columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
            values = ", ".join(value for _, value in COLUMNS.values())
            query(connection, f"CREATE TABLE {TABLE} ({columns})")
            for first in range(1, rows + 1, 100_000):
                last = min(first + 99_999, rows)
                query(connection, f"INSERT INTO {TABLE} SELECT {values} FROM seq_{first}_to_{last}")
            query(connection, f"ANALYZE TABLE {TABLE}")
        yield Server(server.port, server.folder / "socket")


def open_spark() -> tuple[SparkSession, float]:
    """Return a session with the driver, and the seconds that its start took."""
    started = time.perf_counter()
    conf = {"spark.ui.enabled": "false", "spark.driver.memory": "2g"}
    spark = open_session("benchmark", conf)
    return spark, time.perf_counter() - started


def measure(rows: int, rounds: Rounds[Took], names: Sequence[str] = ()) -> tuple[Contest, float]:
    """Return the figures, and the seconds of the session's start; `names` are those of some contestants."""
    with tempfile.TemporaryDirectory(prefix="loads_") as folder, server_of(rows) as server:
        Path(folder).chmod(0o777)
        spark, start = open_spark()
        every: list[Contestant] = [Onefold(spark), Onefold(spark, gzip=True), Loop(), Loop(gzip=True), Dump()]
        every += [peer for package, peer in _OPTIONAL.items() if is_installed(package)]
        chosen = [one for one in every if not names or one.name in names]
        contest = Contest(server, Path(folder), chosen, lambda: forget(spark), rounds)
        contest.run()
        return contest, start


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="How long it takes to pull a table into files, beside its peers.")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="counted rounds")
    add_options(parser)
    options = parser.parse_args(argv)
    rounds = Rounds[Took](options.repeat, again=bool(options.page))
    contest, start = measure(options.rows, rounds)
    sizes = f"{options.rows:,} rows of {len(COLUMNS)} columns, {described([rounds])}"
    sizes += f"; the start of the Spark session, {start:.0f} seconds, is not counted"
    named = versions(Spark="pyspark", PyMySQL="PyMySQL", **{package: package for package in filter(is_installed, _OPTIONAL)})
    table = markdown(HEADER, list(contest.lines(options.rows)))
    publish(options, HEADING, machine(sizes, named), table, (), [rounds], contest.chart(options.rows))


if __name__ == "__main__":
    main()
