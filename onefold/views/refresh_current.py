"""Use case: bring the current view of a table up to date.

The current view reads a change table, or all versions of one, or a base and what is not merged into it yet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from onefold.core.errors import KeyUnknown, NoCurrentView, NoOwnDataset, NothingToMerge, NoVersions
from onefold.core.names import TableId
from onefold.merge.base_table import base_table
from onefold.merge.plan import MergePlan
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.kind import Record, ViewKind
from onefold.refresh.plan import Announce, ViewPlan
from onefold.refresh.write import plan_refresh, refresh
from onefold.settings.environment import Settings
from onefold.settings.unknown_keys import near_name
from onefold.views.current_kind import CurrentKind
from onefold.views.current_text import left_out
from onefold.views.newest_load import kind_of
from onefold.views.table_views import TableViews

Action = Literal["none", "create", "update", "remove"]


@dataclass(frozen=True)
class CurrentView:
    """The view of a table's latest state, and what was done with it."""

    id: TableId
    source: TableId
    query: str
    action: Action
    base: TableId | None
    plan: ViewPlan


def refresh_current(
    warehouse: BaseWarehouse,
    table: TableId,
    keys: Sequence[str],
    settings: Settings,
    *,
    announce: Announce | None = None,
    record: Record | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> CurrentView:
    """Bring the current view of a table up to date; running it twice gives the same view as running it once.

    Args:
        warehouse: where the tables are.
        table: a change table, or the base name of versioned ones.
        keys: as for `plan_merge`.
        settings: those of the installation.
        announce: as for `onefold.refresh.write.refresh`.
        record: records the changes of a view in the ledger; None where there is none.
        sleep: pauses for so many seconds between two tries.

    Raises:
        NoVersions: there is neither a change table nor a version of one.
        NoOwnDataset: there is no dataset for the view.
        InvalidInput: nobody named the keys, or the base was made with other keys.
        NoCurrentView: the settings exclude the table.
        SchemaConflict: everything that keeps the table from having a latest state.
        ViewNameTaken: the name of the view belongs to something else.
        TryAgain: an error that may pass.
    """
    if not settings.rules_for(table).current:
        raise NoCurrentView(f"{table} has no current view: onefold.yaml sets `current: false` for it")
    kind = kind_of(warehouse, table, settings, tuple(keys))
    try:
        return _brought_up_to_date(kind, announce, record, sleep)
    except (NoVersions, NothingToMerge) as error:
        bases = set(warehouse.list_bases(table.dataset or "", settings.names_in(table.dataset))) - {table.table}
        raise NoVersions(f"there is no change table {table}{near_name(table.table, bases)}, and {error}") from error


def plan_current(warehouse: BaseWarehouse, table: TableId, keys: Sequence[str], settings: Settings) -> CurrentView:
    """Return what `refresh_current` would do with a view, and write nothing.

    Raises:
        NoCurrentView: the settings exclude the table.
        OnefoldError: as `refresh_current`.
    """
    if not settings.rules_for(table).current:
        raise NoCurrentView(f"{table} has no current view: onefold.yaml sets `current: false` for it")
    kind = kind_of(warehouse, table, settings, tuple(keys))
    return _done(plan_refresh(kind), kind)


def keep_current(
    warehouse: BaseWarehouse,
    plan: MergePlan,
    settings: Settings,
    announce: Announce | None = None,
    record: Record | None = None,
) -> CurrentView | None:
    """Bring the current view up to date for a merge; None where there is none, or Onefold did not make it.

    Under a contract the view keeps what it shows, without a look at the decisions of people: a table of them that cannot be
    read would keep rows out of the base.

    Args:
        warehouse: where the tables are.
        plan: the plan of the merge, whose keys and whose kind of change table are those of the view.
        settings: those of the installation.
        announce: as for `onefold.refresh.write.refresh`.
        record: as for `refresh_current`.

    Raises:
        OnefoldError: as `refresh_current`.
    """
    table, settings = plan.base.table, replace(settings, changes_dataset=None)
    kind = kind_of(warehouse, table, settings, plan.base.keys)
    stored = warehouse.get_view(kind.id)
    if not settings.rules_for(table).current or stored is None or not kind.is_ours(stored):
        return None
    return _brought_up_to_date(kind, announce, record)


def _brought_up_to_date(
    kind: CurrentKind, announce: Announce | None, record: Record | None, sleep: Callable[[float], None] = time.sleep
) -> CurrentView:
    """Bring a current view up to date, and the clean view over it: a process that died may have left that closed.

    Raises:
        KeyUnknown: nobody knows the key.
        NoOwnDataset: there is no dataset for the view.
        OnefoldError: a view could not be written.
    """

    def work(one: ViewKind, version: str | None) -> ViewPlan:
        recorded = record(one) if record else None
        return refresh(one, version=version, announce=announce, record=recorded, sleep=sleep)

    results = list(TableViews(kind.warehouse, kind.settings, work).bring_current_up_to_date(kind))
    for result in results:
        if result.error:
            raise result.error
    if results[0].plan is None:
        raise (NoOwnDataset if results[0].lacks_dataset else KeyUnknown)(results[0].skipped)
    return _done(results[0].plan, kind)


def _done(plan: ViewPlan, kind: CurrentKind) -> CurrentView:
    """Return what a refresh did.

    Raises:
        NoVersions: there was nothing to write.
    """
    if plan.view is None:
        raise NoVersions(f"there is no version of {kind.base}: correct the name")
    base = base_table(kind.settings.rules_for(kind.base).base_place(kind.base))
    reads_base = f"FROM {base.quoted} " in plan.view.query and not left_out(plan.view.query)
    return CurrentView(plan.view.id, kind.base, plan.view.query, plan.action, base if reads_base else None, plan)
