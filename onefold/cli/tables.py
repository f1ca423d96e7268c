"""The command `tables`: all tables of datasets with their versions, views and problems, or one table over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from onefold.cli.common import OK, as_json, given, project, read_settings, say
from onefold.cli.common_options import DATASET
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import echo_json, output_console
from onefold.cli.table_arguments import named_tables, project_of
from onefold.cli.warehouse import open_project
from onefold.core.errors import InvalidInput
from onefold.core.names import check_names, is_pattern
from onefold.settings.environment import Settings

if TYPE_CHECKING:
    from onefold.inventory.read import Inventory

_NO_DATASET = "no dataset is named: write `onefold tables 'shop.*'`, or add --dataset shop"


@click.command()
@click.argument("tables", metavar="[DATASET.TABLE]...", nargs=-1)
@click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
@project
@as_json
@click.pass_context
def tables(context: click.Context, tables: tuple[str, ...], dataset: str | None, project: str | None, as_json: bool) -> int:
    """Show all tables: how their rows come, versions, views and whether each is up to date, size, last check, problems."""
    from onefold.inventory.display import show_history, show_tables

    check_names(given(("project", project), ("dataset", dataset)))
    settings = read_settings(context)
    named = _named(tables, dataset, settings)  # before the connection, which may be refused
    found = _read(open_project(context, _project(named, project) or settings.project), named, settings)
    if as_json:
        echo_json(found.as_dicts(), warnings=found.warnings)
        return OK
    for warning in found.warnings:
        say("yellow", f"Warning: {warning}")
    console = output_console()
    for history in found.histories:
        show_history(console, history)
    if found.tables or not found.histories:
        show_tables(console, found.tables)
    return OK


def _named(tables: Sequence[str], dataset: str | None, settings: Settings) -> tuple[NamedTables, ...]:
    """Return the tables that are asked for; all tables where none is named.

    Raises:
        UsageError: there is a table without a dataset.
        InvalidInput: nothing says which datasets.
    """
    if tables:
        for table in () if _is_former_form(tables, dataset) else tables:
            _check_dataset(table, dataset)
        found = named_tables(tables, dataset, "onefold tables", of_dataset=dataset is not None)
        check_names(("dataset", one.dataset) for one in found)
        return found
    datasets = [dataset] if dataset else sorted(settings.datasets or ())
    if not datasets:
        raise InvalidInput(_NO_DATASET)
    return tuple(NamedTables(name) for name in datasets)


def _is_former_form(words: Sequence[str], dataset: str | None) -> bool:
    """Return whether words are `DATASET TABLE`, as former releases had them."""
    match words:
        case [first, second]:
            return dataset is None and "." not in first + second and not is_pattern(first)
    return False


def _check_dataset(word: str, dataset: str | None) -> None:
    """Check that a word names a dataset, if no option does; one name alone is more likely a dataset than a table.

    Raises:
        InvalidInput: it names none.
    """
    if "." in word or dataset:
        return
    if not word:
        raise InvalidInput(_NO_DATASET)
    if is_pattern(word):
        raise InvalidInput(f"{word} is in no dataset: write 'DATASET.{word}', or add --dataset DATASET")
    raise InvalidInput(
        f"{word} is in no dataset: write '{word}.*' for all tables of the dataset {word}; for a table {word}, write "
        f"DATASET.{word}, or add --dataset DATASET"
    )


def _project(named: Iterable[NamedTables], typed: str | None) -> str | None:
    """Return the project of all tables.

    Raises:
        UsageError: they are in several.
    """
    projects = {project_of(one, typed) for one in named}
    if len(projects) > 1:
        raise click.UsageError("Expected tables of one project: name the project once, with --project.")
    return projects.pop()


def _read(warehouse: Any, named: Iterable[NamedTables], settings: Settings) -> Inventory:
    """Read what there is of tables.

    Raises:
        NotFound: there is no such dataset, or no such table.
    """
    from onefold.inventory.read import read_inventory

    asked: dict[str, list[str]] = {}
    for one in named:
        asked.setdefault(one.dataset, []).append(one.name or "*")
    return read_inventory(warehouse, asked, settings)
