"""The costs of pulled tables: the page has what the formulas give, and the formulas give what one reckons by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.cost_pulls import PullWorkload, monthly, table

PAGE = (Path(__file__).parents[1] / "docs" / "explanation" / "cost.md").read_text()


def test_the_page_has_the_table_that_the_formulas_give() -> None:
    assert table() in PAGE


# 96 batches of 3 minutes and one of 15 are 5.05 hours a day; 10 million rows a day of 1 kB are 300 GB a month.
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("batches", 151.5 * 12 * 0.06),
        ("disks of the batches", 1_200 * 0.04 * 151.5 / 720),
        ("load jobs", 0),
        ("queries of the log", 97 * 30 * 10 / 1_048_576 * 6.25),
        ("queries of the daily load", 300 * 30 * 6 * 10 / 1_048_576 * 6.25),
        ("views", 9_050 * 0.000098884),
        ("files: storage", 900 * 0.02),
        ("files: writes", 0.873 * 5),
        ("storage of the tables", 900 * 0.02 + 2_700 * 0.01),
    ],
)
def test_each_line_is_what_one_reckons_by_hand(line: str, expected: float) -> None:
    assert monthly(PullWorkload())[line] == pytest.approx(expected, rel=1e-5)


def test_what_depends_on_the_number_of_pulls_and_what_does_not() -> None:
    often, hourly = monthly(PullWorkload()), monthly(PullWorkload(pulls=24))
    assert hourly["batches"] / often["batches"] == pytest.approx((24 * 3 + 15) / (96 * 3 + 15))
    fixed = {line for line in often if often[line] == hourly[line]}
    assert fixed == {"load jobs", "queries of the daily load", "views", "files: storage", "storage of the tables"}
