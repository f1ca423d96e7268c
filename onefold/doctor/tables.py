"""The tables and datasets that onefold.yaml names: an entry that fits none has no effect, and nobody would notice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from onefold.core.errors import NotFound
from onefold.core.text import shown_list
from onefold.settings.environment import Settings
from onefold.settings.unknown_keys import near_name


class ListedWarehouse(Protocol):
    """What the check needs of a warehouse."""

    def list_labels(self, dataset: str) -> Mapping[str, Mapping[str, str]]:
        """Return the labels of all tables of a dataset, by their names."""

    def list_datasets(self) -> Sequence[str]:
        """Return the names of all datasets."""


def named_datasets(settings: Settings) -> tuple[str, ...]:
    """Return the datasets that `tables` and `datasets` of onefold.yaml name."""
    of_tables = (name.rpartition(".")[0] for name in settings.tables)
    return tuple(dict.fromkeys(name for name in (*of_tables, *settings.dataset_names) if name))


def unknown_names(warehouse: ListedWarehouse, settings: Settings, datasets: Sequence[str]) -> Iterator[str]:
    """Yield a problem for each table and each dataset of onefold.yaml that does not exist.

    Args:
        warehouse: where the tables are.
        settings: those of the installation.
        datasets: the datasets of the installation, in one of which a table without a dataset has to be.
    """
    found = {name: _tables(warehouse, settings, name) for name in dict.fromkeys((*datasets, *named_datasets(settings)))}
    for dataset in named_datasets(settings):
        if found[dataset] is None:
            known = [name for name in warehouse.list_datasets() if name != dataset]
            yield f"there is no dataset {dataset}, which onefold.yaml names{near_name(dataset, known)}: {_REMEDY}"
    for name in settings.tables:
        dataset, _, table = name.rpartition(".")
        places = [tables for one in ([dataset] if dataset else datasets) if (tables := found[one]) is not None]
        known = sorted(set().union(*places))
        if places and table not in known:
            where = shown_list([dataset] if dataset else datasets)
            yield f"tables.{name} of onefold.yaml: no table {table} in {where}{near_name(table, known)}: {_REMEDY}"


_REMEDY = "correct the name, or remove the entry"


def _tables(warehouse: ListedWarehouse, settings: Settings, dataset: str) -> set[str] | None:
    """Return the names of the tables of a dataset, and the base names of versions; None where there is no such dataset."""
    try:
        labels = warehouse.list_labels(dataset)
    except NotFound:
        return None
    names = settings.with_listed(dataset, labels).names_in(dataset)
    return {*labels, *(split[0] for table in labels if (split := names.split(table)))}
