"""The command `load-shredded`: load finished runs of the shredder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from onefold.cli.common import CHANGES, ERROR, OK, as_json, open_warehouse, print_lines, project, read_settings, say
from onefold.cli.output import echo_json
from onefold.cli.redshift_options import check_no_redshift, redshift_connection, redshift_options
from onefold.core.errors import InvalidInput
from onefold.core.text import counted, shown_list

if TYPE_CHECKING:
    from onefold.events.load.load import Loader
    from onefold.events.load.report import EventTableReport, RunReport

TARGETS = ("bigquery", "redshift")


@click.command("load-shredded")
@click.option("--runs", metavar="URI", help="The folder of the runs.  [default: ONEFOLD_EVENTS_RUNS]")
@click.option("--dataset", metavar="D", help="The dataset of the tables.  [default: ONEFOLD_EVENTS_DATASET]")
@click.option("--target", "to", type=click.Choice(TARGETS), default=TARGETS[0], show_default=True, help="The warehouse.")
@redshift_options
@click.option("--since", metavar="RUN", default="", help="Pass over the runs before RUN, as 2026-11.  [default: load all]")
@click.option("--dry-run", is_flag=True, help="Say what would be created, changed and loaded, without doing so.")
@project
@as_json
@click.pass_context
def load_shredded(
    context: click.Context, /, runs: str | None, dataset: str | None, since: str, dry_run: bool,
    project: str | None, as_json: bool, to: str, **redshift: str | None,
) -> int:  # fmt: skip
    """Load every finished run of the shredder that is not loaded yet, the oldest first.

    Tables are created and get new columns on the way: those of the run's manifest, and no more. A table that somebody
    altered by hand is an error that lists the differences; the other tables go on. Running the command twice loads nothing
    twice, whoever else loads at the same time.
    """
    if to == "redshift":
        loader = _redshift_loader(context, runs, since, dataset or project, redshift)
    else:
        check_no_redshift(redshift)
        loader = _loader(context, runs, since, dataset, project)
    reports: list[RunReport] = []
    for report in loader.plan() if dry_run else loader.load():
        reports.append(report)
        if not as_json:
            print_lines(*_lines(report), is_whole=True)
            _print_errors(report)
    errors = [str(error) for report in reports for error in report.errors]
    if as_json:
        echo_json([report.as_dict() for report in reports])
    else:
        print_lines(_summary(reports))
    if errors:
        return ERROR
    return CHANGES if dry_run and reports else OK


def _loader(context: click.Context, runs: str | None, since: str, dataset: str | None, project: str | None) -> Loader:
    """Return the loader of a command line.

    Raises:
        InvalidInput: neither the command line nor the settings name the runs and the dataset.
    """
    from onefold.adapters.bigquery.event_tables import BigQueryEventTables
    from onefold.adapters.objects_at import run_objects_at
    from onefold.adapters.pubsub import PubSub
    from onefold.events.load.announce import announcing
    from onefold.events.load.load import Loader
    from onefold.events.load.runs import FolderRuns, runs_address

    events = read_settings(context).events
    runs, dataset = runs or events.runs, dataset or events.dataset
    if runs is None or dataset is None:
        raise InvalidInput("expected --runs and --dataset: name both, or set ONEFOLD_EVENTS_RUNS and ONEFOLD_EVENTS_DATASET")
    settings, warehouse = open_warehouse(context, project, dataset, None)
    address, topic = runs_address(runs), settings.topic_table_created
    announce = announcing(PubSub(warehouse.project), topic, dataset)
    found = FolderRuns(address, run_objects_at(address), since)
    return Loader(found, BigQueryEventTables(warehouse, dataset), announce)


def _redshift_loader(
    context: click.Context, runs: str | None, since: str, of_bigquery: str | None, options: dict[str, str | None]
) -> Loader:
    """Return the loader of a command line that names Redshift.

    Raises:
        InvalidInput: neither the command line nor the settings name the runs, or options are missing or not valid.
    """
    from onefold.adapters.objects_at import run_objects_at
    from onefold.adapters.redshift.event_tables import RedshiftEventTables
    from onefold.events.load.load import Loader
    from onefold.events.load.runs import FolderRuns, runs_address

    runs = runs or read_settings(context).events.runs
    problems = [] if runs else ["expected --runs: name the folder, or set ONEFOLD_EVENTS_RUNS"]
    problems += ["expected --dataset and --project for BigQuery only: leave them out"] if of_bigquery else []
    if problems or runs is None:
        raise InvalidInput(problems)
    address = runs_address(runs)
    found = FolderRuns(address, run_objects_at(address), since)
    return Loader(found, RedshiftEventTables(redshift_connection(options)))


def _lines(report: RunReport) -> Iterator[str]:
    yield f"{report.run}: {report.state}" + (f", {counted(report.bad, 'bad event')}" if report.bad else "")
    yield from (f"  {_line(table)}" for table in report.tables)


def _line(table: EventTableReport) -> str:
    change = {"create": ", new table", "change": ""}.get(table.action, "")
    added = f", with {shown_list(table.added)}" if table.added else ""
    described = f", describes {shown_list(table.described)} by the schema" if table.described else ""
    unsure = f", leaves {shown_list(table.undescribed)} without a description" if table.undescribed else ""
    recovery = ", for a version that does not fit into the table of its model" if table.is_new_recovery else ""
    return f"{table.table}: {counted(table.rows, 'row')} {table.state}{change}{added}{described}{unsure}{recovery}"


def _print_errors(report: RunReport) -> None:
    for error in report.errors:
        for line in str(error).splitlines():
            say("red", f"Error: {line}")


def _summary(reports: Sequence[RunReport]) -> str:
    from onefold.events.load.load import summary

    return summary(reports)
