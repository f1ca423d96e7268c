"""Plain change tables, to merge: their names among those of a dataset, their keys, and the dataset of their bases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from onefold.changelog.declared_keys import same_columns
from onefold.changelog.plain_tables import plain_modes
from onefold.core.errors import AccessDenied, NoOwnDataset, NotFound
from onefold.core.names import TableId
from onefold.merge.change_tables import ChangeTable
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.plain_table import PlainTable
from onefold.schema.types import Type
from onefold.settings.environment import Settings

Beside = Callable[[Collection[str]], frozenset[str]]


def declared_key(
    warehouse: BaseWarehouse, table: TableId, settings: Settings, changes: Iterable[ChangeTable] = ()
) -> tuple[str, ...]:
    """Return the key that a plain change table declares in BigQuery, which does not check it; empty for any other table.

    The key of a united table is the one that all of its tables declare, with the column of the dataset before it. Where one
    declares none, or another one, rows could hide each other, so there is none. Tables are asked until one tells no key.

    Args:
        warehouse: where the table is.
        table: the table.
        settings: those that know the table.
        changes: the tables of a united table that are in use; none where its key need not be known.
    """
    if settings.plain_table(table):
        stored = warehouse.read_table(table)
        return stored.primary_key if stored else ()
    rules, key = settings.rules_for(table), tuple[str, ...]()
    for one in changes if rules.of_united else ():
        stored = warehouse.read_table(one.id)
        declared = stored.primary_key if stored else ()
        if not declared or (key and not same_columns(declared, key)):
            return ()
        key = key or declared
    return rules.whole_key(key)


def check_own_dataset(warehouse: BaseWarehouse, table: TableId, settings: Settings) -> None:
    """Check that the dataset of the base and the current view of a plain change table, or of a united one, exists.

    Args:
        warehouse: where it has to be.
        table: the table.
        settings: those that know the table.

    Raises:
        NoOwnDataset: there is none; the error names the command that creates it.
    """
    plain, united = settings.plain_table(table), settings.names_in(table.dataset).united.get(table.table)
    if united:
        own, tables, setting = united.into, f"the datasets {united.datasets}", "`into` of `unite`"
    elif plain and plain.dataset != table.dataset:
        own, tables, setting = plain.dataset, str(table.dataset), "ONEFOLD_PLAIN_DATASET"
    else:
        return
    try:
        warehouse.list_views(own)
    except (NotFound, AccessDenied) as error:  # to an account without rights, a dataset that is not there is a refusal
        problem = "; ".join(warehouse.dataset_problems(own)) or str(error)
        raise NoOwnDataset(
            f"{table} gets no base and no current view: {problem}, in the location of {tables}. "
            f"{setting} names another dataset"
        ) from error


def found_plain(
    dataset: str, settings: Settings, labels: Mapping[str, Mapping[str, str]], types: Mapping[str, Type], beside: Beside
) -> dict[str, PlainTable]:
    """Return the plain change tables of a dataset, by name.

    Args:
        dataset: the dataset.
        settings: those of the installation.
        labels: the labels of all tables of the dataset that are not views, by name.
        types: the type of `datastream_metadata` in each table that has the column.
        beside: called with the names of tables; returns those whose base or current view is in the same dataset.
    """
    names = settings.names_in(dataset).resolved(labels)
    modes = plain_modes(
        tuple(labels), types, names, declared_tables(settings, dataset), declared_tables(settings, dataset, by_tool=True)
    )
    own = settings.plain_dataset.format(dataset=dataset)
    stay = beside([*modes]) if modes and own != dataset else frozenset()
    return {name: PlainTable(mode, dataset if name in stay else own) for name, mode in modes.items()}


def declared_tables(settings: Settings, dataset: str, *, by_tool: bool = False) -> frozenset[str]:
    """Return the names of the tables in a dataset whose keys or tool onefold.yaml declares; `by_tool`: only the tool."""
    tables = settings.tables.items()
    named = (name.rpartition(".") for name, rules in tables if rules.tool or (rules.keys and not by_tool))
    return frozenset(table for its_dataset, _, table in named if its_dataset in ("", dataset))
