"""`onefold cost`: a plan, a dataset of the embedded BigQuery, prices of one's own, and a budget."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text()
PLAN = PAGE.partition('```yaml title="plan.yaml"\n')[2].partition("```")[0]
SHOWN = PAGE.partition("$ onefold cost --plan plan.yaml\n")[2].partition("```")[0]


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    return str(path)


def test_a_plan_costs_what_its_groups_and_what_they_share_cost(run: Run, plan: str) -> None:
    found = run("cost", "--plan", plan, "--json").result
    assert (found["subject"], found["days"]) == ("plan.yaml", 0)
    assert [(one["table"], one["tables"]) for one in found["tables"]] == [("orders", 1), ("others", 299)]
    shared = sum(one["usd"] for one in found["shared"].values())
    assert found["usd"] == pytest.approx(sum(one["usd"] for one in found["tables"]) + shared, abs=0.01)


def test_people_read_a_line_for_each_group_the_sums_and_the_best_changes(run: Run, plan: str) -> None:
    done = run("cost", "--plan", plan)
    assert done.code == 0, done.err
    heads, *rows = done.out.splitlines()
    assert heads.split()[:5] == ["USD", "a", "month", "merges", "current"]
    assert [row.split()[0] for row in rows[:5]] == ["orders", "others", "shared", "together", "bytes"]
    saved = [row for row in rows if row.startswith("saves ")]
    assert len(saved) == 3
    assert any("orders: merge it once a day" in row for row in saved)
    assert rows[-1] == "all by formula; prices of 2026-11: list prices of US and most regions; before what is free"


def test_the_page_shows_what_its_plan_costs(run: Run, plan: str) -> None:
    printed = run("cost", "--plan", plan).out
    assert [line.split() for line in SHOWN.splitlines()] == [line.split() for line in printed.splitlines()]


@pytest.mark.parametrize(("budget", "code"), [("1000000", 0), ("10", 2)])
def test_more_than_the_budget_ends_with_2(run: Run, plan: str, budget: str, code: int) -> None:
    done = run("cost", "--plan", plan, "--budget", budget)
    assert done.code == code
    assert ("more than the budget of 10.00" in done.err) == (code == 2)


def test_prices_of_ones_own_count_and_are_named(run: Run, plan: str, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"region": "contract", "read": "2027-01", "query_tib": 12.5}')
    mine, listed = (run("cost", "--plan", plan, "--json", *more).result for more in (("--prices", str(prices)), ()))
    assert mine["lines"]["merges"]["usd"] == pytest.approx(2 * listed["lines"]["merges"]["usd"], rel=1e-3)
    assert (mine["prices"]["region"], mine["prices"]["read"]) == ("contract", "2027-01")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "write `onefold cost shop`"),
        (("shop", "--plan", "plan.yaml"), "Expected a DATASET or --plan FILE, got both"),
        (("--plan", "nowhere.yaml"), "nowhere.yaml: cannot be read"),
        (("shop", "--days", "181"), "--days"),
        (("shop", "--prices", "nowhere.yaml"), "nowhere.yaml: cannot be read"),
    ],
)
def test_wrong_usage_says_what_to_do(run: Run, words: tuple[str, ...], told: str) -> None:
    done = run("cost", *words)
    assert (done.code, told in done.err) == (1, True), done.err


def test_a_dataset_is_counted_and_a_warning_says_what_is_assumed_without_a_log_of_jobs(
    run: Run, dataset: EmulatedDataset
) -> None:
    dataset.land("supplier_v_1", {"id": "INT64", "name": "STRING"}, "1, 'a'", "2, 'b'")
    done = run("cost", dataset.name, "--json")
    assert done.code == 0, done.err
    (table,) = done.result["tables"]
    assert (table["table"], table["lines"]["storage"]["bytes"]) == ("supplier", 2 * len('{"id":1,"name":"a"}'))
    assert "the log of jobs is not known" in done.json["warnings"][0]
