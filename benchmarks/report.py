"""Tables of figures in Markdown, printed or written into the page that `--page` names, with charts in `charts`."""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from benchmarks.processor_time import adopt_orphans
from benchmarks.quiet import MOST, Disturbed, Rounds, reading


class Picture(Protocol):
    """A chart that is written into the folder `charts` of the page."""

    @property
    def title(self) -> str:
        """What it shows, with the unit."""

    def svg(self) -> str:
        """Return the chart as SVG."""


@dataclass(frozen=True)
class Spread:
    """Figures of several rounds: their median, and the lowest and the highest."""

    median: float
    low: float
    high: float

    def text(self, digits: int = 2) -> str:
        """Return the median, with the range where there is one.

        >>> Spread(2.0, 1.9, 2.25).text()
        '2.00 (1.90-2.25)'
        """
        if self.low == self.high:
            return f"{self.median:.{digits}f}"
        return f"{self.median:.{digits}f} ({self.low:.{digits}f}-{self.high:.{digits}f})"


def spread(figures: Sequence[float]) -> Spread:
    return Spread(statistics.median(figures), min(figures), max(figures))


def ratio(peer: Sequence[float], own: Sequence[float]) -> Spread:
    """Return the median of a peer divided by that of the job, with the range of the ratios of single rounds.

    >>> ratio([4.0, 6.0, 9.0], [2.0, 2.0, 3.0]).text()
    '3.00 (2.00-3.00)'
    """
    rounds = [a / b for a, b in zip(peer, own, strict=True)]
    return Spread(statistics.median(peer) / statistics.median(own), min(rounds), max(rounds))


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [header, *rows]
    written = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([written[0], f"|{'---|' * len(header)}", *written[1:]])


def publish(
    options: argparse.Namespace,
    heading: str,
    machine: str,
    table: str,
    notes: Sequence[str] = (),
    rounds: Sequence[Rounds[Any]] = (),
    chart: Picture | None = None,
) -> None:
    """Print a table of figures; with `--page`, put it into that page, below the heading, and the chart into `charts`.

    Args:
        options: those of `add_options`.
        heading: the text of a heading of the page, `## ` or `### ` left out.
        machine: what the figures were measured with (versions, cores, sizes), one line.
        table: the figures.
        notes: one line each, printed below the table.
        rounds: the rounds of each measurement; none for figures without rounds, for which the machine has to be quiet since
            the start.
        chart: shows the figures, or some of them.

    Raises:
        Disturbed: the figures were not written into the page, because the machine was busy.
    """
    block = "\n\n".join([machine, table, *(["\n".join(f"- {note}" for note in notes)] if notes else [])])
    print(f"{heading}\n\n{block}\n", flush=True)
    if not options.page:
        return
    for one in rounds:
        one.check()
    if not rounds:
        check_quiet(options)
    if chart:
        picture = options.page.parent / "charts" / f"{slug(heading)}.svg"
        picture.parent.mkdir(exist_ok=True)
        picture.write_text(chart.svg())
        block += f"\n\n![{chart.title}](charts/{picture.name})"
    options.page.write_text(replaced(options.page.read_text(), heading, block))


def check_quiet(options: argparse.Namespace) -> None:
    """Check that nothing else has used the machine since the start of the program.

    Raises:
        Disturbed: others used more than their share.
    """
    share = reading().share_since(options.began)
    if share > MOST:
        raise Disturbed(
            f"the figures were not written: others used {share:.0%} of the processors, expected at most {MOST:.0%}. End "
            "the other processes, and begin again"
        )


def slug(heading: str) -> str:
    """Return the name of a heading's chart.

    >>> slug("Spark's work where the base is in BigQuery")
    'spark-s-work-where-the-base-is-in-bigquery'
    """
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def replaced(page: str, heading: str, block: str) -> str:
    """Return the page with another block of figures: all between `Measured` and the end of the heading's section.

    Raises:
        ValueError: the page has no such heading, or no figures below it.
    """
    pattern = re.compile(rf"(^##+ {re.escape(heading)}\n(?:(?!^#).*\n)*?)^Measured(?:(?!^#).*(?:\n|\Z))*", re.MULTILINE)
    new, count = pattern.subn(lambda match: f"{match[1]}{block}\n\n", page)
    if count != 1:
        raise ValueError(f"expected the heading {heading!r} with a line that begins with 'Measured', got {count}: add it")
    return new.rstrip("\n") + "\n"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add `--page`, and begin to measure what others use, to which no process counts that descends from this one."""
    adopt_orphans()
    parser.add_argument(
        "--page", type=Path, help="the page whose table of figures is replaced, if nothing else uses the machine"
    )
    parser.set_defaults(began=reading())


def machine(sizes: str, versions: Mapping[str, str]) -> str:
    """Return the line with the date, the versions and the sizes of a measurement."""
    python = f"Python {platform.python_version()}"
    named = ", ".join([python, *(f"{name} {version}" for name, version in versions.items())])
    today = datetime.now(UTC).date()
    return f"Measured on {today}, on {os.cpu_count()} cores ({platform.machine()}) with {named}: {sizes}."


def versions(**packages: str) -> dict[str, str]:
    """Return the installed version of each package, by the name under which the figures show it."""
    return {name.replace("_", "-"): metadata.version(package) for name, package in packages.items()}
