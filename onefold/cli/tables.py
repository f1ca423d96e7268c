"""The command `tables`: all tables of datasets with their versions, views and problems, or one table over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
from rich.console import Console

from onefold.cli.common import OK, as_json, given, project, read_settings, say
from onefold.cli.common_options import DATASET
from onefold.cli.output import echo_json
from onefold.cli.table_arguments import named_tables
from onefold.core.errors import InvalidInput
from onefold.core.names import check_names
from onefold.settings.environment import Settings


@click.command()
@click.argument("tables", metavar="[DATASET.TABLE]...", nargs=-1)
@click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
@project
@as_json
@click.pass_context
def tables(context: click.Context, tables: tuple[str, ...], dataset: str | None, project: str | None, as_json: bool) -> int:
    """Show all tables: how their rows come, versions, views and whether each is up to date, size, last check, problems."""
    from onefold.adapters.connect import connect
    from onefold.inventory.display import show_history, show_tables
    from onefold.inventory.read import read_inventory

    check_names(given(("project", project), ("dataset", dataset)))
    settings = read_settings(context)
    asked = _asked(tables, dataset, settings)  # before the connection, which may be refused
    found = read_inventory(connect(project or settings.project), asked, settings)
    if as_json:
        echo_json(found.as_dicts(), warnings=found.warnings)
        return OK
    for warning in found.warnings:
        say("yellow", f"Warning: {warning}")
    console = Console(highlight=False, emoji=False)
    for history in found.histories:
        show_history(console, history)
    if found.tables or not found.histories:
        show_tables(console, found.tables)
    return OK


def _asked(tables: Sequence[str], dataset: str | None, settings: Settings) -> dict[str, list[str]]:
    """Return the patterns of tables that are asked for, by dataset; all tables where none is named.

    Raises:
        InvalidInput: there is a table without a dataset, or nothing says which datasets.
    """
    if not tables:
        named = [dataset] if dataset else sorted(settings.datasets or ())
        tables = [f"{name}.*" for name in named]
        if not tables:
            raise InvalidInput("no dataset is named: write `onefold tables 'shop.*'`, or add --dataset shop")
    asked: dict[str, list[str]] = {}
    for name, pattern in _split(tables, dataset):
        asked.setdefault(name, []).append(pattern)
    return asked


def _split(tables: Sequence[str], dataset: str | None) -> Iterator[tuple[str, str]]:
    """Yield dataset and pattern of each table.

    Raises:
        InvalidInput: a table is in no dataset.
    """
    for table in tables:
        if "." not in table and not dataset:
            raise InvalidInput(
                f"{table} is in no dataset: write DATASET.{table}, or add --dataset; all tables of a dataset are '{table}.*'"
            )
        named = named_tables([table], dataset, "onefold tables")
        yield named.dataset, named.table or named.match or "*"
