"""Use cases of the latest state: a view over a change table, or over all versions of one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from onefold.current import current_query
from onefold.errors import NothingFound, ViewNotOurs
from onefold.names import TableId
from onefold.refresh import TABLE_LABEL, owner_digest, refresh
from onefold.retries import until_unchanged
from onefold.settings import Settings
from onefold.versions import Column
from onefold.warehouse import ViewDraft, Warehouse

Action = Literal["none", "create", "update"]


@dataclass(frozen=True)
class CurrentView:
    """The view of a table's latest state, and what was done with it."""

    id: TableId
    source: TableId
    query: str
    action: Action


def refresh_current(
    warehouse: Warehouse,
    table: TableId,
    keys: tuple[str, ...],
    settings: Settings,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> CurrentView:
    """Bring `<table>_current` up to date; the same twice is the same once.

    Args:
        table: a change table; or the base name of versioned ones, whose unified view is refreshed first.
        keys: the columns whose values identify a row of the source.

    Raises:
        NothingFound: there is neither.
        SchemaConflict: all that keeps the table from having a latest state.
        ViewNotOurs: something else has its name.
        TryAgain: trouble that may pass.
    """
    source, columns = _source(warehouse, table, settings)
    id_ = table.sibling(f"{table.table}_current")
    query = current_query(source, columns, keys)
    owner = owner_digest(f"{table} current")
    action = until_unchanged(id_, lambda: _write(warehouse, id_, query, owner), sleep)
    return CurrentView(id_, source, query, action)


def _source(warehouse: Warehouse, table: TableId, settings: Settings) -> tuple[TableId, tuple[Column, ...]]:
    columns = warehouse.read_columns(table)
    if columns is not None:
        return table, columns
    try:
        plan = refresh(warehouse, table, settings)
    except NothingFound as error:
        raise NothingFound(f"there is no change table {table}, and {error}") from error
    if plan.view is None:
        raise NothingFound(f"there is no version of {table}")
    return plan.view.id, plan.view.columns


def _write(warehouse: Warehouse, id_: TableId, query: str, owner: str) -> Action:
    stored = warehouse.get_view(id_)
    if stored is None:
        warehouse.create_view(id_, ViewDraft(query, labels={TABLE_LABEL: owner}))
        return "create"
    if not stored.is_view or stored.labels.get(TABLE_LABEL) != owner:
        raise ViewNotOurs(f"{id_} was not written by `onefold current` for this table: rename it")
    if stored.query == query and not stored.unfinished:
        return "none"
    warehouse.update_view(stored, ViewDraft(query, stored.description, stored.labels))
    return "update"
