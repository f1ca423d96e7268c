"""The memory of a pull, a copy by capture, a merge and a shred over many rows, as a graph.

Run: `PYTHONPATH=tests python -m benchmarks.many_rows [--rows 100000000] [--stages pull,copy,merge,shred] [--chart FILE]`. It
needs `mariadbd`; 100 million rows take many hours and some 200 GB of disk.

Each stage is what the command or the job runs, in a process of its own. The resident memory of this process and its children
(of Spark the JVM and its Python workers) is read twice a second from when it begins to work; the source, the receiver of
messages and the making of files are not part of it. A stage is flat if its last quarter needs no more than its second one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.capture import RemoteReceiver, arguments, remote_receiver
from benchmarks.change_data import Files, make_base, make_changes
from benchmarks.load_peers import DATABASE, Onefold, Server
from benchmarks.loads import open_spark as open_pull
from benchmarks.loads import server_of
from benchmarks.peers import contestants
from benchmarks.report import add_options, machine, markdown, publish, versions
from benchmarks.shred_events import make_events, make_registry
from benchmarks.shred_peers import Contest
from benchmarks.spark_session import open_spark
from onefold.cli.capture import capture as command
from onefold.cli.capture import prepared_capture
from onefold.cli.capture_options import address_of, options_from
from onefold.settings.environment import Settings
from onefold_lab.processes import bigquery_emulator
from onefold_lab.stand_ins.warehouse import emulator_client

HEADING = "Memory over many rows"
HEADER = ("stage", "rows", "seconds", "rows a second", "MB, second quarter", "MB, last quarter", "MB, peak")
_SPARK_MEMORY = "2g"
_COLOURS = {"pull": "#2f7d6d", "copy": "#b9543a", "merge": "#4a5fa5", "shred": "#a5884a"}
_spawn = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Scene:
    """What a stage works with.

    rows: how many.
    folder: for its files.
    server: with a table of so many rows.
    environ: the environment of a receiver of messages.
    """

    rows: int
    folder: Path
    server: Server
    environ: dict[str, str]


Stage = Callable[[Scene, Callable[[], None]], None]
"""Works in a scene, and calls its second argument when its own work begins."""


@dataclass
class Measured:
    """The resident memory of a stage: seconds since it began, and MB."""

    stage: str
    rows: int
    samples: list[tuple[float, float]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.samples[-1][0]

    def quarter(self, number: int) -> float:
        """Return the median MB of a quarter of the time, from 1."""
        first, last = (self.seconds * one / 4 for one in (number - 1, number))
        return statistics.median(size for at, size in self.samples if first <= at <= last)

    @property
    def peak(self) -> float:
        return max(size for _, size in self.samples)

    def line(self) -> tuple[str, ...]:
        sizes = (f"{size:,.0f}" for size in (self.quarter(2), self.quarter(4), self.peak))
        return self.stage, f"{self.rows:,}", f"{self.seconds:,.0f}", f"{self.rows / self.seconds:,.0f}", *sizes


def pull_rows(scene: Scene, begin: Callable[[], None]) -> None:
    """Pull a table into files by Spark, as the job does."""
    spark, _ = open_pull()
    begin()
    Onefold(spark).run(scene.server, scene.folder)


def copy_rows(scene: Scene, begin: Callable[[], None]) -> None:
    """Copy a table by capture, up to the confirmation of the last message."""
    os.environ.update(scene.environ)
    words = [*arguments(scene.server.port, DATABASE, str(scene.folder / "checkpoint")), "--snapshot", "--once"]
    options = command.make_context("capture", words).params
    where = address_of(options, os.environ)
    process = prepared_capture(Settings(), where, options_from(options), options, lambda *_: None)
    begin()
    process.run()


def merge_rows(scene: Scene, begin: Callable[[], None]) -> None:
    """Merge as many changes into a base of four times as many rows."""
    spark = open_spark(_SPARK_MEMORY, [])
    base = make_base(spark, scene.folder, 4 * scene.rows)
    files = Files(base, base, make_changes(spark, scene.folder, 4 * scene.rows, scene.rows))
    (own,) = contestants(spark, scene.folder, [], has_delta=False)
    begin()
    own.run(files, scene.folder / "output")


def shred_rows(scene: Scene, begin: Callable[[], None]) -> None:
    """Shred events into Parquet."""
    make_registry(scene.folder / "registry")
    make_events(scene.folder / "events", scene.rows)
    spark = open_spark(_SPARK_MEMORY, [])
    begin()
    Contest(spark, scene.folder / "registry", "parquet").works()["onefold"](scene.folder / "events", scene.folder / "output")


STAGES: dict[str, Stage] = {"pull": pull_rows, "copy": copy_rows, "merge": merge_rows, "shred": shred_rows}


def _work(stage: str, scene: Scene, pipe: Connection) -> None:
    STAGES[stage](scene, lambda: pipe.send("begun"))


def measure(stage: str, rows: int, server: Server, environ: dict[str, str]) -> Measured:
    """Run a stage in a process of its own, and read its memory.

    Raises:
        SystemExit: the stage failed.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"many_{stage}_"))
    folder.chmod(0o777)
    receiver, sender = _spawn.Pipe(duplex=False)
    process = _spawn.Process(target=_work, args=(stage, Scene(rows, folder, server, environ), sender))
    process.start()
    sender.close()
    found = Measured(stage, rows)
    with suppress(EOFError):  # it failed before it began, which its exit code says
        receiver.recv()
    started = time.perf_counter()
    while process.is_alive():
        found.samples.append((time.perf_counter() - started, resident(process.pid or 0)))
        process.join(0.5)
    shutil.rmtree(folder)
    if process.exitcode:
        raise SystemExit(f"{stage} has failed, see above")
    return found


def resident(pid: int) -> float:
    """Return the resident memory of a process and all below it in MB."""
    total = 0
    waiting = [str(pid)]
    while waiting:
        number = waiting.pop()
        with suppress(OSError):  # a process that has ended
            total += int(Path(f"/proc/{number}/statm").read_text().split()[1])
            for path in Path(f"/proc/{number}/task").glob("*/children"):
                waiting += path.read_text().split()
    return total * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def receiver() -> Iterator[RemoteReceiver]:
    """A receiver of messages and an embedded BigQuery, in processes of their own."""
    with remote_receiver() as remote, bigquery_emulator() as host:
        emulator_client("bench", host).create_dataset("bench")
        yield replace(remote, environ=remote.environ | {"BIGQUERY_EMULATOR_HOST": host})


def measured_stages(stages: Sequence[str], rows: int) -> list[Measured]:
    """Run stages one after the other.

    Raises:
        SystemExit: one failed, or rows of the copy are missing.
    """
    with server_of(rows, has_log=True) as server, receiver() as remote:
        found = [measure(stage, rows, server, remote.environ) for stage in stages]
        arrived = remote.take()[0]
    if "copy" in stages and arrived != rows:
        raise SystemExit(f"{arrived:,} rows have arrived of {rows:,}")
    return found


def graph(found: Sequence[Measured]) -> str:
    """Return the memory of each stage over the share of its time, as SVG."""
    width, height, left, top = 720, 320, 60, 30
    most = max(one.peak for one in found) * 1.1
    parts = [f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = height - 40 - share * (height - 40 - top)
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{width - 90}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="4" y="{y + 4:.1f}">{most * share:,.0f} MB</text>')
    for one in found:
        points = " ".join(
            f"{left + at / one.seconds * (width - 90 - left):.1f},{height - 40 - size / most * (height - 40 - top):.1f}"
            for at, size in one.samples
        )
        end = height - 40 - one.samples[-1][1] / most * (height - 40 - top)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{_COLOURS[one.stage]}" stroke-width="2"/>')
        parts.append(f'<text x="{width - 84}" y="{end + 4:.1f}" fill="{_COLOURS[one.stage]}">{one.stage}</text>')
    title = f'<text x="{left}" y="18">Resident memory from the begin of each stage to its end, {found[0].rows:,} rows</text>'
    body = "\n".join([*parts, title])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" font-family="sans-serif" '
        f'font-size="12">\n{body}\n</svg>\n'
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The memory of each stage over many rows.")
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--chart", type=Path, help="where the graph is written")
    add_options(parser)
    options = parser.parse_args(argv)
    load = os.getloadavg()[0]
    found = measured_stages(options.stages.split(","), options.rows)
    if options.chart:
        options.chart.write_text(graph(found))
    sizes = f"{options.rows:,} rows, Spark with {_SPARK_MEMORY} of memory, a load average of {load:.0f} before"
    publish(options, HEADING, machine(sizes, versions(Spark="pyspark")), markdown(HEADER, [one.line() for one in found]))


if __name__ == "__main__":
    main()
