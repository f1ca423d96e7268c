"""The Spark job on files and its peers, with the same data on the same machine in one run.

Run: `python -m benchmarks.reconcile [--rows 4000000] [--shares 0.001,0.01,0.25] [--repeat 3] [--folder DIR]`. delta-rs and
Delta on Spark take part where they can be had: `make bench` brings both.

A base of so many rows, written by the job itself, and changes of a share of it: updates, one insertion in ten, one deletion
in ten, one key in five changed twice. `benchmarks.peers` describes the peers. All write the new base (those with MERGE: the
files that they have to replace), and all results are compared by count, deleted rows and sums.

The rounds alternate, and each begins with another contestant. The first one warms up Spark and is not counted. Nothing is
left over from one run for the next: each round reads new copies of all files, writes new ones, and Spark's cache is cleared
before each run. `rows read` is what Spark's scans have read in the counted rounds: fewer than the changes, and for a peer
than the changes and the rows of the base, would show that something was cached. The job reads its base by Arrow.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.change_data import Files, make_base, make_changes, make_table
from benchmarks.delta_jars import VERSION, delta_jars
from benchmarks.peers import Contestant, Totals, contestants, has_delta_rs
from benchmarks.report import add_options, machine, markdown, publish, ratio, rounds, spread, versions
from benchmarks.spark_session import RowCounter, forget, open_spark

HEADING = "The Spark job on files"
PEERS = ("row_number", "duckdb", "delta_rs", "delta_spark")
HEADER = ("changes", "of the base", "", "seconds", "ratio to onefold", "rows read")


@dataclass
class Contest:
    """The figures of one share of changes: seconds and rows read by peer and counted round, and checksums of the results."""

    spark: SparkSession
    folder: Path
    files: Files
    contestants: Sequence[Contestant]
    seconds: dict[str, list[float]] = field(default_factory=dict)
    rows_read: dict[str, set[int]] = field(default_factory=dict)
    totals: dict[str, Totals] = field(default_factory=dict)

    def run(self, count: int) -> None:
        """The round before the first one warms up.

        Raises:
            SystemExit: two results differ.
        """
        for number in range(count + 1):
            folder = self.folder / f"round_{number}"
            files = self.files.copied(folder)
            turn = number % len(self.contestants)
            for contestant in (*self.contestants[turn:], *self.contestants[:turn]):
                self._run_one(contestant, files, folder / "output", counted=number > 0)
            shutil.rmtree(folder)

    def _run_one(self, contestant: Contestant, files: Files, output: Path, counted: bool) -> None:
        contestant.prepare(files, output)
        forget(self.spark)
        counter = RowCounter(self.spark)
        started = time.perf_counter()
        contestant.run(files, output)
        seconds = time.perf_counter() - started
        if counted:
            self.seconds.setdefault(contestant.name, []).append(seconds)
            self.rows_read.setdefault(contestant.name, set()).add(counter.take().read)
        self._compare(contestant, contestant.totals(output))
        shutil.rmtree(output)

    def _compare(self, contestant: Contestant, totals: Totals) -> None:
        self.totals[contestant.name] = totals
        if len(set(self.totals.values())) != 1:
            raise SystemExit(f"the results differ: {self.totals}")

    def lines(self, changes: int, share: float) -> Iterator[tuple[str, ...]]:
        own = self.seconds["onefold"]
        for name in (contestant.name for contestant in self.contestants):
            seconds = self.seconds[name]
            read = "-".join(f"{rows:,}" for rows in sorted(self.rows_read[name])) if any(self.rows_read[name]) else ""
            compared = ratio(seconds, own).text() if name != "onefold" else ""
            yield f"{changes:,}", f"{share:.1%}", name, spread(seconds).text(1), compared, read

    def losses(self, share: float) -> Iterator[str]:
        for name, seconds in self.seconds.items():
            if round((lost := ratio(seconds, self.seconds["onefold"])).median, 2) < 1:
                yield f"onefold is slower than {name} at {share:.1%}: {lost.text()}"


def compete(options: argparse.Namespace, folder: Path, jars: list[Path]) -> tuple[list[tuple[str, ...]], list[str], str]:
    """Return the lines of the table, the notes below it, and the sizes."""
    spark = open_spark(options.memory, jars)
    base = make_base(spark, folder, options.rows)
    table = make_table(spark, folder, base)
    peers = contestants(spark, folder, options.peers.split(","), bool(jars))
    lines: list[tuple[str, ...]] = []
    notes: list[str] = []
    for share in map(float, options.shares.split(",")):
        changes = int(options.rows * share)
        contest = Contest(spark, folder, Files(base, table, make_changes(spark, folder, options.rows, changes)), peers)
        contest.run(options.repeat)
        lines += contest.lines(changes, share)
        notes += contest.losses(share)
    return lines, notes, sizes(base, options)


def sizes(folder: Path, options: argparse.Namespace) -> str:
    megabytes = sum(file.stat().st_size for file in folder.glob("*.parquet")) / 1e6
    base = f"a base of {options.rows:,} rows ({megabytes:,.0f} MB of Parquet)"
    return f"{base}, Spark with {options.memory} of memory, {rounds(options.repeat)}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The Spark job on files and its peers.")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--shares", default="0.001,0.01,0.25")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--peers", default=",".join(PEERS), help="of row_number, duckdb, delta_rs and delta_spark")
    parser.add_argument("--folder", type=Path, help="where the data go; a temporary folder by default")
    add_options(parser)
    options = parser.parse_args(argv)
    jars = delta_jars() if "delta_spark" in options.peers else []
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        lines, notes, measured = compete(options, folder, jars)
    finally:
        shutil.rmtree(folder)
    named = versions(Spark="pyspark", DuckDB="duckdb") | (versions(delta_rs="deltalake") if has_delta_rs() else {})
    named |= {"Delta on Spark": VERSION} if jars else {}
    publish(options, HEADING, machine(measured, named), markdown(HEADER, lines), notes)


if __name__ == "__main__":
    main()
