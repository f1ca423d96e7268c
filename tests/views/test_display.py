"""Plans as people read them: the difference of a view's text has to be usable by other tools where it is piped."""

from __future__ import annotations

import io

from rich.console import Console
from support.fake_bigquery import FakeBigQuery
from support.refresh_shop import BASE, PLAIN, run

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.views.display import show_plan, text_difference
from onefold.views.refresh import plan_refresh
from onefold.views.view_plan import ViewPlan

WIDTH = 80


def printed(plan: ViewPlan, terminal: bool) -> str:
    console = Console(file=io.StringIO(), width=WIDTH, force_terminal=terminal)
    show_plan(console, plan, sql=True)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def long_change(cloud: FakeBigQuery) -> ViewPlan:
    """A plan whose difference has a line that is wider than the terminal, and characters beyond ASCII."""
    run(cloud)
    cloud.create_table("customer_v_fed", "id STRING", f"größe_{'x' * WIDTH} ARRAY<STRING>")
    plan = plan_refresh(BigQueryWarehouse(cloud.client()), BASE, PLAIN)
    assert max(map(len, text_difference(plan).splitlines())) > WIDTH
    return plan


def test_a_piped_difference_is_not_wrapped(cloud: FakeBigQuery) -> None:
    plan = long_change(cloud)
    assert f"\n{text_difference(plan)}" in printed(plan, terminal=False)


def test_a_difference_on_a_terminal_has_colours_and_is_wrapped(cloud: FakeBigQuery) -> None:
    plan = long_change(cloud)
    assert text_difference(plan) not in printed(plan, terminal=True)
