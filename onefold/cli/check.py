"""The command `check`: the tables of a database against their source."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from onefold.batches.source_arguments import CheckArguments
from onefold.cli.common import CHANGES, OK, as_json, print_lines, raise_problems, read_settings
from onefold.cli.job_options import job_options
from onefold.cli.output import echo_json

if TYPE_CHECKING:
    import pymysql

    from onefold.check.report import CheckReport
    from onefold.pull.read.part import FileDestination
    from onefold.pull.read.pull import Reader
    from onefold.settings.environment import Settings
    from onefold.settings.sources import Source

_SHOWN = 10
"""The findings of a table that a terminal shows."""


@click.command()
@click.argument("source")
@click.argument("database")
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@job_options(CheckArguments, without=("source", "database", "tables"))
@as_json
@click.pass_context
def check(
    context: click.Context,
    /,
    source: str,
    database: str,
    tables: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> int:
    """Compare the tables of a database with their views: numbers of rows, and every value of the next chunk of each.

    SOURCE and DATABASE are those of onefold.yaml; TABLE may be a pattern, as log_*. Findings go into the table _checks of
    the dataset, where the next chunk is remembered, too.
    """
    arguments = CheckArguments(source, database, tables, **options)
    raise_problems(list(arguments.problems()))
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


def _reader(source: Source, password: str, connect: Callable[[], pymysql.Connection], to: FileDestination) -> Reader:  # noqa: ARG001
    from onefold.pull.read.python_reader import PythonReader

    return PythonReader(connect, to)
