"""The warehouse that a command works with, and the names in it that are near to one that does not exist."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from onefold.core.errors import NameNotFound, OnefoldError
from onefold.core.versioned_names import VersionedNames
from onefold.settings.unknown_keys import near_name

_OPENED = "onefold.warehouse"


def open_project(context: click.Context, project: str | None) -> Any:
    """Connect to the warehouse of a project, in which the errors of the command look for near names.

    Raises:
        Rejected: there are no credentials, there is no project, or the lab is not installed.
    """
    from onefold.adapters.connect import connect

    warehouse = context.meta[_OPENED] = connect(project)
    return warehouse


def near_dataset(warehouse: Any, dataset: str) -> str:
    """Return a question with the dataset that is near to one that does not exist; an empty text where none is near."""
    known: Sequence[str] = ()
    with suppress(OnefoldError):  # who may not list the datasets is told the other error
        known = warehouse.list_datasets()
    return "" if dataset in known else near_name(dataset, known)


def near_table(warehouse: Any, dataset: str, table: str) -> str:
    """Return a question with the table or the view that is near to one that does not exist, else with the dataset."""
    if near := near_dataset(warehouse, dataset):
        return near
    known: Sequence[str] = ()
    with suppress(OnefoldError):
        known = [one.name for one in warehouse.list_dataset(dataset)]
    return "" if table in known else near_name(table, known)


def with_near_name(error: OnefoldError) -> OnefoldError:
    """Return the error of a command; that about a name which does not exist asks about the one that is near."""
    context = click.get_current_context(silent=True)
    warehouse = context.meta.get(_OPENED) if context else None
    if not warehouse or not isinstance(error, NameNotFound):
        return error
    if error.table is None:
        return error.with_near(near_dataset(warehouse, error.dataset))
    return error.with_near(near_table(warehouse, error.dataset, error.table))


def unknown_table(warehouse: Any, dataset: str, table: str, names: VersionedNames) -> str:
    """Return a warning that a message is about a table that is not there; an empty text where the table is there.

    A message may well say that a table is gone: so it is a warning, and no error.

    Args:
        warehouse: where the table would be.
        dataset: its dataset.
        table: its name, or the base name of versioned tables.
        names: how versioned tables of the dataset are named.
    """
    try:
        known = {*warehouse.list_tables(dataset), *warehouse.list_bases(dataset, names)}
    except NameNotFound as error:
        return str(error.with_near(near_dataset(warehouse, dataset)))
    except OnefoldError as error:
        return f"whether there is a table {dataset}.{table} is not known: {error}"
    return "" if table in known else f"dataset {dataset} has no table {table}{near_name(table, known)}"
