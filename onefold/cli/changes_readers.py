"""The command `onefold changes readers`: who reads each column, and the daily run that finds it out."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

import click

from onefold.changes.reader_counts import ColumnReaders, KnownReaders
from onefold.changes.reader_table import append_readers, read_readers, readers_table
from onefold.cli.changes_list import ledger_dataset
from onefold.cli.common import OK, as_json, given, print_lines, project, read_settings, say
from onefold.cli.common_options import DATASET
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import echo_json
from onefold.cli.table_arguments import named_tables
from onefold.cli.warehouse import open_project
from onefold.core.extras import needing
from onefold.core.names import TableId, check_names
from onefold.core.text import counted
from onefold.settings.environment import Settings

MOST_DAYS = 180
"""Days that BigQuery keeps its log of jobs."""


@click.command()
@click.argument("tables", metavar="[DATASET.TABLE]...", nargs=-1)
@click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
@click.option("--collect", is_flag=True, help="Read views, scheduled queries and the log of jobs first, and append a run.")
@click.option(
    "--days", metavar="N", type=click.IntRange(1, MOST_DAYS), default=30, show_default=True,
    help="With --collect, the days of the log of jobs that count.",
)  # fmt: skip
@project
@as_json
@click.pass_context
def readers(
    context: click.Context, tables: tuple[str, ...], dataset: str | None, collect: bool, days: int, project: str | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Show who reads each column of tables and their views: views, scheduled queries, dashboards, accounts and persons.

    Nothing says who they are. What cannot be told from the text of a query is shown as maybe.
    """
    check_names(given(("project", project), ("dataset", dataset)))
    settings = read_settings(context)
    named = (
        named_tables(tables, dataset, "onefold changes readers", of_dataset=dataset is not None) if tables or dataset else ()
    )
    place = ledger_dataset(settings)
    if collect:
        with needing("readers"):
            _collect(context, settings, project, place, days)
    found = read_readers(open_project(context, project or settings.project), place)
    rows = [row for row in found.rows if not named or any(_holds(one, row, settings) for one in named)]
    if as_json:
        echo_json([row.as_dict() for row in rows])
    else:
        print_lines(*_lines(found, rows))
    return OK


def _collect(context: click.Context, settings: Settings, project: str | None, place: str, days: int) -> None:
    from onefold.adapters.connect import row_writer_for
    from onefold.adapters.scheduled_queries import open_transfer_configs
    from onefold.changes.collect_readers import collect_readers

    warehouse = open_project(context, project or settings.project)
    scheduled = open_transfer_configs(warehouse.project)
    found = collect_readers(warehouse, scheduled, place, settings.datasets, datetime.now(UTC), days)
    append_readers(row_writer_for(warehouse), readers_table(warehouse.project, place), found, uuid.uuid4().hex)


def _holds(named: NamedTables, row: ColumnReaders, settings: Settings) -> bool:
    """Return whether a row is about a table that is named, or about a view of it."""
    if named.dataset == row.dataset and named.holds(row.table):
        return True
    if named.table is None:
        return False
    base = TableId(None, named.dataset, named.table)
    views = (settings.view_of(base), settings.current_view_of(base), settings.clean_view_of(base))
    return any((view.dataset, view.table) == (row.dataset, row.table) for view in views)


def _lines(found: KnownReaders, rows: list[ColumnReaders]) -> Iterator[str]:
    if found.collected_at is None:
        say(
            "yellow",
            "No run has looked for readers within the last 31 days: run it with --collect, or deploy the daily job.",
        )
        return
    columns = dict.fromkeys((row.dataset, row.table, row.column) for row in rows)
    for dataset, table, column in columns:
        yield f"{dataset}.{table}.{column}: {found.summary(dataset, table, column)}"
    doubts = [f"{counted(found.unparsed, 'text')} not understood"] if found.unparsed else []
    doubts += [f"{counted(found.incomplete, 'job')} with a list of tables that is not complete"] if found.incomplete else []
    as_of = f"as of {found.collected_at:%Y-%m-%d %H:%M} UTC, {found.days} days of jobs"
    yield ": ".join([as_of, *([", ".join(doubts)] if doubts else [])])
