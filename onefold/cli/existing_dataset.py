"""What `discover` and `audit` have in common: the dataset that they are about, and its tables with what tools noted."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from onefold.cli.common import given, read_settings, say
from onefold.cli.warehouse import open_project
from onefold.core.errors import InvalidInput
from onefold.core.names import check_names
from onefold.core.text import counted, size_text

if TYPE_CHECKING:
    from onefold.check.against_source import CopiedDatabase
    from onefold.existing.discover import DatasetTables, Discovered

dataset_argument = click.argument("named", metavar="[DATASET]", required=False)


def source_option(help_: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """Return the option of the database from which a tool copied the tables."""
    return click.option("--source", "url", metavar="URL", help=f"{help_}: mysql://USER@HOST:PORT/DATABASE.")


def open_source(url: str | None) -> CopiedDatabase | None:
    """Return the source that a URL names, with its tables; None where none is named.

    Raises:
        InvalidInput: the URL, the password or the database is missing or wrong.
        TryAgain: the server does not answer.
    """
    if url is None:
        return None
    from onefold.check.against_source import read_source
    from onefold.cli.source_url import address_of
    from onefold.mysql.source_url import parse_source

    parsed = parse_source(url)
    if not parsed.database:
        raise InvalidInput("--source names no database: write mysql://USER@HOST:PORT/DATABASE, with the one that was copied")
    return read_source(address_of(parsed, os.environ), parsed.database)


def split_dataset(named: str | None, dataset: str | None, command: str) -> tuple[str, str]:
    """Return a dataset and a pattern of its tables from `shop`, `shop.orders` or `shop.order_*`.

    Args:
        named: what was typed behind the command.
        dataset: the option, which counts where nothing was typed.
        command: the command, for the error.

    Raises:
        InvalidInput: nothing names a dataset.
    """
    name, dot, pattern = (named or dataset or "").partition(".")
    if not name or (dot and not pattern):
        raise InvalidInput(f"no dataset is named: write `{command} shop`, or `{command} 'shop.order_*'` for some tables")
    check_names([("dataset", name)])
    return name, pattern or "*"


def read_existing(
    context: click.Context,
    named: str | None,
    dataset: str | None,
    project: str | None,
    command: str,
    source: CopiedDatabase | None,
) -> tuple[Any, DatasetTables, list[Discovered]]:
    """Connect, say what is read, and return the warehouse, the tables of the dataset, and what those asked for are.

    The keys that only the source declares are taken from it, where one is named.
    """
    from onefold.existing.discover import discover, noted_keys, read_tables, with_notes, with_settings
    from onefold.existing.source_keys import with_source_keys

    check_names(given(("project", project)))
    name, pattern = split_dataset(named, dataset, command)
    settings = read_settings(context)
    warehouse = open_project(context, project or settings.project)
    listed = with_settings(read_tables(warehouse, name), settings)
    listed = with_source_keys(listed, source.tables) if source else listed
    noted = noted_keys(warehouse, listed)
    if noted.queries:
        say("dim", f"reads {size_text(noted.size)} of {counted(len(noted.queries), 'table')} in which tools note keys")
    listed = with_notes(warehouse, listed, noted)
    for warning in listed.warnings:
        say("yellow", f"Warning: {warning}")
    return warehouse, listed, discover(listed, pattern)
