"""Use cases of the latest state: a view over a change table, or over all versions of one."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from onefold.current import current_query
from onefold.errors import NothingFound, TryAgain, ViewChanged, ViewNotOurs
from onefold.names import TableId
from onefold.refresh import FIRST_PAUSE, LONGEST_PAUSE, TRIES, refresh
from onefold.settings import Settings
from onefold.versions import Column
from onefold.warehouse import ViewDraft, Warehouse


@dataclass(frozen=True)
class CurrentView:
    """The view of a table's latest state, and what was done with it."""

    id: TableId
    source: TableId
    query: str
    action: Literal["none", "create", "update"]


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
        ViewNotOurs: something that is not a view has its name.
        TryAgain: trouble that may pass.
    """
    source, columns = _source(warehouse, table, settings)
    id_ = table.sibling(f"{table.table}_current")
    query = current_query(source, columns, keys)
    for attempt in range(TRIES):
        try:
            return CurrentView(id_, source, query, _write(warehouse, id_, query))
        except ViewChanged:
            sleep(random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt)))  # noqa: S311
    raise TryAgain(f"{id_}: others wrote it during each of {TRIES} tries")


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


def _write(warehouse: Warehouse, id_: TableId, query: str) -> Literal["none", "create", "update"]:
    stored = warehouse.get_view(id_)
    if stored is None:
        warehouse.create_view(id_, ViewDraft(query))
        return "create"
    if not stored.is_view:
        raise ViewNotOurs(f"{id_} is a table, not a view: rename it")
    if stored.query == query and not stored.unfinished:
        return "none"
    warehouse.update_view(stored, ViewDraft(query, stored.description, stored.labels))
    return "update"
