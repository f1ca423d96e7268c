"""The command `check`: the tables of a database against their source."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import click

from onefold.batches.check_arguments import CHUNK_ROWS, PADDING_MINUTES, SETTLE_SECONDS, CheckArguments
from onefold.cli.common import CHANGES, OK, as_json, print_lines, raise_problems, read_settings
from onefold.cli.output import echo_json

if TYPE_CHECKING:
    import pymysql

    from onefold.check.report import CheckReport
    from onefold.pull.read.part import Destination
    from onefold.pull.read.pull import Reader
    from onefold.settings.environment import Settings
    from onefold.settings.sources import Source

_SHOWN = 10
"""The findings of a table that a terminal shows."""


@click.command()
@click.argument("source")
@click.argument("database")
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@click.option("--captured", metavar="DATASET", help="The dataset into which capture writes the database.  [default: pulled]")
@click.option("--tenant", metavar="NAME", help="The source_name of captured rows.  [default: SOURCE]")
@click.option("--rows", metavar="N", type=int, default=CHUNK_ROWS, show_default=True, help="About the rows of a chunk.")
@click.option(
    "--padding-minutes",
    metavar="N",
    type=int,
    default=PADDING_MINUTES,
    show_default=True,
    help="The age from which rows of pulled tables are compared.",
)
@click.option(
    "--settle-seconds",
    metavar="N",
    type=int,
    default=SETTLE_SECONDS,
    show_default=True,
    help="How long a difference of a captured table has to last.",
)
@click.option("--whole", is_flag=True, help="Compare all chunks, from the first to the last.  [default: the next one]")
@click.option("--fix", is_flag=True, help="Pull the rows of findings again, and write tombstones for those that are gone.")
@click.option("--parallel", metavar="N", type=int, default=4, show_default=True, help="Tables at the same time.")
@as_json
@click.pass_context
def check(
    context: click.Context,
    source: str,
    database: str,
    tables: tuple[str, ...],
    captured: str | None,
    tenant: str | None,
    rows: int,
    padding_minutes: int,
    settle_seconds: int,
    whole: bool,
    fix: bool,
    parallel: int,
    as_json: bool,
) -> int:
    """Compare the tables of a database with their views: numbers of rows, and every value of the next chunk of each.

    SOURCE and DATABASE are those of onefold.yaml; TABLE may be a pattern, as log_*. Findings go into the table _checks of
    the dataset, where the next chunk is remembered, too.
    """
    arguments = CheckArguments(
        source, database, tables, captured, tenant, rows, padding_minutes, settle_seconds, whole, fix, parallel
    )
    raise_problems(arguments.problems())
    # The log of a batch is standard output; that of a command is beside its result.
    with redirect_stdout(sys.stderr):
        report = _check(arguments, read_settings(context))
    if as_json:
        echo_json([{**table.as_dict(), "differences": list(table.findings)} for table in report.tables])
    else:
        print_lines(*lines(report))
    return CHANGES if report.differs else OK


def lines(report: CheckReport) -> Iterator[str]:
    """Yield the report with the first findings below each table; the log of a batch has no findings."""
    from onefold.check.log import CHECK_TABLE

    *tables, total = report.summary().splitlines()
    for line, table in zip(tables, report.tables, strict=True):
        yield line
        yield from (f"  {finding}" for finding in table.findings[:_SHOWN])
        if len(table.findings) > _SHOWN:
            yield f"  and {len(table.findings) - _SHOWN} more: see {report.dataset}.{CHECK_TABLE}"
    yield total


def _check(arguments: CheckArguments, settings: Settings) -> CheckReport:
    from onefold.adapters.pubsub_rest import RestPublisher
    from onefold.spark.check.job import check as run

    return run(arguments, settings, os.environ, _reader, RestPublisher)


def _reader(source: Source, password: str, connect: Callable[[], pymysql.Connection], to: Destination) -> Reader:  # noqa: ARG001
    from onefold.pull.read.python_reader import PythonReader

    return PythonReader(connect, to)
