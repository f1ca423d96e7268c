"""A check that the change tables still hold every row of a base, before anything takes the whole history for the base."""

from __future__ import annotations

from onefold.core.errors import SchemaConflict
from onefold.core.text import counted
from onefold.merge.change_query import changes_query
from onefold.merge.plan import MergePlan
from onefold.merge.schema_evolution import lost_rows_query
from onefold.ports.warehouse import BaseWarehouse


def check_nothing_is_lost(warehouse: BaseWarehouse, plan: MergePlan, history: str | None = None) -> None:
    """Check that the history has every row of a base.

    Args:
        warehouse: where the base is.
        plan: the state of a base that exists.
        history: a query of all changes; of the source's columns the keys are enough. By default that of the change tables.

    Raises:
        SchemaConflict: the base has rows that the history lacks.
    """
    if plan.stored is None:
        return
    history = history or changes_query(plan.whole, plan.base, plan.rules, only_keys=True)
    lost = warehouse.fetch(lost_rows_query(plan.base, plan.stored.columns, history, plan.rules.time_zone))[0]["found"]
    if not lost:
        return
    loss = f"{counted(lost, 'row')} that the change tables do not hold any more, or that came from a snapshot"
    again = f"to start again drop {plan.base.id} and merge with --from-snapshot"
    raise SchemaConflict(
        [f"{reason}, but a rebuild would lose {loss}: {remedy}{again}" for reason, remedy in _reasons(plan)]
    )


def _reasons(plan: MergePlan) -> list[tuple[str, str]]:
    """Return why a base is rebuilt, and what keeps it from being rebuilt."""
    old_type = f"to keep the old type set it under `types` of {plan.base.table.table} in onefold.yaml; "
    found = [
        (f"column {change.name} is {change.old} in {plan.base.id} and {change.new} by now", old_type)
        for change in plan.schema_plan.retyped
    ]
    zones = {zone for _, zone in plan.state.zones}
    # Columns that were read in several zones fit none of them.
    old_zone = (
        f"to keep it set `time_zone: {max(zones)}` for {plan.base.table.table} in onefold.yaml; " if len(zones) == 1 else ""
    )
    found += [
        (f"column {name} of {plan.base.id} was read in another time zone than {plan.rules.time_zone}", old_zone)
        for name in plan.schema_plan.rezoned
    ]
    return found or [(f"{plan.base.id} is to be rebuilt", "")]
