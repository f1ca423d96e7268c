"""A base is replaced only while the current view does not read it, so that the view can be read at every moment.

Where the view cannot read the base in its unified types, it reads the whole history already, and of the base at most its
keys, where a purge deleted some. Otherwise, and for these keys, a merge makes a copy of the base and writes the view over
the copy and all changes. Then it replaces the base, writes the view over the new base, and drops the copy. A message that
comes meanwhile finds the copy and writes the same view. A merge that is killed anywhere leaves a view that is right, and the
next merge goes on from there: it uses the copy that was left, or drops it.
"""

from __future__ import annotations

from onefold.merge.current_kind import CurrentKind
from onefold.merge.current_text import base_note, base_noted, copy_of
from onefold.merge.plan import MergePlan
from onefold.merge.refresh import keep_current
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.settings.environment import Settings
from onefold.views.view_plan import Announce


def set_base_aside(warehouse: BaseWarehouse, plan: MergePlan, settings: Settings, announce: Announce | None) -> None:
    """Have the current view read something else than a base that is about to be replaced with other types or values.

    A view over a base that somebody dropped gets the whole history: over the new base, which is empty at first, it would
    show only what landed since the last merge into the former one.

    Args:
        warehouse: where the tables are.
        plan: the plan of the merge.
        settings: those of the installation.
        announce: as for `onefold.views.refresh.refresh`.

    Raises:
        OnefoldError: as `keep_current`; the base must not be replaced then.
    """
    stored = _own_view(warehouse, plan, settings)
    migration = plan.schema_plan.migration
    if stored is None or (migration == "none" if plan.stored else not base_noted(stored.query)):
        return
    if plan.stored and plan.schema_plan.retyped and (migration == "convert" or plan.state.floor is not None):
        copy = copy_of(plan.base.table)
        former = warehouse.read_table(copy)
        if former and former.created < plan.stored.created:  # of a base that was replaced since
            warehouse.execute(f"DROP TABLE IF EXISTS {copy.quoted}")
        warehouse.execute(f"CREATE TABLE IF NOT EXISTS {copy.quoted} AS\nSELECT * FROM {plan.base.id.quoted}")
    keep_current(warehouse, plan, settings, announce)


def follow_base(warehouse: BaseWarehouse, plan: MergePlan, settings: Settings, announce: Announce | None) -> None:
    """Have the current view read a base with the columns that it has by now, before rows are merged into them.

    Args:
        warehouse: where the tables are.
        plan: the plan of the merge, with the base as it is.
        settings: those of the installation.
        announce: as for `onefold.views.refresh.refresh`.

    Raises:
        OnefoldError: as `keep_current`.
    """
    stored = _own_view(warehouse, plan, settings)
    if plan.stored is None:
        return
    if stored and base_noted(stored.query) not in ("", base_note(plan.stored)):
        keep_current(warehouse, plan, settings, announce)
    copy = copy_of(plan.base.table)
    if (stored and copy.quoted in stored.query) or _is_left(warehouse, plan, settings):
        warehouse.execute(f"DROP TABLE IF EXISTS {copy.quoted}")


def _is_left(warehouse: BaseWarehouse, plan: MergePlan, settings: Settings) -> bool:
    """Return whether there is a copy of a merge that was killed, which the view does not read.

    A copy that is younger than the plan belongs to another merge, which runs now and has not written the view yet.
    """
    copy = copy_of(plan.base.table)
    found = warehouse.read_table(copy)
    if found is None or found.created >= plan.started_at:
        return False
    stored = _own_view(warehouse, plan, settings)
    return stored is None or copy.quoted not in stored.query


def _own_view(warehouse: BaseWarehouse, plan: MergePlan, settings: Settings) -> StoredView | None:
    kind = CurrentKind(warehouse, plan.base.table, settings, plan.base.keys)
    stored = warehouse.get_view(kind.id) if settings.rules_for(plan.base.table).current else None
    return stored if stored and kind.is_ours(stored) else None
