"""Tables of figures in Markdown, printed or written into the page that `--page` names."""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path


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


def publish(options: argparse.Namespace, heading: str, machine: str, table: str, notes: Sequence[str] = ()) -> None:
    """Print a table of figures; with `--page`, put it into that page, below the heading.

    Args:
        heading: the text of a heading of the page, `## ` or `### ` left out.
        machine: what the figures were measured with (versions, cores, sizes), one line.
        notes: one line each, printed below the table.
    """
    block = "\n\n".join([machine, table, *(["\n".join(f"- {note}" for note in notes)] if notes else [])])
    print(f"{heading}\n\n{block}\n", flush=True)
    if options.page:
        options.page.write_text(replaced(options.page.read_text(), heading, block))


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
    parser.add_argument("--page", type=Path, help="the page whose table of figures is replaced")


def rounds(count: int) -> str:
    """Return the number of counted rounds.

    >>> rounds(3)
    '3 rounds after one that warms up'
    """
    return f"{count} round{'s' if count > 1 else ''} after one that warms up"


def machine(sizes: str, versions: Mapping[str, str]) -> str:
    """Return the line with the versions and sizes of a measurement."""
    python = f"Python {platform.python_version()}"
    named = ", ".join([python, *(f"{name} {version}" for name, version in versions.items())])
    return f"Measured on {os.cpu_count()} cores ({platform.machine()}) with {named}: {sizes}."


def versions(**packages: str) -> dict[str, str]:
    """Return the installed version of each package, by the name under which the figures show it."""
    return {name.replace("_", "-"): metadata.version(package) for name, package in packages.items()}
