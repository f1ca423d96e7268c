"""The part of a merge that makes a base and brings it up to the unified schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from onefold.core.errors import SchemaConflict, TryAgain
from onefold.core.names import TableId
from onefold.merge.change_query import MAX_QUERY, changes_query, in_statements
from onefold.merge.lost_rows import check_nothing_is_lost
from onefold.merge.merge_log import LOG_COLUMNS, append_statement
from onefold.merge.plan import BroughtUp, MergePlan, log, plan_merge, with_base
from onefold.merge.positions_check import check_floor
from onefold.merge.schema_evolution import convert_statement, rebuild_statement
from onefold.merge.stored_base import has_copy, read_base
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.bigquery import add_statement, create_statement
from onefold.settings.environment import Settings


class ViewOverBase(Protocol):
    """The view that people read, which can be read while a merge replaces the base."""

    def before_base(self, plan: MergePlan) -> None:
        """Have the view read something else than a base that is about to be replaced with other types or values.

        Raises:
            OnefoldError: the view cannot be written; the base must not be replaced then.
        """

    def after_base(self, plan: MergePlan) -> None:
        """Have the view read a base with the columns that it has by now, before rows are merged into them."""


def prepare(
    warehouse: BaseWarehouse,
    table: TableId,
    settings: Settings,
    view: ViewOverBase,
    keys: Sequence[str] = (),
    *,
    rebuild: bool = False,
) -> MergePlan:
    """Make the base where there is none, and bring it up to the unified schema. The current view can be read all the time.

    Args:
        warehouse: where the tables are.
        table: a change table, or the base name of versioned ones.
        settings: those of the installation.
        view: the view over the base.
        keys: as for `plan_merge`.
        rebuild: write the base anew from the whole history, even where its schema does not ask for that.

    Returns:
        The plan of a merge, with a base that is ready for it.

    Raises:
        TryAgain: the base was dropped while it was prepared.
        SchemaConflict: a row of the base would be lost, or as `plan_merge` and `check_floor`.
        NotFound, InvalidInput: as `plan_merge`.
    """
    plan = plan_merge(warehouse, table, settings, keys)
    if plan.stored is None:
        _check_changes(warehouse, plan)
    warehouse.create_table(plan.base.log, LOG_COLUMNS)
    if plan.state.lacks:
        warehouse.add_columns(plan.base.log, plan.state.lacks)
    if plan.state.now is None:
        plan = _with_first_log(warehouse, plan, settings)
    if plan.stored is not None:
        check_floor(plan)
    plan = with_packing(warehouse, plan, rebuild)
    if plan.stored and (rebuild or plan.schema_plan.migration == "rebuild"):
        _check_rebuild(warehouse, plan)  # before the view leaves the base
    view.before_base(plan)
    done = _with_zones(warehouse, migrate(warehouse, plan, rebuild))
    view.after_base(done)
    return done


def _with_first_log(warehouse: BaseWarehouse, plan: MergePlan, settings: Settings) -> MergePlan:
    """Return the plan with the log that was just made.

    Another merge may have made a base and logged it meanwhile, by other keys, so that the plan has to be made again.
    """
    if read_base(warehouse, plan.base.place) is not None:
        return plan_merge(warehouse, plan.base.table, settings, plan.base.keys)
    return with_base(warehouse, plan, None)


def _with_zones(warehouse: BaseWarehouse, plan: MergePlan) -> MergePlan:
    """Log the zones in which rows are about to be read, so that a killed merge leaves no value of an unknown zone."""
    if plan.stored is None or plan.zones <= plan.state.zones:
        return plan
    log(warehouse, plan, "zones")
    return replace(plan, state=replace(plan.state, zones=plan.state.zones | plan.zones))


def _check_changes(warehouse: BaseWarehouse, plan: MergePlan) -> None:
    """Refuse changes that the warehouse cannot read before there is a base, which a failed merge would leave empty."""
    for group in in_statements(plan.changes, plan.base, plan.rules):
        warehouse.check_query(changes_query(group, plan.base, plan.rules))


def with_packing(warehouse: BaseWarehouse, plan: MergePlan, rebuild: bool) -> MergePlan:
    """Return the plan that packs the positions of a base of an earlier release, where its rows are written anew anyway.

    A copy of the base tells of a merge that was killed while it did that: the current view may read the copy.
    """
    migration = plan.schema_plan.migration
    if plan.stored is None or plan.base.packed:
        return plan
    if migration == "none" and not rebuild and not has_copy(warehouse, plan.base.place, plan.stored):
        return plan
    schema_plan = replace(plan.schema_plan, migration="convert" if migration == "none" else migration, packs=True)
    return replace(plan, base=replace(plan.base, packed=True), schema_plan=schema_plan)


def first_statements(plan: MergePlan, rebuild: bool) -> list[str]:
    """Return the statements that `prepare` would run, without those that append to the log."""
    base, schema_plan, zone = plan.base, plan.schema_plan, plan.rules.time_zone
    log_ = [add_statement(base.log, plan.state.lacks)] if plan.state.lacks else []
    log_ = log_ if plan.state.now else [create_statement(base.log, LOG_COLUMNS)]
    if plan.stored is None:
        return [*log_, create_statement(base.id, base.stored, base.clustering)]
    columns, clustering = plan.stored.columns, plan.stored.clustering
    if rebuild or schema_plan.migration == "rebuild":
        history = changes_query(plan.whole, base, plan.rules)
        return [*log_, rebuild_statement(base, columns, clustering, history, zone)]
    if schema_plan.migration == "convert":
        return [*log_, convert_statement(base, columns, clustering, zone)]
    return [*log_, *([add_statement(base.id, schema_plan.added)] if schema_plan.added else [])]


def migrate(warehouse: BaseWarehouse, plan: MergePlan, rebuild: bool) -> MergePlan:
    """Do what has to be done before a MERGE can run.

    Args:
        warehouse: where the base is.
        plan: a plan whose log exists.
        rebuild: write the base anew from the whole history, even where its schema does not ask for that.

    Returns:
        The plan with the base as it is afterwards; the same plan where there was nothing to do.

    Raises:
        TryAgain: the base was dropped meanwhile.
    """
    if plan.stored is None:
        done = _create(warehouse, plan)
    elif rebuild or plan.schema_plan.migration == "rebuild":
        done = _replace(warehouse, plan, plan.stored, changes_query(plan.whole, plan.base, plan.rules))
    elif plan.schema_plan.migration == "convert":
        done = _convert(warehouse, plan, plan.stored)
    elif plan.schema_plan.added:
        warehouse.add_columns(plan.base.id, plan.schema_plan.added)
        done = _with_new_base(warehouse, plan, "extended")
    else:
        return plan
    return with_base(warehouse, done, done.stored)


def _create(warehouse: BaseWarehouse, plan: MergePlan) -> MergePlan:
    """Make an empty base. The whole history will be merged into it, so the floor of a former base is lifted."""
    if plan.state.floor is not None:
        warehouse.execute(append_statement(plan.base.log, "create", plan.started_at, None, plan.base.keys))
    warehouse.create_table(plan.base.id, plan.base.stored, plan.base.clustering)
    done = _with_new_base(warehouse, plan, "created")
    log(warehouse, done, "create")
    return done


def _convert(warehouse: BaseWarehouse, plan: MergePlan, stored: StoredTable) -> MergePlan:
    """Write the base anew with converted values.

    The log rows of the old base are repeated for the new one, as far as they were read before the old base was: a merge that
    was logged later may have written rows that the new base does not have.
    """
    zones = plan.state.zones | plan.zones
    # Where this is killed before the rows below, this row tells the zones of the new base.
    log(warehouse, plan, "converting", zones=zones)
    warehouse.execute(convert_statement(plan.base, stored.columns, stored.clustering, plan.rules.time_zone))
    done = _with_new_base(warehouse, plan, "converted")
    starts, landed = plan.state.starts or {}, plan.state.landed
    for start in sorted({*starts.values()}):
        versions = [version for version, started in starts.items() if started == start]
        row = append_statement(plan.base.log, "convert", start, done.created, plan.base.keys, versions, None, zones, landed)
        warehouse.execute(row)
    return done


def rebuild_from(warehouse: BaseWarehouse, plan: MergePlan, rows: str) -> MergePlan:
    """Write the base anew from rows of the whole history.

    Args:
        warehouse: where the base is.
        plan: what `prepare` returned, before the rows were read.
        rows: a query of rows in the columns of the base (`plan.base.merged`), any number per key.

    Returns:
        The plan of a merge into the new base.

    Raises:
        SchemaConflict: a row of the base would be lost.
        TryAgain: the base was dropped meanwhile.
    """
    if plan.stored is None:
        raise TryAgain(_dropped(plan))
    check_nothing_is_lost(warehouse, plan, rows)
    return _replace(warehouse, plan, plan.stored, rows)


def _check_rebuild(warehouse: BaseWarehouse, plan: MergePlan) -> None:
    if len(changes_query(plan.whole, plan.base, plan.rules)) > MAX_QUERY:
        raise SchemaConflict(_too_long(plan))
    check_nothing_is_lost(warehouse, plan)


def _replace(warehouse: BaseWarehouse, plan: MergePlan, stored: StoredTable, history: str) -> MergePlan:
    # A purge that started before this row stops when it sees the row: the tombstones that it would delete come back.
    log(warehouse, plan, "rebuilding")
    warehouse.execute(rebuild_statement(plan.base, stored.columns, stored.clustering, history, plan.rules.time_zone))
    done = _with_new_base(warehouse, plan, "rebuilt")
    log(warehouse, done, "rebuild", plan.versions)
    return done


def _with_new_base(warehouse: BaseWarehouse, plan: MergePlan, done: BroughtUp) -> MergePlan:
    """Return the plan with the base that was just written, which rows of the log name by the time of its creation.

    Raises:
        TryAgain: the base was dropped meanwhile.
    """
    stored = warehouse.read_table(plan.base.id)
    if stored is None:
        raise TryAgain(_dropped(plan))
    return replace(plan, stored=stored, brought_up=done)


def _dropped(plan: MergePlan) -> str:
    return f"{plan.base.id} was dropped while it was prepared for a merge: run the merge again"


def _too_long(plan: MergePlan) -> str:
    versions = len(plan.changes)
    return (
        f"{plan.base.id}: expected a rebuild whose query has at most {MAX_QUERY} characters, got more from {versions} "
        "versions: `retire` old ones in onefold.yaml"
    )
