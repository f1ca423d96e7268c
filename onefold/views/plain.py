"""Which tables of a dataset are plain change tables, and where the base and the current view of each are.

They are in a dataset of our own (`ONEFOLD_PLAIN_DATASET`), not in that of the tables, which belongs to whoever writes them.
A base or a current view that an earlier release made in the dataset of its table stays there, and is kept there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from onefold.changelog.metadata import METADATA, metadata_of
from onefold.changelog.plain_tables import may_be_plain
from onefold.core.errors import InvalidInput
from onefold.core.names import TableId
from onefold.merge.base_table import base_table
from onefold.merge.plain import declared_tables, found_plain
from onefold.merge.stored_base import is_base
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.labels import TABLE_LABEL
from onefold.settings.environment import Settings
from onefold.views.current_kind import current_owner


def with_plain_tables(warehouse: BaseWarehouse, dataset: str, settings: Settings) -> Settings:
    """Return the settings with all plain change tables of a dataset: two lists of it, and a query of its columns.

    Args:
        warehouse: where the dataset is.
        dataset: the dataset.
        settings: those of the installation.

    Raises:
        NotFound: the dataset does not exist.
    """
    labels = warehouse.list_labels(dataset)
    types = warehouse.column_types(dataset, METADATA) if labels else {}
    settings = replace(settings, plain={})
    found = found_plain(dataset, settings, labels, types, partial(_beside, warehouse, dataset, settings, labels))
    return settings.with_plain(dataset, found)


def with_plain_table(warehouse: BaseWarehouse, table: TableId, settings: Settings) -> Settings:
    """Return the settings with one table, where it is a plain change table: a call, and for such a table two lists more.

    Args:
        warehouse: where the table is.
        table: its name.
        settings: those of the installation.
    """
    if settings.plain_table(table):
        return settings
    stored = warehouse.read_table(table)
    dataset = table.dataset or ""
    if stored is None or not may_be_plain(stored.columns, declared=table.table in declared_tables(settings, dataset)):
        return settings
    labels = warehouse.list_labels(dataset)
    types = {table.table: metadata_of(stored.columns)}

    def beside(_: Collection[str]) -> frozenset[str]:
        return _beside(warehouse, dataset, settings, labels, [table.table])

    found = found_plain(dataset, settings, labels, types, beside)
    return settings.with_plain(dataset, {name: one for name, one in found.items() if name == table.table})


def knowing_plain(
    warehouse: BaseWarehouse, dataset: str, table: str | None, settings: Settings, keys: Sequence[str] = ()
) -> Settings:
    """Return the settings with one table, or with all plain change tables of a dataset where no table is named.

    Args:
        warehouse: where the dataset is.
        dataset: the dataset.
        table: the table; None for all.
        settings: those of the installation.
        keys: the key of the table that a command names, which counts as if onefold.yaml declared it.

    Raises:
        InvalidInput: a key is named for a table of somebody else that is no plain change table: its view and its base would
            be in the dataset of the table.
    """
    if table is None:
        return with_plain_tables(warehouse, dataset, settings)
    id_ = TableId(warehouse.project, dataset, table)
    declared = {f"{dataset}.{table}": replace(settings.rules_for(id_), keys=tuple(keys))} if keys else {}
    known = with_plain_table(warehouse, id_, replace(settings, tables={**settings.tables, **declared}))
    if keys and not known.plain_table(id_) and warehouse.has_table(id_):
        reason = (
            settings.names_in(dataset).exclusion_reason(table) or "there are versions of it, or it is named as one or a base"
        )
        raise InvalidInput(f"{id_} gets no base and no current view by --keys: {reason}")
    return replace(settings, plain=known.plain)


def found_view(warehouse: BaseWarehouse, named: TableId, settings: Settings) -> TableId:
    """Return the current view that a name beside its table means: where nothing has that name, the view where it is.

    A request names the view by its table alone, without a look at the warehouse: `orders_current` of `shop`, while the view
    of a plain change table is in `shop__onefold`.

    Args:
        warehouse: where the view is.
        named: the name; one that is no current view's, or that exists, is returned as it is.
        settings: those of the installation.
    """
    base = named.sibling(named.table.removesuffix("_current"))
    if base == named or warehouse.get_view(named):
        return named
    view = with_plain_table(warehouse, base, settings).current_view_of(base)
    return view if warehouse.get_view(view) else named


def _beside(
    warehouse: BaseWarehouse, dataset: str, settings: Settings, tables: Collection[str], names: Collection[str]
) -> frozenset[str]:
    """Return the tables whose base or current view an earlier release made in the dataset of the tables."""
    ids = [TableId(warehouse.project, dataset, name) for name in names]
    views = set(warehouse.list_views(dataset))
    return frozenset(
        id_.table for id_ in ids if _has_base(warehouse, id_, tables) or _has_view(warehouse, id_, settings, views)
    )


def _has_base(warehouse: BaseWarehouse, table: TableId, tables: Collection[str]) -> bool:
    stored = warehouse.read_table(base_table(table)) if base_table(table).table in tables else None
    return stored is not None and is_base(stored)


def _has_view(warehouse: BaseWarehouse, table: TableId, settings: Settings, views: Collection[str]) -> bool:
    view = settings.current_view_of(table)
    stored = warehouse.get_view(view) if view.dataset == table.dataset and view.table in views else None
    return stored is not None and stored.labels.get(TABLE_LABEL) == current_owner(table)
