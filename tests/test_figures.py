"""The figures of the benchmarks: ratios, rounds that count, charts, and what is written into the page."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.capture import eventually

from benchmarks import against, quick
from benchmarks.chart import Bar, Chart
from benchmarks.quiet import Reading, Rounds, reading
from benchmarks.report import markdown, publish, ratio, replaced, spread

ROOT = Path(__file__).resolve().parents[1]
TABLE = "| log | rows | seconds | rows/s | ratio |\n|---|---|---|---|---|\n| wide | 2,000 | {} | {} | 0.5 |"
PRINTED = f"Capture\n\nMeasured now.\n\n{TABLE}\n"


def test_figures_of_one_section_replace_no_others() -> None:
    page = "# Page\n\n## One\n\nProse.\n\nMeasured long ago.\n\n| a |\n|---|\n\n- lost\n\n## Two\n\nMeasured, too.\n"
    assert (
        replaced(page, "One", "Measured.\n\n| b |")
        == "# Page\n\n## One\n\nProse.\n\nMeasured.\n\n| b |\n\n## Two\n\nMeasured, too.\n"
    )
    assert replaced(page, "Two", "Measured.") == page.replace("Measured, too.", "Measured.")
    with pytest.raises(ValueError, match="expected the heading 'Three'"):
        replaced(page, "Three", "Measured.")


def test_ratios_are_of_medians_and_their_range_is_that_of_the_rounds() -> None:
    assert ratio([4.0, 6.0, 9.0], [2.0, 2.0, 3.0]).text() == "3.00 (2.00-3.00)"
    assert spread([1.0, 3.0, 2.0]).text(1) == "2.0 (1.0-3.0)"
    assert spread([1.5]).text() == "1.50"
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n|---|---|\n| 1 | 2 |"


@contextmanager
def busy() -> Iterator[int]:
    """Let a process that does not descend from this one use a processor, and return its number."""
    endless = "import os; print(os.getpid(), flush=True)\nwhile True: pass"
    with subprocess.Popen(["setsid", "--fork", sys.executable, "-c", endless], stdout=subprocess.PIPE) as started:
        number = int(started.stdout.readline())  # type: ignore[union-attr]
        yield number
        os.kill(number, signal.SIGKILL)


def test_a_round_beside_other_work_is_made_again_and_a_quiet_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = iter([0.3, 0.01, 0.06, 0.05, 0.0])

    class Read:
        def share_since(self, former: object) -> float:  # noqa: ARG002
            return next(shares)

    monkeypatch.setattr("benchmarks.quiet.reading", Read)
    rounds = Rounds[int](3, again=True)
    for number in rounds:
        rounds.note("own", number)
    assert rounds.figures == {"own": [2, 4, 5]}
    assert (rounds.quiet, rounds.dropped) == (3, 2)
    rounds.check()


def test_figures_of_a_busy_machine_are_printed_and_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("## One\n\nMeasured long ago.\n")
    options = argparse.Namespace(page=page)
    rounds = Rounds[int](3, shares=[0.5, 0.0, 0.0])
    with pytest.raises(SystemExit, match="2 of 3 rounds were quiet, expected 3"):
        publish(options, "One", "Measured now.", "| a |", (), [rounds])
    assert "Measured now." in capsys.readouterr().out
    assert page.read_text() == "## One\n\nMeasured long ago.\n"


def test_a_process_that_does_not_descend_from_the_benchmark_counts_as_another() -> None:
    assert os.getpid() not in reading().others
    with busy() as number:
        eventually(lambda: reading().others.get(number, 0.0) > 0.1)


def test_what_others_use_is_the_growth_of_those_that_are_there_and_what_was_stolen() -> None:
    """Process 8 ended, and 7, its parent, has its time; 9 began; 10 only waited."""
    former = Reading(10.0, 1.0, {7: 2.0, 8: 0.5, 10: 4.0})
    now = Reading(20.0, 1.25, {7: 3.0, 9: 0.25, 10: 4.0})
    assert now.share_since(former) == pytest.approx(1.5 / 10 / (os.cpu_count() or 1))
    assert former.share_since(former) == 0.0


ORPHAN = """
import os, resource
sum(range(5_000_000))
used = resource.getrusage(resource.RUSAGE_SELF)
print(os.getpid(), used.ru_utime + used.ru_stime)
"""
JOB = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]])"
BENCHMARK = """
import os, subprocess, sys
from benchmarks.processor_time import TICKS, adopt_orphans, processor_seconds
from benchmarks.quiet import reading
adopt_orphans()
before = processor_seconds()
done = subprocess.run([sys.executable, "-c", *sys.argv[1:]], stdout=subprocess.PIPE, text=True, check=True)
number, used = done.stdout.split()
others = reading().others
print(processor_seconds() - before > float(used) - 2 / TICKS, int(number) in others, os.getppid() in others)
"""


def test_a_process_that_outlives_its_job_counts_as_one_of_the_benchmark() -> None:
    """As the JVM of a Spark job, which ends after its Python. The process of this test is another one for the benchmark."""
    command = [sys.executable, "-c", BENCHMARK, JOB, ORPHAN]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True False True\n"


def test_a_chart_has_a_bar_for_each_figure_in_its_proportion(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("## One & two\n\nMeasured long ago.\n")
    bars = [Bar("onefold", spread([2.0]), True), Bar("a <peer>", spread([3.0, 4.0, 5.0]))]
    publish(
        argparse.Namespace(page=page),
        "One & two",
        "Measured now.",
        "| a |",
        (),
        [Rounds(3, shares=[0.0] * 3)],
        Chart("Seconds", bars),
    )
    assert page.read_text() == "## One & two\n\nMeasured now.\n\n| a |\n\n![Seconds](charts/one-two.svg)\n"
    svg = ElementTree.fromstring((tmp_path / "charts" / "one-two.svg").read_text())
    names = {"svg": "http://www.w3.org/2000/svg"}
    widths = [float(bar.get("width", "")) for bar in svg.findall("svg:rect", names)[1:]]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert [text.text for text in svg.findall("svg:text", names)] == ["Seconds", "onefold", "2.0", "a <peer>", "4.0"]


def test_figures_of_an_earlier_commit_are_compared_by_line_and_column() -> None:
    before, now = (
        [dict(against.figures_of(PRINTED.format(*words)))] for words in (("4.0", "1,000"), ("2.0 (1.9-2.1)", "3,000"))
    )
    gathered = [{key: [figure] for key, figure in figures.items()} for (figures,) in (before, now)]
    assert list(against.lines_of(*gathered)) == [
        ("wide", "seconds", "4.00", "2.00", "2.00"),
        ("wide", "rows/s", "1000", "3000", "3.00"),
    ]


def test_quick_ratios_are_found_on_the_page_and_marked_where_they_got_worse() -> None:
    small = quick.Quick("capture", "", "ratio")
    table = "| benchmark | what | ratio |\n|---|---|---|\n| capture | wide | 0.70 |"
    page = f"# Page\n\n## Quick ratios\n\nMeasured.\n\n{table}\n\n## More\n"
    (line,) = quick.lines_of(small, PRINTED.format("1.0", "2"), quick.ratios_of(page))
    assert line == ("capture", "wide", "0.50", "0.70", "slower")
    (line,) = quick.lines_of(small, PRINTED.format("1.0", "2"), {("capture", "wide"): 0.6})
    assert line == ("capture", "wide", "0.50", "0.60", "")
