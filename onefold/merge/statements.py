"""Use case: the statements of a merge, for people who want to read them first."""

from __future__ import annotations

from collections.abc import Sequence

from onefold.core.names import TableId
from onefold.core.text import counted
from onefold.merge.apply import key_ranges, snapshot_rows
from onefold.merge.base_table import merge_statement
from onefold.merge.change_query import changes_query, in_statements
from onefold.merge.migrate import first_statements, with_packing
from onefold.merge.plan import MergePlan, plan_merge
from onefold.ports.warehouse import BaseWarehouse
from onefold.settings.environment import Settings


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
    """Return the statements of a merge without running them: those that make and alter tables, and every MERGE.

    Args:
        warehouse: where the tables are.
        table: a change table, or the base name of versioned ones.
        settings: those of the installation.
        keys: as for `plan_merge`.
        snapshot: a table with a copy of the source, which is merged first.
        at: the source's sequence when the copy was made.
        rebuild: write the base anew from the whole history first.

    Raises:
        OnefoldError: as `plan_merge`.
    """
    plan = with_packing(warehouse, plan_merge(warehouse, table, settings, keys), rebuild)
    dropped = plan.schema_plan.dropped
    copied = [snapshot_rows(warehouse, plan, snapshot, at)] if snapshot else []
    merges = [f"{_note(warehouse, plan, rows)}{merge_statement(plan.base, rows, dropped)}" for rows in copied]
    for group in in_statements(plan.changes, plan.base, plan.rules):
        rows = changes_query(group, plan.base, plan.rules)
        ranges = key_ranges(warehouse, plan, changes_query(group, plan.base, plan.rules, only_keys=True))
        merges.append(f"{_note(warehouse, plan, rows)}{merge_statement(plan.base, rows, dropped, ranges)}")
    return [*first_statements(plan, rebuild), *merges]


def _note(warehouse: BaseWarehouse, plan: MergePlan, rows: str) -> str:
    """Return a comment on how a plain change table is read, and the bytes of that as far as the warehouse tells."""
    if not plan.reads:
        return ""
    size = warehouse.check_query(rows)
    read = "" if size is None else f", {counted(size, 'byte')}"
    return f"-- {plan.reads}{read}\n"
