"""The shredder and its peers, with the same events on the same machine in one run.

Run: `python -m benchmarks.shred [--events 400000] [--repeat 3] [--folder DIR]`.

`from_json`: Spark's own parser with a fixed schema, mode PERMISSIVE and a column of corrupt records, written in the same
format. It validates nothing, knows no reasons, and has no columns of the envelope. `python`: a loop of one process that
parses, validates by the same validator, flattens and writes files of the same format. One event in a hundred is invalid. The
rows of the loop are compared with those of Onefold.

`of the processors` are the seconds that this process and its descendants have used, which other work on the machine does not
change. The rounds alternate. The first one warms up Spark and is not counted. Each round reads new copies of the events.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.chart import Bar, Chart
from benchmarks.processor_time import processor_seconds
from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish, ratio, spread, versions
from benchmarks.shred_events import make_events, make_registry
from benchmarks.shred_peers import Contest
from benchmarks.spark_session import forget, open_spark
from onefold.core.shred_options import FileFormat
from onefold.events.shred.manifest import FORMATS

HEADING = "The shredder"
Took = tuple[float, float]
"""Seconds by the clock, and by the processors."""
HEADER = ("format", "", "seconds", "of the processors", "events a second", "speed of onefold", "by processors")


def measure(contest: Contest, folder: Path, events: Path, rounds: Rounds[Took], valid: int) -> None:
    """Note what each contestant took in each round.

    Raises:
        SystemExit: the numbers of rows differ.
    """
    works = contest.works()
    for number in rounds:
        copy = Path(shutil.copytree(events, folder / f"events_{number}"))
        for name in sorted(works, key=lambda name: (list(works).index(name) + number) % len(works)):
            output = folder / f"output_{name}"
            forget(contest.spark)
            started, used = time.perf_counter(), processor_seconds()
            rows = works[name](copy, output)
            seconds, used = time.perf_counter() - started, processor_seconds() - used
            if rows not in (-1, valid):
                raise SystemExit(f"{name} has {rows:,} rows, expected {valid:,}")
            rounds.note(name, (seconds, used))
            shutil.rmtree(output)
        shutil.rmtree(copy)


def lines_of(format_: FileFormat, rounds: Rounds[Took], events: int) -> list[tuple[str, ...]]:
    figures = {name: ([clock for clock, _ in found], [used for _, used in found]) for name, found in rounds.figures.items()}
    own_seconds, own_used = figures["onefold"]
    return [
        (
            format_, name, spread(seconds).text(1), spread(used).text(1), f"{events / spread(seconds).median:,.0f}",
            *((ratio(seconds, own_seconds).text(), ratio(used, own_used).text()) if name != "onefold" else ("", "")),
        )
        for name, (seconds, used) in figures.items()
    ]  # fmt: skip


def bars(measured: Mapping[FileFormat, Rounds[Took]], events: int) -> Iterator[Bar]:
    for format_, rounds in measured.items():
        for name, found in rounds.figures.items():
            yield Bar(f"{format_}, {name}", spread([used / events * 1e6 for _, used in found]), name == "onefold")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The shredder and its peers.")
    parser.add_argument("--events", type=int, default=400_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--folder", type=Path, help="where the data go; a temporary folder by default")
    add_options(parser)
    options = parser.parse_args(argv)
    spark = open_spark(options.memory, [])
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        make_registry(folder / "registry")
        valid = make_events(folder / "events", options.events)
        size = sum(path.stat().st_size for path in (folder / "events").iterdir()) / 1e6
        measured = {format_: Rounds[Took](options.repeat, again=bool(options.page)) for format_ in FORMATS}
        for format_, rounds in measured.items():
            measure(Contest(spark, folder / "registry", format_), folder, folder / "events", rounds, valid)
    finally:
        shutil.rmtree(folder)
    sizes = f"{options.events:,} events of 20 fields ({size:,.0f} MB), {described(list(measured.values()))}"
    named = versions(Spark="pyspark", jsonschema_rs="jsonschema-rs", orjson="orjson")
    lines = [line for format_ in measured for line in lines_of(format_, measured[format_], options.events)]
    chart = Chart("Microseconds of the processors for an event", list(bars(measured, options.events)))
    publish(options, HEADING, machine(sizes, named), markdown(HEADER, lines), (), list(measured.values()), chart)


if __name__ == "__main__":
    main()
