"""Use case: bring the base table of a table up to date, and the current view that reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onefold.core.names import TableId
from onefold.merge.apply import count_rebuilt, merge_changes, merge_snapshot, purge
from onefold.merge.merge_state import MergeCounts
from onefold.merge.migrate import prepare
from onefold.merge.plan import BroughtUp, MergePlan
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.kind import Record
from onefold.refresh.plan import Announce
from onefold.settings.environment import Settings
from onefold.views.base_view import CurrentViewOverBase
from onefold.views.refresh_current import CurrentView


@dataclass(frozen=True)
class MergeResult:
    """What a merge did, step by step; None for a step that was not asked for, or not needed.

    The rows of a rebuild are among `counts`.
    """

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
    record: Record | None = None,
) -> MergeResult:
    """Bring `<table>_base` up to date, and `<table>_current` where Onefold made that view.

    Args:
        warehouse: where the tables are.
        table: a change table, or the base name of versioned ones.
        settings: those of the installation.
        keys: as for `plan_merge`.
        snapshot: a table with a copy of the source, which is merged first.
        at: the source's sequence when the copy was made; by default every row of it is older than any change.
        purge_after_days: delete tombstones that are at least this many days old by the source's clock; None for none.
        rebuild: write the base anew from the whole history first.
        announce: as for `refresh`, of the current view.
        record: as for `refresh_current`.

    Raises:
        OnefoldError: as `prepare`, `merge_snapshot` and `refresh_current`; TryAgain for errors that may pass.
    """
    view = CurrentViewOverBase(warehouse, settings, announce, record)
    plan = prepare(warehouse, table, settings, view, keys, rebuild=rebuild)
    rebuilt = count_rebuilt(warehouse, plan)
    copied = merge_snapshot(warehouse, plan, snapshot, at) if snapshot else None
    counts = merge_changes(warehouse, plan) + rebuilt
    purged = None if purge_after_days is None else purge(warehouse, plan, purge_after_days)
    return MergeResult(plan, counts, plan.brought_up, copied, purged, view.after_merge(plan))
