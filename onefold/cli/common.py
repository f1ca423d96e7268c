"""Parts that the commands share: options, settings, the warehouse, announcements, and output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from onefold.core.errors import InvalidInput, NotFound, OnefoldError
from onefold.core.names import TableId, check_names
from onefold.core.versioned_names import VersionedNames
from onefold.settings.environment import Settings, load_settings

if TYPE_CHECKING:
    from onefold.views.refresh import Announce

OK, ERROR, CHANGES = 0, 1, 2

_stderr = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
project = click.option("--project", metavar="P", help="The project.  [default: ONEFOLD_PROJECT, GOOGLE_CLOUD_PROJECT]")


@dataclass(frozen=True)
class Failure:
    """A table whose work failed, and the errors. It has an entry in the JSON like any other table."""

    table: TableId
    errors: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"table": str(self.table), "errors": list(self.errors)}


def read_settings(context: click.Context) -> Settings:
    """Read the environment and the file that `--config` names."""
    return load_settings(os.environ, context.obj)


def open_warehouse(context: click.Context, project: str | None, dataset: str, table: str | None) -> tuple[Settings, Any]:
    """Check the names of a command line, read the settings, and connect to BigQuery or its emulator.

    Args:
        context: holds the path of `--config`.
        project: the option `--project`; by default the project of the settings.
        dataset: a name to check.
        table: a name to check.
    """
    from onefold.adapters.connect import connect

    check_names([("dataset", dataset), *given(("table", table), ("project", project))])
    settings = read_settings(context)
    return settings, connect(project or settings.project)


def announcing(project: str, settings: Settings) -> Announce:
    """Return a function that publishes the schema changes of a view, and prints what the topic refused."""
    from onefold.adapters import pubsub
    from onefold.views import announce as announcements

    publisher = pubsub.PubSub(project)

    def refused(content: Mapping[str, Any], error: OnefoldError) -> None:
        # The next refresh announces the change again; the text tells the person who runs this one.
        click.echo(f"not announced: {error}\n{json.dumps(content)}" if content else f"not announced: {error}", err=True)

    return lambda plan: announcements.announce(publisher, settings, plan, refused)


def given(*named: tuple[str, str | None]) -> list[tuple[str, str]]:
    """Return the pairs (kind, name) whose name is not None."""
    return [(kind, name) for kind, name in named if name is not None]


def raise_problems(problems: list[str]) -> None:
    """Report all problems of a command line at once.

    Raises:
        InvalidInput: the list is not empty.
    """
    if problems:
        raise InvalidInput(problems)


def each(
    warehouse: Any,
    dataset: str,
    table: str | None,
    names: VersionedNames,
    work: Callable[[TableId], Any],
    progress: bool,
) -> list[Any]:
    """Work on one table or on all tables of a dataset. A failure is printed and does not stop the other tables.

    Args:
        warehouse: lists the base names where no table is given.
        dataset: the dataset of the tables.
        table: a base name, or None for all.
        names: how versioned tables of the dataset are named.
        work: is called with each table.
        progress: show a progress bar on standard error.

    Returns:
        For each table, the result of `work` or a Failure.

    Raises:
        NotFound: the dataset has no versioned tables.
    """
    tables = [table] if table else list(warehouse.list_bases(dataset, names))
    if not tables:
        raise NotFound(f"dataset {warehouse.project}.{dataset} has no versioned tables, named as {names.pattern}")
    with Progress(console=_stderr, disable=not progress) as bar:
        tracked = bar.track(tables, description=f"refreshing {dataset}")
        return [_done(TableId(warehouse.project, dataset, name), work) for name in tracked]


def _done(base: TableId, work: Callable[[TableId], Any]) -> Any:
    try:
        return work(base)
    except OnefoldError as error:
        lines = tuple(str(error).splitlines())
        for line in lines:
            say("red", f"Error: {base.table}: {line}")
        return Failure(base, lines)


@contextmanager
def progress_line(text: str) -> Iterator[Callable[[str], None]]:
    """Show a line with a spinner on a terminal, and nothing elsewhere. Yields a function that changes its text."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=_stderr, transient=True, disable=not _stderr.is_terminal) as bar:
        task = bar.add_task(text, total=None)
        yield lambda description: bar.update(task, description=description)


def print_lines(*lines: str) -> None:
    """Print results on standard output, wrapped at the width of the terminal."""
    for line in lines:
        Console(highlight=False, emoji=False).print(line, markup=False)


def say(colour: str, text: str) -> None:
    """Print an error, a warning or a note on standard error."""
    _stderr.print(text, style=colour, markup=False)
