"""Tables of events, brought to the columns of a run: the plan, its record, and then the change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onefold.core.errors import OnefoldError, TryAgain
from onefold.events.load.adopted_plan import plan_adopted_table
from onefold.events.load.plan import EventTablePlan, Facts, Wanted, plan_table
from onefold.events.load.wide_plan import is_wide, plan_wide_table, with_descriptions
from onefold.ports.event_tables import EventWarehouse, FoundTable, KnownColumns

_ROUNDS = 5
"""Looks at a table that other loaders change at the same time."""

Planned = Mapping[str, EventTablePlan | OnefoldError]
"""The plan of each table by its name, or why there is none."""


@dataclass(frozen=True)
class TableMigrations:
    """Brings the tables of a run to its columns.

    Attributes:
        warehouse: where the tables are.
        run: the address of the folder of the run.
    """

    warehouse: EventWarehouse
    run: str

    def plan(self, wanted: Sequence[Wanted]) -> Planned:
        """Return what tables need; nothing is written.

        Args:
            wanted: the tables as the run has them.
        """
        names = [one.table.name for one in wanted]
        before = self.warehouse.histories(names)
        found = {name: self._find(name) for name in names}
        after = self.warehouse.histories(names)
        return {one.table.name: self._plan(one, found[one.table.name], before, after) for one in wanted}

    def migrate(self, wanted: Sequence[Wanted]) -> Planned:
        """Bring tables to their columns, and return for each what was done first, or why it does not have them.

        Args:
            wanted: the tables as the run has them.
        """
        done: dict[str, EventTablePlan | OnefoldError] = {}
        rest = list(wanted)
        for _ in range(_ROUNDS):
            if not rest:
                return done
            planned = self.plan(rest)
            self._record(rest, planned)
            rest = [one for one in rest if self._change(planned[one.table.name], one.table.name, done)]
        return {**done, **{one.table.name: _busy(one.table.name, done.get(one.table.name)) for one in rest}}

    def _find(self, name: str) -> FoundTable | OnefoldError | None:
        try:
            return self.warehouse.find(name)
        except OnefoldError as error:
            return error

    def _plan(
        self,
        wanted: Wanted,
        found: FoundTable | OnefoldError | None,
        before: Mapping[str, Sequence[KnownColumns]],
        after: Mapping[str, Sequence[KnownColumns]],
    ) -> EventTablePlan | OnefoldError:
        if isinstance(found, OnefoldError):
            return found
        name = wanted.table.name
        facts = Facts(before.get(name, ()), found, after.get(name, ()))
        has_wide = is_wide(wanted, facts)
        own = plan_wide_table if has_wide else plan_table
        plan = plan_adopted_table if wanted.table.is_adopted else own
        try:
            made = plan(wanted, facts, self.warehouse.grown)
            return with_descriptions(made, wanted) if has_wide else made
        except OnefoldError as error:
            return error

    def _record(self, wanted: Iterable[Wanted], planned: Planned) -> None:
        plans = [(one, planned[one.table.name]) for one in wanted]
        new = [(one, plan.table) for one, plan in plans if isinstance(plan, EventTablePlan) and not plan.is_listed]
        if new:
            self.warehouse.record_plan(self.run, new[0][0].registry_read_at, [table for _, table in new])

    def _change(
        self, plan: EventTablePlan | OnefoldError, name: str, done: dict[str, EventTablePlan | OnefoldError]
    ) -> bool:
        """Change a table; return whether it has to be looked at again, because somebody has changed it."""
        if isinstance(plan, OnefoldError):
            done[name] = plan
            return isinstance(plan, TryAgain)
        first = done.get(name)
        try:
            if plan.action == "create":
                self.warehouse.create(plan.table)
            elif plan.found and plan.action == "change":
                self.warehouse.change(name, plan.found, plan.table)
        except OnefoldError as error:
            done[name] = error
            return isinstance(error, TryAgain)
        done[name] = first if isinstance(first, EventTablePlan) else plan
        return plan.action != "none"


def _busy(name: str, last: EventTablePlan | OnefoldError | None) -> OnefoldError:
    return last if isinstance(last, OnefoldError) else TryAgain(f"{name}: other loaders change this table: load it again")
