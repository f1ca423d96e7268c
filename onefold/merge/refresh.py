"""Use case: bring the current view of a table up to date.

The current view reads a change table, the unified view over all versions of one, or a base and what is not merged into it
yet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from onefold.core.errors import LimitExceeded, NotFound, SchemaConflict, ViewNameTaken
from onefold.core.names import TableId
from onefold.core.retry import retry_on_conflict
from onefold.merge.base_table import base_table
from onefold.merge.change_tables import ChangeTable, change_tables, find_single, tells_landing
from onefold.merge.current_view import current_query, current_query_over_base
from onefold.merge.plan import MergePlan, is_base, keys_of, make_plan, read_log
from onefold.merge.positions_check import check_floor, check_positions
from onefold.ports.warehouse import BaseWarehouse, StoredView, ViewDraft
from onefold.schema.bigquery import MAX_TEXT
from onefold.schema.columns import Column
from onefold.settings.environment import Settings
from onefold.views.labels import TABLE_LABEL, owner_digest
from onefold.views.refresh import refresh
from onefold.views.view_plan import Announce

Action = Literal["none", "create", "update"]


@dataclass(frozen=True)
class CurrentView:
    """The view of a table's latest state, and what was done with it."""

    id: TableId
    source: TableId
    query: str
    action: Action
    base: TableId | None = None


def refresh_current(
    warehouse: BaseWarehouse,
    table: TableId,
    keys: Sequence[str],
    settings: Settings,
    *,
    announce: Announce | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> CurrentView:
    """Bring `<table>_current` up to date; running it twice gives the same view as running it once.

    Args:
        warehouse: where the tables are.
        table: a change table; or the base name of versioned ones, whose unified view is refreshed first.
        keys: as for `plan_merge`.
        settings: those of the installation.
        announce: as for `refresh`, of the unified view.
        sleep: pauses for so many seconds between two tries.

    Raises:
        NotFound: there is neither a change table nor a version of one.
        InvalidInput: nobody named the keys, or the base was made with other keys.
        SchemaConflict: everything that keeps the table from having a latest state.
        ViewNameTaken: the name of the view belongs to something else.
        TryAgain: an error that may pass.
    """
    stored = warehouse.read_table(base_table(table))
    has_base = stored is not None and is_base(stored)
    # Errors about keys come before anything is written, so the log is read here, and again after the unified view was
    # written.
    named = keys_of(warehouse, table, settings, read_log(warehouse, table, stored), keys, has_base=has_base)

    def once() -> CurrentView:
        return _refresh(warehouse, table, named, settings, warehouse.get_view(current_view(table)), announce)

    return retry_on_conflict(current_view(table), once, sleep)


def keep_current(
    warehouse: BaseWarehouse, plan: MergePlan, settings: Settings, announce: Announce | None = None
) -> CurrentView | None:
    """Bring the current view up to date after a merge; None where there is none, or Onefold did not make it.

    Args:
        warehouse: where the tables are.
        plan: the plan of the merge, whose keys and whose kind of change table are those of the view.
        settings: those of the installation.
        announce: as for `refresh`, of the unified view.

    Raises:
        OnefoldError: as `refresh_current`.
    """
    table = plan.base.table
    single = next((source for source in plan.changes if source.id == table), None)

    def once() -> CurrentView | None:
        stored = warehouse.get_view(current_view(table))
        if stored is None or not _belongs_to(stored, _owner(table)):
            return None
        source = _Source.of_table(single) if single else _unified(warehouse, table, settings, announce)
        return _write_current(warehouse, table, plan.base.keys, settings, stored, source)

    return retry_on_conflict(current_view(table), once)


def current_view(table: TableId) -> TableId:
    """Return the name of the current view of a table."""
    return table.sibling(f"{table.table}_current")


@dataclass(frozen=True)
class _Source:
    """What a current view reads besides the base, and the change tables of which that consists."""

    id: TableId
    columns: tuple[Column, ...]
    found: tuple[ChangeTable, ...]

    @classmethod
    def of_table(cls, single: ChangeTable) -> _Source:
        return cls(single.id, single.version.columns, (single,))


def _refresh(
    warehouse: BaseWarehouse,
    table: TableId,
    keys: Sequence[str],
    settings: Settings,
    stored: StoredView | None,
    announce: Announce | None,
) -> CurrentView:
    if stored is not None and not _belongs_to(stored, _owner(table)):
        raise ViewNameTaken(f"{stored.id} was not written by `onefold current` for this table: rename it")
    single = find_single(warehouse, table)
    source = _Source.of_table(single) if single else _unified(warehouse, table, settings, announce)
    return _write_current(warehouse, table, keys, settings, stored, source)


def _write_current(
    warehouse: BaseWarehouse,
    table: TableId,
    keys: Sequence[str],
    settings: Settings,
    stored: StoredView | None,
    source: _Source,
) -> CurrentView:
    """Compute the view from what is there now, and write it only if nobody wrote it since `stored` was read.

    The base and the log are read after the unified view was written: a base that was replaced while that went on may lack
    rows that the former one had, and then the view has to read them from the changes.
    """
    base = warehouse.read_table(base_table(table))
    state = read_log(warehouse, table, base) if base and is_base(base) else None
    if base and state and state.now:
        # No merge follows from this plan, so it needs no time at which the change tables were listed.
        plan = make_plan(table, settings.rules_for(table), keys, base, state, source.found, state.now)
        query, base_id = _query_over_base(warehouse, plan, source), plan.base.id
    else:
        query, base_id = current_query(source.id, source.columns, keys), None
    id_ = current_view(table)
    action = _write(warehouse, id_, stored, query, source.columns, _owner(table))
    return CurrentView(id_, source.id, query, action, base_id)


def _query_over_base(warehouse: BaseWarehouse, plan: MergePlan, source: _Source) -> str:
    if plan.stored is None:
        raise NotFound(f"there is no base {plan.base.id}: run `onefold merge` first")
    check_floor(plan)
    check_positions(warehouse, plan)
    if plan.schema_plan.migration == "rebuild":
        changes = ", ".join(f"{change.name} from {change.old} to {change.new}" for change in plan.schema_plan.retyped)
        raise SchemaConflict(f"{plan.base.id} does not follow the unified schema yet ({changes}): run `onefold merge` first")
    since = _since(plan, source.columns)
    zone = plan.rules.time_zone
    query = current_query_over_base(plan.base, plan.stored.columns, source.id, source.columns, since, zone)
    if len(query) > MAX_TEXT:
        raise LimitExceeded(f"{current_view(plan.base.table)}: its text takes {len(query)} of {MAX_TEXT} characters")
    return query


def _since(plan: MergePlan, columns: Sequence[Column]) -> datetime | None:
    """Return the earliest start of a version's last merge, less the overlap; None where a version was never merged."""
    starts = [plan.state.start_of(version) for version in plan.versions]
    known = [start for start in starts if start]
    if not tells_landing(columns) or len(known) < len(starts):
        return None
    return min(known) - timedelta(minutes=plan.rules.overlap_minutes)


def _unified(warehouse: BaseWarehouse, table: TableId, settings: Settings, announce: Announce | None) -> _Source:
    """Refresh the unified view, and return it with the very versions from which it was computed.

    Raises:
        NotFound: there is neither a change table nor a version.
    """
    try:
        plan = refresh(warehouse, table, settings, announce=announce)
    except NotFound as error:
        raise NotFound(f"there is no change table {table}, and {error}") from error
    if plan.view is None:
        raise NotFound(f"there is no version of {table}")
    found = change_tables(table, plan.versions, settings.rules_for(table))
    return _Source(plan.view.id, plan.view.columns, tuple(found))


def _owner(table: TableId) -> str:
    return owner_digest(f"{table} current")


def _belongs_to(stored: StoredView, owner: str) -> bool:
    return stored.is_view and stored.labels.get(TABLE_LABEL) == owner


def _write(
    warehouse: BaseWarehouse,
    id_: TableId,
    stored: StoredView | None,
    query: str,
    columns: tuple[Column, ...],
    owner: str,
) -> Action:
    if stored is None:
        warehouse.create_view(id_, ViewDraft(query, labels={TABLE_LABEL: owner}))
        return "create"
    if stored.query == query and not stored.unfinished:
        return "none"
    warehouse.update_view(stored, ViewDraft(query, stored.description, stored.labels, columns))
    return "update"
