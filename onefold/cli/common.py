"""What the commands share: options, settings, the warehouse, announcements, and how errors are said."""

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

from onefold.core.errors import NotFound, OnefoldError
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
    """A table whose work failed, and why: it has its entry in the JSON like the others."""

    table: TableId
    errors: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"table": str(self.table), "errors": list(self.errors)}


def read_settings(context: click.Context) -> Settings:
    return load_settings(os.environ, context.obj)


def open_warehouse(context: click.Context, project: str | None, dataset: str, table: str | None) -> tuple[Settings, Any]:
    from onefold.adapters.connect import connect

    check_names([("dataset", dataset), *given(("table", table), ("project", project))])
    settings = read_settings(context)
    return settings, connect(project or settings.project)


def announcing(project: str, settings: Settings) -> Announce:
    """Return what publishes the changes of a view's schema, and says what the topic refused."""
    from onefold.adapters import pubsub
    from onefold.views import handler as deliveries

    publisher = pubsub.PubSub(project)

    def refused(content: Mapping[str, Any], error: OnefoldError) -> None:
        # The next refresh announces it again: this is for whoever looks at this one.
        click.echo(f"not announced: {error}\n{json.dumps(content)}" if content else f"not announced: {error}", err=True)

    return lambda plan: deliveries.announce(publisher, settings, plan, refused)


def given(*named: tuple[str, str | None]) -> list[tuple[str, str]]:
    return [(kind, name) for kind, name in named if name is not None]


def each(
    warehouse: Any,
    dataset: str,
    table: str | None,
    names: VersionedNames,
    work: Callable[[TableId], Any],
    progress: bool,
) -> list[Any]:
    """Work on one table, or on all; each failure is told, is a result too, and keeps no other from being done."""
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
    """A line that moves on a terminal, and nothing elsewhere; gives what changes its text."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=_stderr, transient=True, disable=not _stderr.is_terminal) as bar:
        task = bar.add_task(text, total=None)
        yield lambda now: bar.update(task, description=now)


def tell(*lines: str) -> None:
    """What was done, wrapped at the width of the terminal."""
    for line in lines:
        Console(highlight=False, emoji=False).print(line, markup=False)


def say(colour: str, text: str) -> None:
    _stderr.print(text, style=colour, markup=False)
