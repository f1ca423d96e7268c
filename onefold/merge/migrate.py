"""The part of a merge that makes a base and brings it up to the unified schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onefold.core.errors import SchemaConflict, TryAgain
from onefold.core.names import TableId
from onefold.core.text import counted
from onefold.merge.change_query import MAX_QUERY, changes_query, in_statements
from onefold.merge.merge_log import LOG_COLUMNS, append_statement
from onefold.merge.plan import BroughtUp, MergePlan, log, plan_merge
from onefold.merge.positions_check import check_floor
from onefold.merge.schema_evolution import convert_statement, lost_rows_query, rebuild_statement
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.bigquery import add_statement, create_statement
from onefold.settings.environment import Settings


def prepare(
    warehouse: BaseWarehouse, table: TableId, settings: Settings, keys: Sequence[str] = (), *, rebuild: bool = False
) -> MergePlan:
    """Make the base where there is none, and bring it up to the unified schema.

    Returns:
        The plan of a merge, with a base that is ready for it.

    Raises:
        As `plan_merge` and `check_floor`, and SchemaConflict where the base would lose rows.
    """
    plan = plan_merge(warehouse, table, settings, keys)
    keys = plan.base.keys
    if plan.stored is None:
        _check_changes(warehouse, plan)
    warehouse.create_table(plan.base.log, LOG_COLUMNS)
    if plan.state.lacks:
        warehouse.add_columns(plan.base.log, plan.state.lacks)
    plan = plan_merge(warehouse, table, settings, keys) if plan.state.now is None else plan
    if plan.stored is not None:
        check_floor(plan)
    if done := bring_up(warehouse, plan, rebuild):
        plan = replace(plan_merge(warehouse, table, settings, keys), brought_up=done)
    if plan.stored is None:
        raise TryAgain(f"{plan.base.id} was dropped just now")
    return plan


def _check_changes(warehouse: BaseWarehouse, plan: MergePlan) -> None:
    """Refuse changes that the warehouse cannot read before there is a base, which a failed merge would leave empty."""
    for group in in_statements(plan.changes, plan.base, plan.rules):
        warehouse.check_query(changes_query(group, plan.base, plan.rules))


def first_statements(plan: MergePlan, rebuild: bool) -> list[str]:
    """What `prepare` would do, as statements; log rows left out."""
    base, following, zone = plan.base, plan.following, plan.rules.time_zone
    log_ = [add_statement(base.log, plan.state.lacks)] if plan.state.lacks else []
    log_ = log_ if plan.state.now else [create_statement(base.log, LOG_COLUMNS)]
    if plan.stored is None:
        return [*log_, create_statement(base.id, base.stored, base.clustering)]
    columns, clustering = plan.stored.columns, plan.stored.clustering
    if rebuild or following.way == "rebuild":
        history = changes_query(plan.whole, base, plan.rules)
        return [*log_, rebuild_statement(base, columns, clustering, history, zone)]
    if following.way == "convert":
        return [*log_, convert_statement(base, columns, clustering, zone)]
    return [*log_, *([add_statement(base.id, following.added)] if following.added else [])]


def bring_up(warehouse: BaseWarehouse, plan: MergePlan, rebuild: bool) -> BroughtUp | None:
    """Do what is left to do before a MERGE can run; None where there was nothing.

    Raises:
        SchemaConflict: a row of the base would be lost.
    """
    if plan.stored is None:
        _create(warehouse, plan)
        return "created"
    if rebuild or plan.following.way == "rebuild":
        _rebuild(warehouse, plan, plan.stored)
        return "rebuilt"
    if plan.following.way == "convert":
        _convert(warehouse, plan, plan.stored)
        return "converted"
    if plan.following.added:
        warehouse.add_columns(plan.base.id, plan.following.added)
        return "extended"
    return None


def _create(warehouse: BaseWarehouse, plan: MergePlan) -> None:
    """An empty base: whatever a former one had lost comes with the whole history, so its floor is lifted."""
    if plan.state.floor is not None:
        warehouse.execute(append_statement(plan.base.log, "create", plan.started_at, None, plan.base.keys))
    warehouse.create_table(plan.base.id, plan.base.stored, plan.base.clustering)
    log(warehouse, _with_new_base(warehouse, plan), "create")


def _convert(warehouse: BaseWarehouse, plan: MergePlan, stored: StoredTable) -> None:
    """What the base has read is carried over to the new table, as far as the log told it before the old one was read."""
    warehouse.execute(convert_statement(plan.base, stored.columns, stored.clustering, plan.rules.time_zone))
    created = _with_new_base(warehouse, plan).created
    starts = plan.state.starts or {}
    for start in sorted({*starts.values()}):
        versions = [version for version, started in starts.items() if started == start]
        warehouse.execute(append_statement(plan.base.log, "convert", start, created, plan.base.keys, versions))


def rebuild_from(warehouse: BaseWarehouse, plan: MergePlan, rows: str) -> MergePlan:
    """Write the base anew from rows of the whole history: a query of any number per key, in the columns of the base.

    Returns:
        The plan of a merge into the new base.

    Raises:
        SchemaConflict: a row of the base would be lost.
    """
    if plan.stored is None:
        raise TryAgain(f"{plan.base.id} was dropped just now")
    _replace(warehouse, plan, plan.stored, rows, rows)
    return replace(_with_new_base(warehouse, plan), brought_up="rebuilt")


def _rebuild(warehouse: BaseWarehouse, plan: MergePlan, stored: StoredTable) -> None:
    history = changes_query(plan.whole, plan.base, plan.rules)
    if len(history) > MAX_QUERY:
        raise SchemaConflict(_too_long(plan))
    _replace(warehouse, plan, stored, history, changes_query(plan.whole, plan.base, plan.rules, only_keys=True))


def _replace(warehouse: BaseWarehouse, plan: MergePlan, stored: StoredTable, history: str, keys: str) -> None:
    _check_nothing_is_lost(warehouse, plan, stored, keys)
    # A purge that started before this row stops where it sees it: what it would delete is about to come back.
    log(warehouse, plan, "rebuilding")
    warehouse.execute(rebuild_statement(plan.base, stored.columns, stored.clustering, history, plan.rules.time_zone))
    log(warehouse, _with_new_base(warehouse, plan), "rebuild", plan.versions)


def _check_nothing_is_lost(warehouse: BaseWarehouse, plan: MergePlan, stored: StoredTable, history: str) -> None:
    lost = warehouse.fetch(lost_rows_query(plan.base, stored.columns, history, plan.rules.time_zone))[0]["found"]
    if not lost:
        return
    why = [
        f"column {change.name} is {change.old} in {plan.base.id} and {change.new} by now"
        for change in plan.following.retyped
    ] or [f"{plan.base.id} is to be rebuilt"]
    advice = (
        f"a rebuild would lose {counted(lost, 'row')} that the change tables do not hold any more, or that came from a "
        f"snapshot: to keep the old type set it under `types` of {plan.base.table.table} in onefold.yaml; to start again "
        f"drop {plan.base.id} and merge with --from-snapshot"
    )
    raise SchemaConflict([f"{reason}, but {advice}" for reason in why])


def _with_new_base(warehouse: BaseWarehouse, plan: MergePlan) -> MergePlan:
    stored = warehouse.read_table(plan.base.id)
    if stored is None:
        raise TryAgain(f"{plan.base.id} was dropped just now")
    return replace(plan, stored=stored)


def _too_long(plan: MergePlan) -> str:
    versions = len(plan.changes)
    return f"{plan.base.id}: its {versions} versions do not fit one query of {MAX_QUERY} characters; `retire` old ones"
