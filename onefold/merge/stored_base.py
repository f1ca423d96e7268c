"""The base of a table as it is, and what the log of its merges says of it."""

from __future__ import annotations

from collections.abc import Iterable

from onefold.core.errors import SchemaConflict
from onefold.core.names import TEMPORARY_PREFIX, TableId
from onefold.merge.base_table import DELETED, PACKED, POSITION, base_table, log_of
from onefold.merge.merge_log import LOG_COLUMNS, state_query
from onefold.merge.merge_state import MergeState, read_state
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.bigquery import absent_columns
from onefold.schema.columns import Column, Schema


def read_base(warehouse: BaseWarehouse, table: TableId) -> StoredTable | None:
    """Return the base of a table as it is; None where there is none.

    Raises:
        SchemaConflict: the name of the base belongs to something else.
    """
    stored = warehouse.read_table(base_table(table))
    if not is_base(stored) if stored else _is_view(warehouse, base_table(table)):
        raise SchemaConflict(f"{base_table(table)} was not written by `onefold merge`: rename it")
    return stored


def _is_view(warehouse: BaseWarehouse, id_: TableId) -> bool:
    """Return whether a view has the name, which keeps a table of that name from being made."""
    found = warehouse.get_view(id_)
    return found is not None and found.is_view


def is_base(stored: StoredTable) -> bool:
    """Return whether a table has the columns that only a base table has."""
    names = {*Schema(stored.columns).names}
    return DELETED in names and not names.isdisjoint((POSITION, PACKED))


def is_packed(columns: Iterable[Column]) -> bool:
    """Return whether the positions of a base with these columns are bytes."""
    return any(column.name == PACKED for column in columns)


def copy_of(table: TableId) -> TableId:
    """Return the name of the copy of a base that the current view reads while the base is replaced.

    Examples:
        >>> copy_of(TableId("p", "shop", "customer")).table
        'onefold_tmp_copy_customer_base'
    """
    return table.sibling(f"{TEMPORARY_PREFIX}copy_{base_table(table).table}")


def has_copy(warehouse: BaseWarehouse, table: TableId, stored: StoredTable) -> bool:
    """Return whether a merge has copied the base that is there, to replace it. An older copy was made of a former base.

    Args:
        warehouse: where the base is.
        table: the table whose base it is, in the dataset of the base.
        stored: the base table as it is.
    """
    copy = warehouse.read_table(copy_of(table))
    return copy is not None and copy.created >= stored.created


def read_log(warehouse: BaseWarehouse, table: TableId, stored: StoredTable | None) -> MergeState:
    """Return what the log of merges says of the stored base; an empty state where there is no log.

    Args:
        warehouse: where the log is.
        table: the table whose merges are logged.
        stored: the base table as it is; None where it does not exist.
    """
    log_ = log_of(table)
    if (found := warehouse.read_table(log_)) is None:
        return MergeState()
    lacks = Schema(absent_columns(found.columns, LOG_COLUMNS))
    return read_state(warehouse.fetch(state_query(log_, lacks)), stored.created if stored else None, lacks)
