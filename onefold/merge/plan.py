"""Use case: read from the warehouse what a merge into a base table has to do.

A `MergePlan` is handed on through `prepare`, the merge and the current view. Only what was written in between is read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal, cast

from onefold.core.errors import InvalidInput, KeyUnknown, NotFound
from onefold.core.names import TableId, fold_case
from onefold.core.text import shown_list
from onefold.merge.base_table import BaseTable, base_of, base_table
from onefold.merge.change_tables import (
    ChangeTable,
    changes_in_use,
    check_changes,
    check_has_changes,
    find_changes,
    with_readings,
)
from onefold.merge.keys import captured_keys
from onefold.merge.landed_rows import count_landed
from onefold.merge.merge_log import TIME_QUERY, append_statement
from onefold.merge.merge_state import Kind, LandedRows, MergeCounts, MergeState, Zones
from onefold.merge.plain import check_own_dataset, declared_key
from onefold.merge.reading import described
from onefold.merge.schema_evolution import SchemaPlan, plan_schema, zones_of
from onefold.merge.stored_base import is_packed, read_base, read_log
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.columns import Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import fold, landed_version
from onefold.settings.environment import Settings

BroughtUp = Literal["created", "rebuilt", "converted", "extended"]
BROUGHT_UP: Mapping[BroughtUp, str] = {
    "created": "made, since there was none",
    "rebuilt": "rebuilt from the whole history",
    "converted": "written anew, its values converted to the types that columns have by now",
    "extended": "given the columns that are new",
}
"""What was done to a base before a merge, in words for people."""


@dataclass(frozen=True)
class MergePlan:
    """The present state of a base and its change tables, and what a merge has to do.

    base: the base table as it has to be.
    stored: the base table as it is; None where it does not exist.
    state: what the log of merges says.
    found: all change tables, those of retired versions too.
    changes: the change tables that are merged, each with the time of landing from which it has to be read.
    schema_plan: how the base gets the unified schema.
    rules: the settings of the table.
    started_at: the warehouse's time before the change tables were listed. What lands later is read by the next merge.
    brought_up: what `prepare` did to the base; None where it did nothing.
    landed: how many rows of each version had landed before the time from which the next merge reads, when this was planned.
    """

    base: BaseTable
    stored: StoredTable | None
    state: MergeState
    found: tuple[ChangeTable, ...]
    changes: tuple[ChangeTable, ...]
    schema_plan: SchemaPlan
    rules: TableRules
    started_at: datetime
    brought_up: BroughtUp | None = None
    landed: Mapping[str, LandedRows] = field(default_factory=dict)

    @property
    def created(self) -> datetime | None:
        """When the stored base table was created; None where it does not exist."""
        return self.stored.created if self.stored else None

    @property
    def log_read_at(self) -> datetime:
        """The warehouse's time when the log was read, which is after `prepare` wrote to the log.

        Raises:
            NotFound: the log does not exist.
        """
        if self.state.now is None:
            raise NotFound(f"there is no log of merges {self.base.log}: it was dropped meanwhile; run the merge again")
        return self.state.now

    @property
    def versions(self) -> tuple[str, ...]:
        """The identifiers of the versions that are merged."""
        return tuple(source.version.id for source in self.changes)

    @property
    def merge_kind(self) -> Kind:
        """What the log calls a merge by this plan: that of a plain change table is named by the way the table is read."""
        way = self.changes[0].way if len({source.way for source in self.changes}) == 1 else None
        return cast("Kind", f"merge_{way}") if way else "merge"

    @property
    def reads(self) -> str:
        """How a plain change table is read, in words for people; empty for versions."""
        source = self.changes[0]
        return described(source.id, source.way, source.since) if source.way and len(self.changes) == 1 else ""

    @property
    def zones(self) -> Zones:
        """The columns whose values depend on the time zone in which this plan reads or converts them, with that zone."""
        landed = [landed_version(source.version, self.rules).schema for source in self.changes]
        return zones_of(self.base, [*landed, Schema(self.stored.columns if self.stored else ())], self.rules.time_zone)

    @property
    def whole(self) -> tuple[ChangeTable, ...]:
        """The change tables, each to be read from its beginning."""
        return tuple(replace(source, since=None) for source in self.changes)


def plan_merge(warehouse: BaseWarehouse, table: TableId, settings: Settings, keys: Sequence[str] = ()) -> MergePlan:
    """Read the base, the log and the change tables; write nothing.

    Args:
        warehouse: where the tables are.
        table: a change table, or the base name of versioned ones.
        settings: those of the installation; the rules of the table are read from them.
        keys: the columns whose values identify a row of the source. By default those in onefold.yaml; else those of the
            base, which the tenants of a captured table still have to have; else those that a plain change table, or each
            table of a united one, declares; else those on which the tenants agree; else those in the log.

    Raises:
        NotFound: there is no change table, or none that holds changes.
        InvalidInput: nobody named the keys, or the base was made with other keys.
        SchemaConflict: everything that keeps the table from having a base, such as tenants without a common key; or the
            name of the base belongs to something else.
    """
    rules = settings.rules_for(table)
    check_own_dataset(warehouse, table, settings)
    stored = read_base(warehouse, rules.base_place(table))
    state = read_log(warehouse, rules.base_place(table), stored)
    started_at: datetime = state.now or warehouse.fetch(TIME_QUERY)[0]["now"]
    found = find_changes(warehouse, table, rules)
    check_has_changes(table, found, rules)
    if settings.plain_table(table) or rules.of_united:
        found = with_readings(warehouse, found, state, rules, started_at)
    used = changes_in_use(table, found, rules)
    landed, state = count_landed(warehouse, used, state, started_at - timedelta(minutes=rules.overlap_minutes))
    named = rules.whole_key(keys) or rules.keys or declared_key(warehouse, table, settings, () if state.keys else used)
    named = named or captured_keys(warehouse, table, _windows(used, state, rules), state.keys if stored else ())
    named = chosen_keys(table, named, state, base_table(rules.base_place(table)) if stored else None)
    return replace(make_plan(table, rules, named, stored, state, found, started_at), landed=landed)


def make_plan(
    table: TableId,
    rules: TableRules,
    keys: Sequence[str],
    stored: StoredTable | None,
    state: MergeState,
    found: Sequence[ChangeTable],
    started_at: datetime,
) -> MergePlan:
    """Return the plan that follows from what was read.

    Args:
        table: a change table, or the base name of versioned ones.
        rules: the settings of the table.
        keys: the columns whose values identify a row of the source.
        stored: the base table as it is; None where it does not exist.
        state: what the log says of `stored`.
        found: all change tables, those of retired versions too.
        started_at: the warehouse's time before the change tables were listed.

    Raises:
        NotFound: all versions are retired.
        SchemaConflict: everything that keeps the table from having a base.
    """
    sources = changes_in_use(table, found, rules)
    check_changes(sources, keys)
    former = stored.columns if stored else ()
    base = base_of(table, fold([one.version for one in sources], rules, former, table), keys, rules.base_dataset)
    base = replace(base, packed=stored is None or is_packed(former))
    windows, schema = _windows(sources, state, rules), _schema_plan(base, stored, state, found, rules)
    return MergePlan(base, stored, state, tuple(found), windows, schema, rules, started_at)


def with_base(warehouse: BaseWarehouse, plan: MergePlan, stored: StoredTable | None) -> MergePlan:
    """Return the plan with a base that was written, or looked for again, since the plan was made.

    The log is read again: what it says counts only for the very base of which it was said, and the base's rows in it may be
    new. The change tables are not listed again, so `started_at` stays the time before they were listed.

    Args:
        warehouse: where the log is.
        plan: a plan that was made before.
        stored: the base as it is now.
    """
    state = replace(read_log(warehouse, plan.base.place, stored), reloaded=plan.state.reloaded)
    renewed = make_plan(plan.base.table, plan.rules, plan.base.keys, stored, state, plan.found, plan.started_at)
    return replace(renewed, brought_up=plan.brought_up, landed=plan.landed)


def chosen_keys(table: TableId, named: Sequence[str], state: MergeState, base: TableId | None) -> tuple[str, ...]:
    """Return the keys that were named, else those of the base.

    Args:
        table: the table, for errors.
        named: the columns that somebody named, or that the tenants agree on; empty for none.
        state: what the log says, the keys of the base among it.
        base: the base, which keeps its keys; None where there is none.

    Raises:
        KeyUnknown: there are no keys.
        InvalidInput: the keys are not those of the base.
    """
    if not named and not state.keys:
        line = f"tables: {{{table.dataset}.{table.table}: {{keys: [COLUMN]}}}}"
        raise KeyUnknown(
            f"{table}: name the columns of the key with --keys, or as `keys` of the table in onefold.yaml: `{line}`"
        )
    if named and base and state.keys and {*map(fold_case, named)} != {*map(fold_case, state.keys)}:
        raise InvalidInput(
            f"{table}: the keys {shown_list(named)} are not those that its base was made with, {shown_list(state.keys)}; "
            f"leave them out, or drop {base} to start again with other keys"
        )
    return tuple(named or state.keys)


def keys_of(
    warehouse: BaseWarehouse,
    table: TableId,
    settings: Settings,
    state: MergeState,
    keys: Sequence[str] = (),
    *,
    has_base: bool,
) -> tuple[str, ...]:
    """Return the keys of a table whose change tables are not read yet, as `plan_merge` chooses them.

    Args:
        warehouse: where the tables are.
        table: a change table, or the base name of versioned ones.
        settings: those of the installation.
        state: what the log says.
        keys: as for `plan_merge`.
        has_base: whether there is a base, which keeps its keys.

    Raises:
        NotFound, InvalidInput, SchemaConflict: as `plan_merge`.
    """
    rules, base_keys = settings.rules_for(table), state.keys if has_base else ()
    named = rules.whole_key(keys) or rules.keys
    if not named:
        used = changes_in_use(table, find_changes(warehouse, table, rules), rules)
        named = declared_key(warehouse, table, settings, () if base_keys else used)
        named = named or captured_keys(warehouse, table, _windows(used, state, rules), base_keys)
    return chosen_keys(table, named, state, base_table(rules.base_place(table)) if has_base else None)


def log(
    warehouse: BaseWarehouse,
    plan: MergePlan,
    kind: Kind,
    versions: Sequence[str] = (),
    counts: MergeCounts | None = None,
    zones: Zones | None = None,
) -> None:
    """Append what was done to the log.

    Args:
        warehouse: where the log is.
        plan: the plan that was carried out.
        kind: what was done.
        versions: those whose windows were read to their ends.
        counts: what was counted; None where nothing was.
        zones: the time zones in which values were read; by default those of the plan.
    """
    read = plan.zones if zones is None else zones
    key, landed = plan.base.keys, plan.landed
    row = append_statement(plan.base.log, kind, plan.started_at, plan.created, key, versions, counts, read, landed)
    warehouse.execute(row)


def _windows(sources: Sequence[ChangeTable], state: MergeState, rules: TableRules) -> tuple[ChangeTable, ...]:
    """Return the change tables, each to be read from where the last merge started, less the overlap."""
    overlap = timedelta(minutes=rules.overlap_minutes)
    return tuple(source.windowed(state, overlap) for source in sources)


def _schema_plan(
    base: BaseTable, stored: StoredTable | None, state: MergeState, found: Sequence[ChangeTable], rules: TableRules
) -> SchemaPlan:
    if stored is None:
        return SchemaPlan()
    versions = [landed_version(source.version, rules) for source in found]
    merged = state.merged | {*(state.starts or {})}
    gone = merged - {version.id for version in versions}
    unknown_rows = state.unknown_rows or bool(gone)
    return plan_schema(base, stored.columns, versions, merged, rules.time_zone, unknown_rows, state.zones)
