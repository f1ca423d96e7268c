"""A base is replaced only while the current view does not read it, so that the view can be read at every moment.

Where the view cannot read the base in its unified types, it reads the whole history already, and of the base at most its
keys, where a purge deleted some. Otherwise, and for these keys, a merge makes a copy of the base and writes the view over
the copy and all changes. Then it replaces the base, writes the view over the new base, and drops the copy. A message that
comes meanwhile finds the copy and writes the same view. A merge that is killed anywhere leaves a view that is right, and the
next merge goes on from there: it uses the copy that was left, or drops it.
"""

from __future__ import annotations

from dataclasses import dataclass

from onefold.merge.plan import MergePlan
from onefold.merge.stored_base import copy_of
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.refresh.kind import Record
from onefold.refresh.plan import Announce
from onefold.settings.environment import Settings
from onefold.views.current_kind import CurrentKind
from onefold.views.current_text import base_note, base_noted
from onefold.views.refresh_current import CurrentView, keep_current


@dataclass(frozen=True)
class CurrentViewOverBase:
    """The current view of a table while a merge writes its base.

    Attributes:
        warehouse: where the tables are.
        settings: those of the installation.
        announce: as for `onefold.refresh.write.refresh`.
        record: as for `refresh_current`.
    """

    warehouse: BaseWarehouse
    settings: Settings
    announce: Announce | None = None
    record: Record | None = None

    def before_base(self, plan: MergePlan) -> None:
        """Have the current view read something else than a base that is about to be replaced with other types or values.

        A view over a base that somebody dropped gets the whole history: over the new base, which is empty at first, it would
        show only what landed since the last merge into the former one.

        Raises:
            OnefoldError: as `keep_current`; the base must not be replaced then.
        """
        stored = self._own_view(plan)
        migration = plan.schema_plan.migration
        if stored is None or (migration == "none" if plan.stored else not base_noted(stored.query)):
            return
        is_reshaped = plan.schema_plan.packs or plan.schema_plan.retyped
        if plan.stored and is_reshaped and (migration == "convert" or plan.state.floor is not None):
            copy = copy_of(plan.base.place)
            former = self.warehouse.read_table(copy)
            if former and former.created < plan.stored.created:  # of a base that was replaced since
                self.warehouse.execute(f"DROP TABLE IF EXISTS {copy.quoted}")
            self.warehouse.execute(f"CREATE TABLE IF NOT EXISTS {copy.quoted} AS\nSELECT * FROM {plan.base.id.quoted}")
        self.after_merge(plan)

    def after_base(self, plan: MergePlan) -> None:
        """Have the current view read a base with the columns that it has by now, before rows are merged into them.

        Raises:
            OnefoldError: as `keep_current`.
        """
        stored = self._own_view(plan)
        if plan.stored is None:
            return
        if stored and base_noted(stored.query) not in ("", base_note(plan.stored)):
            self.after_merge(plan)
        copy = copy_of(plan.base.place)
        if (stored and copy.quoted in stored.query) or self._is_left(plan):
            self.warehouse.execute(f"DROP TABLE IF EXISTS {copy.quoted}")

    def after_merge(self, plan: MergePlan) -> CurrentView | None:
        """Bring the current view up to date; None where there is none, or Onefold did not make it.

        Raises:
            OnefoldError: as `keep_current`.
        """
        return keep_current(self.warehouse, plan, self.settings, self.announce, self.record)

    def _is_left(self, plan: MergePlan) -> bool:
        """Return whether there is a copy of a merge that was killed, which the view does not read.

        A copy that is younger than the plan belongs to another merge, which runs now and has not written the view yet.
        """
        copy = copy_of(plan.base.place)
        found = self.warehouse.read_table(copy)
        if found is None or found.created >= plan.started_at:
            return False
        stored = self._own_view(plan)
        return stored is None or copy.quoted not in stored.query

    def _own_view(self, plan: MergePlan) -> StoredView | None:
        kind = CurrentKind(self.warehouse, plan.base.table, self.settings, plan.base.keys)
        stored = self.warehouse.get_view(kind.id) if self.settings.rules_for(plan.base.table).current else None
        return stored if stored and kind.is_ours(stored) else None
