"""Parts that the commands share: options, settings, the warehouse, announcements, and output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from onefold.cli.common_options import JSON, PROJECT
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import is_quiet, note_json, output_console, show_traceback
from onefold.cli.unforeseen import as_onefold_error
from onefold.cli.warehouse import open_project, with_near_name
from onefold.core.errors import InvalidInput, NotFound, OnefoldError
from onefold.core.names import TableId, check_names
from onefold.core.text import printable, shown_lines
from onefold.core.versioned_names import VersionedNames
from onefold.settings.environment import Settings, load_settings
from onefold.settings.unknown_keys import near_name

if TYPE_CHECKING:
    from onefold.refresh.plan import Announce

OK, ERROR, CHANGES, INTERRUPTED = 0, 1, 2, 130

_stderr = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)

as_json = click.option(JSON.word, JSON.name, is_flag=True, callback=note_json, help=JSON.help)
project = click.option(PROJECT.word, metavar=PROJECT.metavar, help=PROJECT.help)
_ACCEPTED = "onefold.accept_settings"


def _note_accepted(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: ARG001
    context.meta[_ACCEPTED] = value


accept_settings = click.option(
    "--accept-settings",
    is_flag=True,
    expose_value=False,
    callback=_note_accepted,
    help="Write a view that was written with other settings, such as other target types.",
)
"""The option of commands that write views. `open_warehouse` returns settings that say what was chosen."""


@dataclass(frozen=True)
class Failure:
    """A table whose work failed, and the error. It has an entry in the JSON like any other table."""

    table: TableId
    error: OnefoldError

    @property
    def errors(self) -> tuple[str, ...]:
        """The lines of the error."""
        return tuple(str(self.error).splitlines())

    def as_dict(self) -> dict[str, Any]:
        return {"table": str(self.table), "errors": list(self.errors)}

    def show(self) -> None:
        """Print the error."""
        for line in shown_lines(self.errors):
            say("red", f"Error: {self.table.table}: {line}")


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

    Raises:
        InvalidInput: a name is invalid, or `table` is the name of one version instead of a base name.
    """
    check_names([("dataset", dataset), *given(("table", table), ("project", project))])
    settings = replace(read_settings(context), keep_view_settings=not context.meta.get(_ACCEPTED))
    warehouse = open_project(context, project or settings.project)
    names = settings.names_in(dataset)
    if table and names.by_labels:
        names = names.resolved(warehouse.list_labels(dataset))
    hint = names.base_name_hint(table or "")
    # The table may have versions of its own: customer_v_abc_v_def is one of the base name customer_v_abc.
    if hint and table not in warehouse.list_bases(dataset, names):
        raise InvalidInput(hint)
    return settings, warehouse


def check_view_settings(warehouse: Any, base: TableId, settings: Settings) -> None:
    """Check, before a command writes anything, that the views of a table were written with the present settings.

    Raises:
        SettingsChanged: one was not, and the command has no `--accept-settings`.
    """
    from onefold.refresh.stored_settings import check_settings, setting_changes

    if not settings.keep_view_settings:
        return
    rules, mode = settings.rules_for(base), settings.pull_mode_of(base)
    for view, current in ((settings.view_of(base), False), (settings.current_view_of(base), True)):
        if stored := warehouse.get_view(view):
            check_settings(stored.id, setting_changes(stored.query, rules, current, mode))


def announcing(project: str, settings: Settings) -> Announce:
    """Return a function that publishes the schema changes of a view, and prints what the topic refused."""
    from onefold.adapters import pubsub
    from onefold.refresh import announce as announcements

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
    named: NamedTables,
    names: VersionedNames,
    work: Callable[[TableId], Any],
    progress: bool,
    plain: Sequence[str] = (),
) -> list[Any]:
    """Work on the tables that a command names. A failure is printed and does not stop the other tables.

    Args:
        warehouse: lists the base names where not one table is named.
        named: the tables.
        names: how versioned tables of the dataset are named.
        work: is called with each table.
        progress: show a progress bar on standard error.
        plain: the plain change tables of the dataset, which have no versions.

    Returns:
        For each table, the result of `work` or a Failure.

    Raises:
        NotFound: the dataset does not exist, or has neither versioned tables nor plain ones.
    """
    tables = [named.table] if named.table else _all_bases(warehouse, named, names, plain)
    ids = [TableId(warehouse.project, named.dataset, name) for name in tables]
    return work_on_each(ids, work, f"refreshing {named.dataset}" if progress else None)


def work_on_each(tables: Sequence[TableId], work: Callable[[TableId], Any], title: str | None) -> list[Any]:
    """Work on tables one after the other. A failure is printed and does not stop the other tables.

    Args:
        tables: the tables.
        work: is called with each table.
        title: what is done, for a progress bar on standard error; None for no bar. With `--quiet` there is none either.

    Returns:
        For each table, the result of `work` or a Failure.
    """
    with Progress(console=_stderr, disable=title is None or is_quiet()) as bar:
        return [done(table, work) for table in bar.track(tables, description=title or "")]


def _all_bases(warehouse: Any, named: NamedTables, names: VersionedNames, plain: Sequence[str]) -> list[str]:
    """Return the base names, the united and the plain change tables of a dataset, or those that match a pattern.

    Raises:
        NotFound: the dataset does not exist, or has no such tables, or none that matches.
    """
    dataset = named.dataset
    hint = names.base_name_hint(dataset)
    advice = f"; expected DATASET.TABLE: {hint}" if hint else ""
    try:
        found = [*warehouse.list_bases(dataset, names), *names.united, *plain]
    except NotFound as error:
        if not advice:
            raise
        raise NotFound(f"{error}{advice}") from error
    if not found:
        raise NotFound(f"dataset {warehouse.project}.{dataset} has no versioned tables {names.described}{advice}")
    if not (matching := [base for base in found if named.holds(base)]):
        near = near_name(named.match or "", found)
        raise NotFound(f"dataset {warehouse.project}.{dataset} has no versioned table that matches {named.match}{near}")
    return matching


def done(base: TableId, work: Callable[[TableId], Any]) -> Any:
    """Work on one table. Returns the result, or a Failure after its errors were printed."""
    try:
        return work(base)
    except OnefoldError as error:
        failure = Failure(base, with_near_name(error))
    except Exception as unknown:  # noqa: BLE001 a bug with one table does not stop the others
        show_traceback(unknown)
        failure = Failure(base, as_onefold_error(unknown))
    failure.show()
    return failure


@contextmanager
def progress_line(text: str) -> Iterator[Callable[[str], None]]:
    """Show a line with a spinner on a terminal, and nothing elsewhere. Yields a function that changes its text."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=_stderr, transient=True, disable=not _stderr.is_terminal or is_quiet()) as bar:
        task = bar.add_task(text, total=None)
        yield lambda description: bar.update(task, description=description)


def print_lines(*lines: str, is_whole: bool = False) -> None:
    """Print results on standard output, wrapped at the width of the terminal.

    Args:
        lines: the lines.
        is_whole: whether each stays one line, because it begins with a name that may be longer than the terminal.
    """
    for line in lines:
        output_console().print(line, markup=False, soft_wrap=is_whole)


def say(colour: str, text: str) -> None:
    """Print an error (red), a warning or a note on standard error; with `--quiet` only errors."""
    if colour == "red" or not is_quiet():
        _stderr.print(printable(text), style=colour, markup=False)
