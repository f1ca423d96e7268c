"""The costs of a month: the page has what the formulas give, and the formulas give what one reckons by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.cost import Workload, monthly, table

PAGE = (Path(__file__).parents[1] / "docs" / "explanation" / "cost.md").read_text()


def test_the_page_has_the_table_that_the_formulas_give() -> None:
    assert table() in PAGE


# 10 million changes a day of 1 kB are 300 GB a month; a TiB has 1.0995 TB.
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("capture", 30 * 24 * 3600 * 0.00002),
        ("Pub/Sub", 0.9 / 1.099512 * 40),
        ("sink", 30 * 172_800 * (0.5 * 0.0000265 + 0.0000004)),  # a message each half second
        ("writes", 0),
        ("views", 9_050 * 0.000098884),
        ("merges: the bases", 30 * (0.2 + 0.2 * 0.075) / 1.099512 * 6.25),
        ("merges: what landed", 2 * 2 * 0.3 / 1.099512 * 6.25),
        ("merges: small statements", 300 * 30 * 6 * 10 / 1_048_576 * 6.25),
        ("storage of the bases", 200 * 0.02),
        ("storage of history, all versions", 900 * 0.02 + 2_700 * 0.01),
    ],
)
def test_each_line_is_what_one_reckons_by_hand(line: str, expected: float) -> None:
    assert monthly(Workload())[line] == pytest.approx(expected, rel=1e-5)


def test_history_costs_more_only_by_its_months_and_a_quiet_month_has_no_history() -> None:
    line = "storage of history, all versions"
    assert [monthly(Workload(months=months))[line] for months in (0, 1, 3, 4)] == pytest.approx([0, 6, 18, 21])
    assert monthly(Workload(changes=0))[line] == 0


def test_more_merges_read_the_partition_of_the_day_more_often() -> None:
    costs = [monthly(Workload(merges=merges))["merges: what landed"] for merges in (1, 2, 24)]
    assert [cost / costs[0] for cost in costs] == pytest.approx([1, 2.5 / 2, 13.5 / 2])


def test_writes_cost_beyond_what_is_free() -> None:
    assert monthly(Workload(changes=100_000_000))["writes"] == pytest.approx(1_000 * 0.025)
