"""Use cases of the latest state: the base table, and the view over a change table, all versions of one, or a base."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from onefold.changelog.metadata import LANDED_AT
from onefold.core.errors import LimitExceeded, NotFound, SchemaConflict, ViewNameTaken
from onefold.core.names import TableId, fold_case
from onefold.core.retry import retry_on_conflict
from onefold.merge.apply import merge, merge_snapshot, purge, snapshot_rows
from onefold.merge.base_table import base_table, merge_statement
from onefold.merge.change_query import changes_query, in_statements
from onefold.merge.current_view import current_query, current_query_over_base
from onefold.merge.merge_log import MergeCounts
from onefold.merge.migrate import first_statements, prepare
from onefold.merge.plan import BroughtUp, MergePlan, is_base, keys_of, plan_merge, read_log
from onefold.merge.positions_check import check_floor, check_positions
from onefold.ports.warehouse import BaseWarehouse, StoredView, ViewDraft
from onefold.schema.bigquery import MAX_TEXT
from onefold.schema.columns import Column
from onefold.schema.types import Scalar
from onefold.settings.environment import Settings
from onefold.views.refresh import TABLE_LABEL, Announce, owner_digest, refresh

Action = Literal["none", "create", "update"]


@dataclass(frozen=True)
class CurrentView:
    """The view of a table's latest state, and what was done with it."""

    id: TableId
    source: TableId
    query: str
    action: Action
    base: TableId | None = None


@dataclass(frozen=True)
class MergeResult:
    """What a merge did, step by step; None for a step that was not asked for, or not needed."""

    plan: MergePlan
    counts: MergeCounts
    brought_up: BroughtUp | None = None
    snapshot: MergeCounts | None = None
    purged: int | None = None
    view: CurrentView | None = None


def reconcile(
    warehouse: BaseWarehouse,
    table: TableId,
    settings: Settings,
    keys: Sequence[str] = (),
    *,
    snapshot: TableId | None = None,
    at: str | None = None,
    purge_after_days: int | None = None,
    rebuild: bool = False,
    announce: Announce | None = None,
) -> MergeResult:
    """Bring `<table>_base` up to date, and the text of `<table>_current` where that is ours.

    Args:
        keys: as for `plan_merge`.
        snapshot, at: a copy of the source that is merged first, and the source's sequence when it was made.
        purge_after_days: delete the tombstones that are older by the source's clock.
        rebuild: write the base anew from the whole history first.
        announce: as for `refresh`, of the unified view that `<table>_current` reads.

    Raises:
        As `plan_merge`, `prepare` and `merge_snapshot`; TryAgain for trouble that may pass: run it again.
    """
    copied = brought_up = None
    if snapshot:
        first = prepare(warehouse, table, settings, keys, rebuild=rebuild)
        brought_up, copied = first.brought_up, merge_snapshot(warehouse, first, snapshot, at)
        keys = first.base.keys
    plan, counts = merge(warehouse, table, settings, keys, rebuild=rebuild and not snapshot)
    purged = None if purge_after_days is None else purge(warehouse, plan, purge_after_days)
    view = keep_current(warehouse, table, settings, plan.base.keys, announce)
    return MergeResult(plan, counts, brought_up or plan.brought_up, copied, purged, view)


def statements(
    warehouse: BaseWarehouse,
    table: TableId,
    settings: Settings,
    keys: Sequence[str] = (),
    *,
    snapshot: TableId | None = None,
    at: str | None = None,
    rebuild: bool = False,
) -> list[str]:
    """The statements of a merge, which are not run: what makes and alters tables, and every MERGE."""
    plan = plan_merge(warehouse, table, settings, keys)
    spare = plan.following.spare
    copied = [snapshot_rows(warehouse, plan, snapshot, at)] if snapshot else []
    groups = in_statements(plan.changes, plan.base, plan.rules)
    rows = [*copied, *(changes_query(group, plan.base, plan.rules) for group in groups)]
    return [*first_statements(plan, rebuild), *(merge_statement(plan.base, some, spare) for some in rows)]


def refresh_current(
    warehouse: BaseWarehouse,
    table: TableId,
    keys: Sequence[str],
    settings: Settings,
    *,
    announce: Announce | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> CurrentView:
    """Bring `<table>_current` up to date; the same twice is the same once.

    Args:
        table: a change table; or the base name of versioned ones, whose unified view is refreshed first.
        keys: as for `plan_merge`.
        announce: as for `refresh`, of the unified view.

    Raises:
        NotFound: there is neither.
        InvalidInput: nobody named the keys, or others than the base's.
        SchemaConflict: all that keeps the table from having a latest state.
        ViewNameTaken: something else has its name.
        TryAgain: trouble that may pass.
    """
    stored = warehouse.read_table(base_table(table))
    base = base_table(table) if stored and is_base(stored) else None
    state = read_log(warehouse, table, stored)
    named = keys_of(warehouse, table, settings, state, keys, has_base=base is not None)
    source, columns = _source(warehouse, table, settings, announce)
    if base and state.now:
        query = _query_over_base(warehouse, plan_merge(warehouse, table, settings, named), source, columns)
    else:
        query, base = current_query(source, columns, named), None
    id_, owner = current_view(table), _owner(table)
    action = retry_on_conflict(id_, lambda: _write(warehouse, id_, query, columns, owner), sleep)
    return CurrentView(id_, source, query, action, base)


def keep_current(
    warehouse: BaseWarehouse, table: TableId, settings: Settings, keys: Sequence[str], announce: Announce | None = None
) -> CurrentView | None:
    """Bring the view up to date where there is one and it is ours, after a merge by these keys."""
    stored = warehouse.get_view(current_view(table))
    if stored is None or not _is_ours(stored, _owner(table)):
        return None
    return refresh_current(warehouse, table, keys, settings, announce=announce)


def current_view(table: TableId) -> TableId:
    return table.sibling(f"{table.table}_current")


def _query_over_base(warehouse: BaseWarehouse, plan: MergePlan, source: TableId, columns: Sequence[Column]) -> str:
    if plan.stored is None:
        raise NotFound(f"{plan.base.id} was dropped just now")
    check_floor(plan)
    check_positions(warehouse, plan)
    if plan.following.way == "rebuild":
        changes = ", ".join(f"{change.name} from {change.old} to {change.new}" for change in plan.following.retyped)
        raise SchemaConflict(f"{plan.base.id} does not follow the unified schema yet ({changes}): run `onefold merge` first")
    since = _since(plan, columns)
    query = current_query_over_base(plan.base, plan.stored.columns, source, columns, since, plan.rules.time_zone)
    if len(query) > MAX_TEXT:
        raise LimitExceeded(f"{current_view(plan.base.table)}: its text takes {len(query)} of {MAX_TEXT} characters")
    return query


def _since(plan: MergePlan, columns: Sequence[Column]) -> datetime | None:
    """The earliest start of a version's last merge, less the overlap; None where one was never merged."""
    landing = any(fold_case(column.name) == LANDED_AT and column.type == Scalar("TIMESTAMP") for column in columns)
    starts = [plan.state.start_of(version) for version in plan.versions]
    known = [start for start in starts if start]
    if not landing or len(known) < len(starts):
        return None
    return min(known) - timedelta(minutes=plan.rules.overlap_minutes)


def _source(
    warehouse: BaseWarehouse, table: TableId, settings: Settings, announce: Announce | None
) -> tuple[TableId, tuple[Column, ...]]:
    columns = warehouse.read_columns(table)
    if columns is not None:
        return table, columns
    try:
        plan = refresh(warehouse, table, settings, announce=announce)
    except NotFound as error:
        raise NotFound(f"there is no change table {table}, and {error}") from error
    if plan.view is None:
        raise NotFound(f"there is no version of {table}")
    return plan.view.id, plan.view.columns


def _owner(table: TableId) -> str:
    return owner_digest(f"{table} current")


def _is_ours(stored: StoredView, owner: str) -> bool:
    return stored.is_view and stored.labels.get(TABLE_LABEL) == owner


def _write(warehouse: BaseWarehouse, id_: TableId, query: str, columns: tuple[Column, ...], owner: str) -> Action:
    stored = warehouse.get_view(id_)
    if stored is None:
        warehouse.create_view(id_, ViewDraft(query, labels={TABLE_LABEL: owner}))
        return "create"
    if not _is_ours(stored, owner):
        raise ViewNameTaken(f"{id_} was not written by `onefold current` for this table: rename it")
    if stored.query == query and not stored.unfinished:
        return "none"
    warehouse.update_view(stored, ViewDraft(query, stored.description, stored.labels, columns))
    return "update"
