"""The command `cost`: what the tables of a dataset cost a month, or what planned tables would."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from onefold.cli.common import CHANGES, OK, as_json, given, project, read_settings, say
from onefold.cli.common_options import DATASET
from onefold.cli.existing_dataset import dataset_argument, split_dataset
from onefold.cli.output import echo_json, output_console
from onefold.cli.warehouse import open_project
from onefold.core.names import check_names

if TYPE_CHECKING:
    from onefold.cost.prices import Prices
    from onefold.cost.report import CostReport

_FILE = click.Path(dir_okay=False, path_type=Path)
LOG_DAYS = 180
"""Days that BigQuery keeps its log of jobs."""


@click.command()
@dataset_argument
@click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
@click.option("--plan", metavar="FILE", type=_FILE, help="Tables that do not exist yet, in YAML, in place of a dataset.")
@click.option("--prices", metavar="FILE", type=_FILE, help="Your own prices, in YAML or JSON; the others are list prices.")
@click.option(
    "--days",
    metavar="N",
    type=click.IntRange(1, LOG_DAYS),
    default=30,
    show_default=True,
    help="The days of the log of jobs that count.",
)
@click.option("--budget", metavar="USD", type=click.FloatRange(0), help="End with 2 where it costs more a month.")
@project
@as_json
@click.pass_context
def cost(
    context: click.Context,
    named: str | None,
    dataset: str | None,
    plan: Path | None,
    prices: Path | None,
    days: int,
    budget: float | None,
    project: str | None,
    as_json: bool,
) -> int:
    """Say what the tables of DATASET cost a month, line by line, and which three changes would save most.

    DATASET is shop, or 'shop.order_*' for some of its tables. Sizes come from metadata, and queries from the log of jobs,
    by a few small queries. Nothing is changed. With --plan no project is needed.
    """
    from onefold.cost.display import show_costs
    from onefold.cost.prices import read_prices
    from onefold.cost.savings import best_changes

    used = read_prices(prices)
    report = _of_plan(plan, named, used) if plan else _of_dataset(context, named, dataset, project, days, used)
    changes = best_changes(report)
    if as_json:
        echo_json([report.as_dict(changes)], warnings=report.warnings)
    else:
        for warning in report.warnings:
            say("yellow", f"Warning: {warning}")
        show_costs(output_console(), report, changes)
    if budget is not None and report.usd > budget:
        say("yellow", f"{report.usd:,.2f} USD a month are more than the budget of {budget:,.2f}")
        return CHANGES
    return OK


def _of_plan(plan: Path, named: str | None, prices: Prices) -> CostReport:
    """Return what a plan costs.

    Raises:
        UsageError: a dataset is named, too.
        InvalidInput: as `read_plan`.
    """
    from onefold.cost.planned import read_plan

    if named:
        raise click.UsageError("Expected a DATASET or --plan FILE, got both: leave one out.")
    return read_plan(plan, prices)


def _of_dataset(
    context: click.Context, named: str | None, dataset: str | None, project: str | None, days: int, prices: Prices
) -> CostReport:
    from onefold.cost.measured import read_costs

    check_names(given(("project", project)))
    name, pattern = split_dataset(named, dataset, "onefold cost")
    settings = read_settings(context)
    warehouse = open_project(context, project or settings.project)
    return read_costs(warehouse, name, pattern, settings, prices, days)
