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
from benchmarks.chart import Bar, Chart
from benchmarks.delta_jars import VERSION, delta_jars
from benchmarks.peers import Contestant, Totals, contestants, has_delta_rs
from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish, ratio, spread, versions
from benchmarks.spark_session import RowCounter, forget, open_spark

HEADING = "The Spark job on files"
PEERS = ("row_number", "duckdb", "delta_rs", "delta_spark")
HEADER = ("changes", "of the base", "", "seconds", "ratio to onefold", "rows read")


@dataclass(frozen=True)
class Took:
    """The seconds of a run, and the rows that Spark's scans have read."""

    seconds: float
    rows: int


@dataclass
class Contest:
    """The figures of one share of changes, by peer, and checksums of the results."""

    spark: SparkSession
    folder: Path
    files: Files
    contestants: Sequence[Contestant]
    rounds: Rounds[Took]
    totals: dict[str, Totals] = field(default_factory=dict)

    def run(self) -> None:
        """Make all rounds.

        Raises:
            SystemExit: two results differ.
        """
        for number in self.rounds:
            folder = self.folder / f"round_{number}"
            files = self.files.copied(folder)
            turn = number % len(self.contestants)
            for contestant in (*self.contestants[turn:], *self.contestants[:turn]):
                self._run_one(contestant, files, folder / "output")
            shutil.rmtree(folder)

    def _run_one(self, contestant: Contestant, files: Files, output: Path) -> None:
        contestant.prepare(files, output)
        forget(self.spark)
        counter = RowCounter(self.spark)
        started = time.perf_counter()
        contestant.run(files, output)
        self.rounds.note(contestant.name, Took(time.perf_counter() - started, counter.take().read))
        self._compare(contestant, contestant.totals(output))
        shutil.rmtree(output)

    def _compare(self, contestant: Contestant, totals: Totals) -> None:
        self.totals[contestant.name] = totals
        if len(set(self.totals.values())) != 1:
            raise SystemExit(f"the results differ: {self.totals}")

    def lines(self, changes: int, share: float) -> Iterator[tuple[str, ...]]:
        own = self._seconds("onefold")
        for name in (contestant.name for contestant in self.contestants):
            rows = sorted({took.rows for took in self.rounds.figures[name]})
            read = "-".join(f"{one:,}" for one in rows) if any(rows) else ""
            compared = ratio(self._seconds(name), own).text() if name != "onefold" else ""
            yield f"{changes:,}", f"{share:.1%}", name, spread(self._seconds(name)).text(1), compared, read

    def losses(self, share: float) -> Iterator[str]:
        for name in self.rounds.figures:
            if round((lost := ratio(self._seconds(name), self._seconds("onefold"))).median, 2) < 1:
                yield f"onefold is slower than {name} at {share:.1%}: {lost.text()}"

    def bars(self, share: float) -> Iterator[Bar]:
        for name in self.rounds.figures:
            yield Bar(f"{share:.1%}, {name}", spread(self._seconds(name)), name == "onefold")

    def _seconds(self, name: str) -> list[float]:
        return [took.seconds for took in self.rounds.figures[name]]


def compete(options: argparse.Namespace, folder: Path, jars: list[Path]) -> tuple[dict[float, Contest], str]:
    """Return the figures of each share of changes, and the sizes."""
    spark = open_spark(options.memory, jars)
    base = make_base(spark, folder, options.rows)
    table = make_table(spark, folder, base)
    peers = contestants(spark, folder, options.peers.split(","), bool(jars))
    found = {}
    for share in map(float, options.shares.split(",")):
        files = Files(base, table, make_changes(spark, folder, options.rows, int(options.rows * share)))
        found[share] = Contest(spark, folder, files, peers, Rounds(options.repeat, again=bool(options.page)))
        found[share].run()
    return found, sizes(base, options, [contest.rounds for contest in found.values()])


def sizes(folder: Path, options: argparse.Namespace, rounds: Sequence[Rounds[Took]]) -> str:
    megabytes = sum(file.stat().st_size for file in folder.glob("*.parquet")) / 1e6
    base = f"a base of {options.rows:,} rows ({megabytes:,.0f} MB of Parquet)"
    return f"{base}, Spark with {options.memory} of memory, {described(rounds)}"


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
        found, measured = compete(options, folder, jars)
    finally:
        shutil.rmtree(folder)
    named = versions(Spark="pyspark", DuckDB="duckdb") | (versions(delta_rs="deltalake") if has_delta_rs() else {})
    named |= {"Delta on Spark": VERSION} if jars else {}
    lines = [line for share, contest in found.items() for line in contest.lines(int(options.rows * share), share)]
    notes = [note for share, contest in found.items() for note in contest.losses(share)]
    chart = Chart(
        "Seconds, by the share of the base that changes", [bar for share in found for bar in found[share].bars(share)]
    )
    rounds = [contest.rounds for contest in found.values()]
    publish(options, HEADING, machine(measured, named), markdown(HEADER, lines), notes, rounds, chart)


if __name__ == "__main__":
    main()
