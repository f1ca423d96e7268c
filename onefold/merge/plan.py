"""Use case: what a merge into a base has to do, read from the warehouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from onefold.core.errors import InvalidInput, NotFound, SchemaConflict
from onefold.core.names import TableId, fold_case
from onefold.merge.base_table import DELETED, POSITION, BaseTable, base_of, base_table, log_of
from onefold.merge.change_query import ChangeTable, check_changes
from onefold.merge.keys import captured_keys
from onefold.merge.merge_log import (
    LOG_COLUMNS,
    ORDERED_BY_TEXT,
    Kind,
    MergeCounts,
    MergeState,
    append_statement,
    read_state,
    state_query,
)
from onefold.merge.schema_evolution import SchemaPlan, follow
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.bigquery import absent_columns
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version, active_versions, fold
from onefold.settings.environment import Settings

BroughtUp = Literal["created", "rebuilt", "converted", "extended"]
BROUGHT_UP: Mapping[BroughtUp, str] = {
    "created": "made, since there was none",
    "rebuilt": "rebuilt from the whole history",
    "converted": "written anew, its values converted to the types that columns have by now",
    "extended": "given the columns that are new",
}
"""What was done to a base before a merge, for people."""


@dataclass(frozen=True)
class MergePlan:
    """What there is, and what a merge has to do; read from the warehouse, which it does not write.

    stored: the base table as it is; None where there is none.
    changes: the change tables, each with the time of landing from which it is to be read.
    following: what brings the base up to the unified schema.
    brought_up: what `prepare` did to the base; None where there was nothing to do.
    """

    base: BaseTable
    stored: StoredTable | None
    state: MergeState
    changes: tuple[ChangeTable, ...]
    following: SchemaPlan
    rules: TableRules
    brought_up: BroughtUp | None = None

    @property
    def created(self) -> datetime | None:
        return self.stored.created if self.stored else None

    @property
    def started_at(self) -> datetime:
        """The warehouse's time before the change tables were listed: what lands later is read by the next merge."""
        if self.state.now is None:
            raise NotFound(f"there is no log of merges {self.base.log}: it was dropped meanwhile")
        return self.state.now

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(source.version.id for source in self.changes)

    @property
    def whole(self) -> tuple[ChangeTable, ...]:
        """The change tables, each to be read from its beginning."""
        return tuple(replace(source, since=None) for source in self.changes)


def plan_merge(warehouse: BaseWarehouse, table: TableId, settings: Settings, keys: Sequence[str] = ()) -> MergePlan:
    """Read the log, the change tables and the base; write nothing.

    Args:
        table: a change table, or the base name of versioned ones.
        keys: the columns whose values identify a row of the source; by default those in onefold.yaml, else those of the
            base, which a captured table's tenants still have to have, else those that its tenants agree on, else the log's.

    Raises:
        NotFound: there is no change table.
        InvalidInput: nobody named the keys, or others than those that the base was made with.
        SchemaConflict: all that keeps the table from having a base, tenants without one key for all among it; something
            else has its name.
    """
    rules = settings.rules_for(table)
    stored = warehouse.read_table(base_table(table))
    if not is_base(stored) if stored else _is_view(warehouse, base_table(table)):
        raise SchemaConflict(f"{base_table(table)} was not written by `onefold merge`: rename it")
    state = read_log(warehouse, table, stored)
    found = _find_changes(warehouse, table, rules)
    sources = _in_use(table, found, rules)
    windows = _windows(sources, state, rules)
    named = keys or rules.keys or captured_keys(warehouse, table, windows, state.keys if stored else ())
    named = chosen_keys(table, named, state, has_base=stored is not None)
    check_changes(sources, named)
    base = base_of(table, fold([source.version for source in sources], rules), named)
    return MergePlan(base, stored, state, windows, _following(base, stored, state, found, rules), rules)


def _is_view(warehouse: BaseWarehouse, id_: TableId) -> bool:
    """It is no table, and would keep one from being made."""
    found = warehouse.get_view(id_)
    return found is not None and found.is_view


def is_base(stored: StoredTable) -> bool:
    return {POSITION, DELETED} <= {column.name for column in stored.columns}


def read_log(warehouse: BaseWarehouse, table: TableId, stored: StoredTable | None) -> MergeState:
    log = log_of(table)
    found = warehouse.read_table(log)
    if found is None:
        return MergeState()
    lacks = tuple(absent_columns(found.columns, LOG_COLUMNS))
    counts_text = ORDERED_BY_TEXT not in {column.name for column in lacks}
    rows = warehouse.fetch(state_query(log, counts_text=counts_text))
    return read_state(rows, stored.created if stored else None, lacks)


def chosen_keys(table: TableId, named: Sequence[str], state: MergeState, has_base: bool) -> tuple[str, ...]:
    """The keys that were named, else those of the base. Raises InvalidInput where there are none, or they differ."""
    if not named and not state.keys:
        raise InvalidInput(f"{table}: name the columns of the key with --keys, or as `keys` of the table in onefold.yaml")
    if named and has_base and state.keys and {*map(fold_case, named)} != {*map(fold_case, state.keys)}:
        raise InvalidInput(
            f"{table}: the keys {', '.join(named)} are not those that its base was made with, {', '.join(state.keys)}; "
            f"leave them out, or drop {table}_base to start again with other keys"
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
    """The keys for a table whose changes nobody has looked for yet: as for `plan_merge`, with its errors."""
    rules = settings.rules_for(table)
    named = keys or rules.keys
    if not named:
        windows = _windows(changes_in_use(warehouse, table, rules), state, rules)
        named = captured_keys(warehouse, table, windows, state.keys if has_base else ())
    return chosen_keys(table, named, state, has_base)


def log(
    warehouse: BaseWarehouse, plan: MergePlan, kind: Kind, versions: Sequence[str] = (), counts: MergeCounts | None = None
) -> None:
    """Append what was done to the log."""
    row = append_statement(plan.base.log, kind, plan.started_at, plan.created, plan.base.keys, versions, counts)
    warehouse.execute(row)


def _find_changes(warehouse: BaseWarehouse, table: TableId, rules: TableRules) -> list[ChangeTable]:
    """The change table of that name; else all versions of it, retired ones too."""
    single = warehouse.read_table(table)
    if single is not None:
        return [ChangeTable(table, Version("", single.columns, single.created))]
    names = rules.names
    versions = warehouse.read_versions(table, names)
    if not versions:
        raise NotFound(f"there is neither a change table {table} nor a version of it, {names.versions_pattern(table.table)}")
    return [ChangeTable(table.sibling(names.name(table.table, version.id)), version) for version in versions]


def changes_in_use(warehouse: BaseWarehouse, table: TableId, rules: TableRules) -> list[ChangeTable]:
    """The change table of that name, or all versions of it that are not retired, in their order."""
    return _in_use(table, _find_changes(warehouse, table, rules), rules)


def _in_use(table: TableId, found: Sequence[ChangeTable], rules: TableRules) -> list[ChangeTable]:
    by_id = {source.version.id: source for source in found}
    sources = [by_id[version.id] for version in active_versions((source.version for source in found), rules)]
    if not sources:
        raise NotFound(f"all versions of {table} are retired in onefold.yaml: there is nothing to merge")
    return sources


def _windows(sources: Sequence[ChangeTable], state: MergeState, rules: TableRules) -> tuple[ChangeTable, ...]:
    """The sources, each to be read from what no merge has read yet, less the overlap."""
    overlap = timedelta(minutes=rules.overlap_minutes)
    return tuple(source.windowed(state, overlap) for source in sources)


def _following(
    base: BaseTable, stored: StoredTable | None, state: MergeState, found: Sequence[ChangeTable], rules: TableRules
) -> SchemaPlan:
    if stored is None:
        return SchemaPlan()
    versions = [source.version for source in found]
    merged = {*(state.starts or {})}
    gone = merged - {version.id for version in versions}
    return follow(base, stored.columns, versions, merged, rules.time_zone, state.unknown_rows or bool(gone))
