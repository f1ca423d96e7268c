"""A benchmark of this tree and of an earlier commit, in alternating runs on one machine.

Run: `PYTHONPATH=tests python -m benchmarks.against REF MODULE [--rounds 3] [-- WORDS]`, as `python -m benchmarks.against
HEAD~20 capture -- --rows 100000`.

The earlier commit is checked out into a folder of its own, and gets the environment of its own lock file by `make install`.
Each run is a process with one round after one that warms up. `speed` is the median of the earlier figures divided by that of
the present ones for columns of seconds, and the other way round for columns of rows or events a second: above 1, this tree
is faster.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.quick import table_of
from benchmarks.report import Spread, markdown, ratio, spread

ROOT = Path(__file__).resolve().parents[1]
HEADER = ("what", "figure", "before", "now", "speed")
_RATE = re.compile(r"a second|/s$")
_TIME = re.compile(r"second|\bms\b|\bs$|processors|µs")
_FIGURE = re.compile(r"[\d,]+(\.\d+)?( \(.*\))?")

Key = tuple[str, str]
"""The line of a table, by its cells that are no figures, and the column."""


@dataclass
class Runs:
    """The figures of all runs of one tree, by line and column."""

    tree: Path
    figures: dict[Key, list[float]] = field(default_factory=dict)

    def run(self, module: str, words: Sequence[str]) -> None:
        """Run the benchmark once more.

        Raises:
            SystemExit: it failed.
        """
        command = [str(self.tree / ".venv" / "bin" / "python"), "-m", f"benchmarks.{module}", *words]
        environ = {**os.environ, "PYTHONPATH": f"{self.tree}{os.pathsep}{self.tree / 'tests'}"}
        done = subprocess.run(command, cwd=self.tree, env=environ, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"benchmarks.{module} in {self.tree} ended with {done.returncode}")
        for key, figure in figures_of(done.stdout):
            self.figures.setdefault(key, []).append(figure)


def figures_of(printed: str) -> Iterator[tuple[Key, float]]:
    """Yield the times and rates of a printed table.

    >>> list(figures_of("| log | rows | capture, rows/s |\\n|---|---|---|\\n| 5 columns | 2,000 | 2,197 |"))
    [(('5 columns', 'capture, rows/s'), 2197.0)]
    """
    header, *lines = table_of(printed)
    for line in lines:
        name = " ".join(cell for cell in line if cell and not _FIGURE.fullmatch(cell))
        for column, cell in zip(header, line, strict=True):
            if (_RATE.search(column) or _TIME.search(column)) and (found := _FIGURE.fullmatch(cell)):
                yield (name, column), float(found[0].split()[0].replace(",", ""))


def lines_of(before: Mapping[Key, Sequence[float]], now: Mapping[Key, Sequence[float]]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each figure that both trees have."""
    for (name, column), figures in now.items():
        former = before.get((name, column))
        if former and len(former) == len(figures) and all((*former, *figures)):
            speed = ratio(figures, former) if _RATE.search(column) else ratio(former, figures)
            yield name, column, *(shown(spread(each)) for each in (former, figures)), speed.text()


def shown(figure: Spread) -> str:
    """Return a figure with as many decimals as it needs.

    >>> shown(Spread(2197.0, 2000.0, 2200.0)), shown(Spread(1.5, 1.5, 1.5))
    ('2197 (2000-2200)', '1.50')
    """
    return figure.text(0 if figure.median >= 100 else 2)


@contextmanager
def tree_of(ref: str) -> Iterator[Path]:
    """Check out a commit, with an environment of its own; remove both afterwards."""
    with tempfile.TemporaryDirectory(prefix="against-") as folder:
        tree = Path(folder) / "onefold"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), ref], cwd=ROOT, check=True)
        try:
            subprocess.run(["make", "--silent", "install"], cwd=tree, check=True)
            yield tree
        finally:
            shutil.rmtree(tree)
            subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="A benchmark of this tree and of an earlier commit.")
    parser.add_argument("ref", help="the earlier commit")
    parser.add_argument("module", help="the benchmark, as capture")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("words", nargs="*", help="options of the benchmark, behind --")
    options = parser.parse_args(argv)
    words = ["--repeat", "1", *options.words]
    with tree_of(options.ref) as tree:
        before, now = Runs(tree), Runs(ROOT)
        for number in range(options.rounds):
            for runs in (before, now) if number % 2 else (now, before):
                runs.run(options.module, words)
    print(markdown(HEADER, list(lines_of(before.figures, now.figures))))


if __name__ == "__main__":
    main()
