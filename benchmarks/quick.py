"""The ratios of the benchmarks at small sizes, compared with those of the page: more than a fifth slower is marked.

Run: `PYTHONPATH=tests python -m benchmarks.quick [--page docs/benchmarks.md]`; a few minutes.

Each benchmark runs once after a round that warms up, with tables a tenth or less of their size. A ratio compares two
programs of one run on one machine, so that another machine or other work changes it less than it changes seconds. With
`--page` the ratios are written into the page, to be compared with later.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import add_options, machine, markdown, publish

HEADING = "Quick ratios"
HEADER = ("benchmark", "what", "ratio", "before", "")
ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
SLOWER = 1.2
"""A ratio that got worse by this factor is marked."""
_NUMBER = re.compile(r"[\d.,]+( \([\d.,-]+\))?|")


@dataclass(frozen=True)
class Quick:
    """A benchmark at a small size.

    Attributes:
        module: its name in this package.
        words: its options.
        column: the column of its table that holds the ratio.
        more_is_faster: whether Onefold is faster where the ratio is greater.
    """

    module: str
    words: str
    column: str
    more_is_faster: bool = True

    def run(self) -> str:
        """Return what the benchmark prints.

        Raises:
            SystemExit: it failed.
        """
        command = [sys.executable, "-m", f"benchmarks.{self.module}", *self.words.split()]
        environ = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
        done = subprocess.run(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"benchmarks.{self.module} ended with {done.returncode}")
        return done.stdout

    def ratios(self, printed: str) -> Iterator[tuple[str, float]]:
        """Yield each line of the printed table that has a ratio: what it is about, and the ratio."""
        header, *lines = table_of(printed)
        place = header.index(self.column)
        for line in lines:
            if line[place]:
                yield " ".join(cell for cell in line if cell and not _NUMBER.fullmatch(cell)), float(line[place].split()[0])

    def is_slower(self, ratio: float, before: float) -> bool:
        """Return whether Onefold got slower by more than a fifth.

        >>> Quick("shred", "", "").is_slower(0.8, 1.0), Quick("cold_start", "", "", False).is_slower(1.3, 1.0)
        (True, True)
        """
        return before / ratio > SLOWER if self.more_is_faster else ratio / before > SLOWER


QUICK = (
    Quick("cold_start", "", "ratio to a bare function", more_is_faster=False),
    Quick("shred", "--events 40000 --repeat 1 --memory 1g", "by processors"),
    Quick(
        "reconcile", "--rows 400000 --shares 0.01,0.25 --repeat 1 --memory 1g --peers row_number,duckdb", "ratio to onefold"
    ),
    Quick("loads", "--rows 150000 --repeat 1", "ratio to onefold"),
    Quick("capture", "--rows 40000 --repeat 1 --seconds 2", "ratio"),
    Quick("checks", "--rows 5000 --chunk 2500 --repeat 1", "ratio to both sides alone", more_is_faster=False),
)


def table_of(text: str) -> list[list[str]]:
    """Return the cells of the first table in a text, without the line below the header.

    >>> table_of("One\\n\\n| a | b |\\n|---|---|\\n| 1 |  |\\n\\nMore")
    [['a', 'b'], ['1', '']]
    """
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def ratios_of(page: str) -> dict[tuple[str, str], float]:
    """Return the ratios of a page, by benchmark and by what they are about."""
    section = page.split(f"\n## {HEADING}\n")[-1].split("\n## ")[0]
    return {(line[0], line[1]): float(line[2]) for line in table_of(section)[1:]}


def lines_of(quick: Quick, printed: str, before: Mapping[tuple[str, str], float]) -> Iterator[tuple[str, ...]]:
    """Yield a line of the table for each ratio, marked where Onefold got slower."""
    for what, ratio in quick.ratios(printed):
        known = before.get((quick.module, what))
        mark = "slower" if known and quick.is_slower(ratio, known) else ""
        yield quick.module, what, f"{ratio:.2f}", f"{known:.2f}" if known else "", mark


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="The ratios of the benchmarks at small sizes, compared with those of the page."
    )
    parser.add_argument("--only", default=",".join(one.module for one in QUICK), help="the benchmarks to run")
    add_options(parser)
    options = parser.parse_args(argv)
    before = ratios_of(PAGE.read_text())
    chosen = [one for one in QUICK if one.module in options.only.split(",")]
    lines = [line for one in chosen for line in lines_of(one, one.run(), before)]
    slower = [f"{line[0]}, {line[1]}: {line[3]} -> {line[2]}" for line in lines if line[4]]
    notes = [f"slower than on the page by more than a fifth: {text}" for text in slower]
    publish(options, HEADING, machine("small tables, one round after one that warms up", {}), markdown(HEADER, lines), notes)


if __name__ == "__main__":
    main()
