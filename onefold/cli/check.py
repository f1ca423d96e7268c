"""The command `check`: the tables of a database against their source."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from onefold.batches.source_arguments import CheckArguments
from onefold.cli.common import CHANGES, OK, as_json, given, print_lines, project, raise_problems, read_settings
from onefold.cli.common_options import SOURCE, is_typed
from onefold.cli.confirm import confirm, yes_option
from onefold.cli.job_options import job_options
from onefold.cli.output import echo_json
from onefold.cli.runs import run_each
from onefold.cli.sources import unknown_source
from onefold.cli.table_arguments import dry_run_option, say_former
from onefold.core.names import check_names

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
@click.argument("words", metavar="[DATABASE.TABLE]...", nargs=-1)
@click.option(SOURCE.word, metavar=SOURCE.metavar, help=SOURCE.help)
@job_options(CheckArguments, without=("source", "database", "tables"))
@yes_option
@dry_run_option
@project
@as_json
@click.pass_context
def check(
    context: click.Context,
    /,
    words: tuple[str, ...],
    source: str | None,
    project: str | None,
    as_json: bool,
    yes: bool,
    dry_run: bool,
    **options: Any,
) -> int:
    """Compare the tables of a source with their views: numbers of rows, and every value of the next chunk of each.

    The source is one of onefold.yaml; a table may be a pattern, as 'models.log_*', and a database alone is all its tables.
    Findings go into the table _checks of the dataset, where the next chunk is remembered, too.
    """
    check_names(given(("project", project)))
    asked = [CheckArguments(*one, **options) for one in _named(words, source, context)]
    raise_problems(list(dict.fromkeys(problem for arguments in asked for problem in arguments.problems())))
    settings = read_settings(context)
    settings = replace(settings, project=project or settings.project)
    if not dry_run:
        for arguments in asked if asked[0].fix else ():
            confirm(yes, f"load what differs in {arguments.database} of {arguments.source} again")
    return run_each([functools.partial(_check_one, arguments, settings, dry_run, as_json) for arguments in asked])


def _check_one(arguments: CheckArguments, settings: Settings, dry_run: bool, as_json: bool) -> int:
    """Check the tables of one database, print the report, and return the exit code."""
    # The log of a batch is standard output; that of a command is beside its result.
    with redirect_stdout(sys.stderr):
        report = _check(arguments, settings, dry_run)
    if as_json:
        echo_json([{**table.as_dict(), "differences": list(table.findings)} for table in report.tables])
    else:
        print_lines(*lines(report))
    return CHANGES if report.differs else OK


def _named(words: Sequence[str], source: str | None, context: click.Context) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return source and tables of each database that a command line names; the former form is `SOURCE DATABASE [TABLE]...`.

    Raises:
        UsageError: no source is named, or the name of a table is an empty text.
    """
    has_dot = any("." in word for word in words)
    if len(words) > 1 and not has_dot and not is_typed(context, "source"):
        first, database, *tables = words
        new = " ".join([f"{database}.{table}" for table in tables] or [database])
        say_former(" ".join([context.command_path, *words]), f"{context.command_path} --source {first} {new}")
        return [(first, database, tuple(tables))]
    if source is None:
        raise click.UsageError("No source is named: write it as `onefold check --source fraud models.scores`.")
    asked: dict[str, list[str]] = {}
    for word in words or _databases(context, source):
        database, dot, table = word.partition(".")
        if dot and not table:  # as "models.$TABLE" without a value: never all tables
            raise click.UsageError(f"No table is named behind {database}: write {database}.scores, or {database} for all.")
        asked.setdefault(database, []).append(table or "*")
    return [(source, database, () if "*" in some else tuple(some)) for database, some in asked.items()]


def _databases(context: click.Context, source: str) -> Sequence[str]:
    """Return the databases of a source.

    Raises:
        InvalidInput: onefold.yaml has no such source, or no database of it.
    """
    sources = read_settings(context).sources
    raise_problems([] if source in sources else [unknown_source(source, sources)])
    databases = sources[source].databases
    raise_problems([] if databases else [f"sources.{source} of onefold.yaml has no `databases`: name them there"])
    return databases


def lines(report: CheckReport) -> Iterator[str]:
    """Yield the report with the first findings below each table; the log of a batch has no findings."""
    from onefold.check.log import CHECK_TABLE

    *tables, total = report.summary().splitlines()
    for line, table in zip(tables, report.tables, strict=True):
        yield line
        yield from (f"  {finding}" for finding in table.findings[:_SHOWN])
        if len(table.findings) > _SHOWN:
            yield f"  and {len(table.findings) - _SHOWN} more: see {table.log or f'{report.dataset}.{CHECK_TABLE}'}"
    yield total


def _check(arguments: CheckArguments, settings: Settings, dry_run: bool) -> CheckReport:
    from onefold.adapters.pubsub_rest import RestPublisher
    from onefold.spark.check.job import check as run

    return run(arguments, settings, os.environ, _reader, RestPublisher, dry_run=dry_run)


def _reader(source: Source, password: str, connect: Callable[[], pymysql.Connection], to: FileDestination) -> Reader:  # noqa: ARG001
    from onefold.pull.read.line_reader import LineReader

    return LineReader(connect, to)
