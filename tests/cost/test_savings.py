"""The changes that save most: what they are, and that they save what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.cost.formulas import Charge, SharedUsage, TableUsage, table_charges
from onefold.cost.planned import plan_report
from onefold.cost.prices import list_prices
from onefold.cost.report import CostReport, TableCost
from onefold.cost.savings import best_changes

PRICES = list_prices()
QUIET = TableUsage(base_rows=1e8, base_bytes=1e11, landed_bytes=1e6, merges=1)


def report(*usages: TableUsage, days: int = 0, shared: SharedUsage = SharedUsage(), **more: Any) -> CostReport:  # noqa: B008
    tables = [TableCost(f"t{number}", one, table_charges(one, PRICES), **more) for number, one in enumerate(usages)]
    return CostReport("shop", tuple(tables), shared, PRICES, days)


def texts(found: CostReport) -> list[str]:
    return [one.text for one in best_changes(found)]


def test_hourly_merges_of_a_large_base_are_the_first_to_go() -> None:
    (first, *_) = best_changes(report(replace(QUIET, merges=24), QUIET))
    assert (first.subject, first.text) == ("t0", "merge it once a day")
    assert first.usd == pytest.approx(23 * 30 * (1e11 + 1.6e10) / 2**40 * 6.25, rel=0.01)


def test_a_table_that_nobody_reads_is_merged_once_a_week_only_where_the_log_says_so() -> None:
    assert texts(report(QUIET, days=30)) == ["merge it once a week"]
    assert texts(report(QUIET)) == []
    assert texts(report(replace(QUIET, reads=1), days=30)) == []


def test_at_most_three_changes_are_named_the_best_first() -> None:
    usage = replace(QUIET, merges=24, checks=1, long_term_bytes=1e12, rows_per_message=1.4, landed_rows=1e7)
    found = best_changes(report(usage, usage, shared=SharedUsage(batches=96)))
    assert [one.usd for one in found] == sorted((one.usd for one in found), reverse=True)
    assert len(found) == 3


@pytest.mark.parametrize(
    ("usage", "shared", "text"),
    [
        (replace(QUIET, checks=1), SharedUsage(), "check it whole once a week"),
        (replace(QUIET, long_term_bytes=1e12), SharedUsage(), "let partitions of its versions expire after 90 days"),
        (replace(QUIET, rows_per_message=1.4, landed_rows=1e7), SharedUsage(), "let capture send messages of 100 rows"),
        (QUIET, SharedUsage(batches=96), "pull once an hour"),
    ],
)  # fmt: skip
def test_each_waste_has_its_change(usage: TableUsage, shared: SharedUsage, text: str) -> None:
    assert texts(report(usage, shared=shared)) == [text]


def test_a_change_of_a_measured_line_saves_the_share_by_which_the_formula_falls() -> None:
    usage = replace(QUIET, merges=24, reads=1)
    charges = table_charges(usage, PRICES)
    charges["merges"] = Charge(0, charges["merges"].usd / 10, measured=True)
    found = CostReport("shop", (TableCost("t", usage, charges),), SharedUsage(), PRICES, 30)
    now, then = (table_charges(one, PRICES)["merges"].usd for one in (usage, replace(usage, merges=1)))
    (change,) = [one for one in best_changes(found) if one.text == "merge it once a day"]
    reads = (
        table_charges(usage, PRICES)["current views"].usd
        - table_charges(replace(usage, merges=1), PRICES)["current views"].usd
    )
    assert change.usd == pytest.approx((now - then) / 10 + reads)


def test_physical_storage_is_named_only_where_it_is_cheaper_and_known_of_all_tables() -> None:
    usage = replace(QUIET, reads=1)
    physical = "bill the storage of the dataset by physical bytes"
    assert texts(report(usage, physical=(2e10, 0))) == [physical]
    assert texts(report(usage, physical=(9e10, 0))) == []
    assert texts(report(usage, physical=None)) == []


@given(st.floats(0.01, 48), st.floats(0, 1e12), st.floats(0, 100))
def test_no_change_is_named_that_would_cost_more(merges: float, landed: float, reads: float) -> None:
    usage = replace(QUIET, merges=merges, landed_bytes=landed, reads=reads)
    assert all(one.usd > 0 for one in best_changes(report(usage, days=30)))


def test_what_a_plan_saves_by_daily_merges_is_the_difference_of_the_two_plans() -> None:
    hourly, daily = (
        plan_report("p", {"groups": {"g": {"tables": 3, "rows": 1e8, "changes": 1e5, "merges": merges}}}, PRICES)
        for merges in (24, 1)
    )
    (change,) = [one for one in best_changes(hourly) if one.text == "merge it once a day"]
    assert change.usd == pytest.approx(hourly.usd - daily.usd)
