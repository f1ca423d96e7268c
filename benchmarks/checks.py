"""The exact check of a table, beside reading both sides alone and beside Google's Data Validation Tool.

Run: `PYTHONPATH=tests python -m benchmarks.checks [--rows 200000] [--repeat 3] [--validation VENV/bin/python]`. It needs
`mariadbd`. The tool takes part where an environment with `google-pso-data-validator` is named.

A MariaDB and the embedded BigQuery of this machine. The rounds alternate, each begins with another contestant, and the first
one warms up. Each check writes new files and temporary tables; no result of a query is kept. Each contestant has to see
all rows. In the end differences are planted, which are in no figure of time, and each comparison says how many rows differ.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.chart import Bar, Chart
from benchmarks.check_peers import Contestant, Onefold, Result, SourceAlone, Validation, ViewAlone
from benchmarks.check_scene import PLANTED, CheckedShop, checked_shop
from benchmarks.load_peers import COLUMNS
from benchmarks.loads import server_of
from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish, ratio, spread, versions

HEADING = "Checks against the source"
HEADER = ("", "seconds", "rows a second", "ratio to both sides alone", f"of {len(PLANTED)} rows that differ", "seconds then")


@dataclass
class Contest:
    """The results of the rounds that count, by contestant, and of the planted differences."""

    shop: CheckedShop
    contestants: Sequence[Contestant]
    rows: int
    rounds: Rounds[Result]
    differing: dict[str, Result] = field(default_factory=dict)

    @property
    def results(self) -> Mapping[str, Sequence[Result]]:
        return self.rounds.figures

    def run(self) -> None:
        """Make all rounds; then plant differences, and compare once more."""
        for number in self.rounds:
            turn = number % len(self.contestants)
            for contestant in (*self.contestants[turn:], *self.contestants[:turn]):
                self.rounds.note(contestant.name, self._run_one(contestant))
        for statement in PLANTED:
            self.shop.run(statement)
        for contestant in self.contestants:
            if self.results[contestant.name][0].found is not None:
                self.differing[contestant.name] = contestant.run(self.shop)

    def _run_one(self, contestant: Contestant) -> Result:
        """Run one contestant.

        Raises:
            SystemExit: it has not seen all rows, or has found differences where there is none.
        """
        result = contestant.run(self.shop)
        if result.rows != self.rows or result.found:
            raise SystemExit(f"{contestant.name}: expected {self.rows} rows and no difference, got {result}")
        return result

    def lines(self) -> Iterator[tuple[str, ...]]:
        both = [a + b for a, b in zip(self._seconds(SourceAlone.name), self._seconds(ViewAlone.name), strict=True)]
        for name in (contestant.name for contestant in self.contestants):
            results, seconds = self.results[name], self._seconds(name)
            against = "" if results[0].found is None else ratio(seconds, both).text()
            then = self.differing.get(name)
            last = (str(then.found), f"{then.seconds:.1f}") if then else ("", "")
            yield name, spread(seconds).text(1), self._speed(seconds), against, *last

    def chart(self) -> Chart:
        bars = [Bar(name, spread(self._seconds(name)), name == "onefold") for name in self.results]
        return Chart(f"Seconds to read or check {self.rows:,} rows", bars)

    def _seconds(self, name: str) -> list[float]:
        return [result.seconds for result in self.results[name]]

    def _speed(self, seconds: Sequence[float]) -> str:
        return f"{self.rows / spread(seconds).median:,.0f}"


def measure(rows: int, rounds: Rounds[Result], chunk: int, tool: Validation | None = None) -> Contest:
    """Return the figures."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="checks_")))
        shop = stack.enter_context(checked_shop(stack.enter_context(server_of(rows)), folder))
        contestants: list[Contestant] = [SourceAlone(), ViewAlone(), Onefold(chunk)]
        if tool:
            tool.connect(shop)
            contestants.append(tool)
        contest = Contest(shop, contestants, rows, rounds)
        contest.run()
        return contest


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="How fast a table is compared exactly with its source.")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--chunk", type=int, default=100_000, help="about the rows of a chunk")
    parser.add_argument("--repeat", type=int, default=3, help="counted rounds")
    parser.add_argument("--validation", type=Path, help="the interpreter of an environment with google-pso-data-validator")
    add_options(parser)
    options = parser.parse_args(argv)
    rounds = Rounds[Result](options.repeat, again=bool(options.page))
    tool = Validation(options.validation) if options.validation else None
    contest = measure(options.rows, rounds, options.chunk, tool)
    sizes = f"{options.rows:,} rows of {len(COLUMNS)} columns in chunks of {options.chunk:,}, {described([rounds])}"
    named = versions(PyMySQL="PyMySQL", bqemulator="bqemulator") | ({tool.name: tool.version()} if tool else {})
    publish(options, HEADING, machine(sizes, named), markdown(HEADER, list(contest.lines())), (), [rounds], contest.chart())


if __name__ == "__main__":
    main()
