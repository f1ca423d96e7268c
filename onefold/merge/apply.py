"""Use cases of the base table: merge what landed, what somebody staged or a copy of the source into it; purge tombstones.

Nothing here needs a lock. Every write is a join, so two merges at once do the same work twice; and what the log says of a
base counts only for the very table that it was said of, so a merge that ran while the base was replaced is as if it had not
been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from onefold.changelog.position import Position, readable_sequence
from onefold.core.errors import NotFound, SchemaConflict, TryAgain
from onefold.core.names import TableId
from onefold.core.text import counted
from onefold.merge.base_table import POSITION, BaseTable, merge_statement, repeated_keys_query
from onefold.merge.change_query import changes_query, count_query, in_statements, snapshot_query
from onefold.merge.merge_log import MergeCounts, floor_sql, floor_statement, no_rebuild_since
from onefold.merge.migrate import prepare
from onefold.merge.plan import MergePlan, log
from onefold.merge.positions_check import check_positions
from onefold.ports.warehouse import BaseWarehouse
from onefold.settings.environment import Settings


def merge(
    warehouse: BaseWarehouse,
    table: TableId,
    settings: Settings,
    keys: Sequence[str] = (),
    *,
    rebuild: bool = False,
) -> tuple[MergePlan, MergeCounts]:
    """Bring the base up to date with all that landed; killed anywhere and run again, or run twice, it ends the same.

    Args:
        rebuild: write the base anew from the whole history first.

    Raises:
        As `prepare` and `check_positions`.
    """
    plan = prepare(warehouse, table, settings, keys, rebuild=rebuild)
    check_positions(warehouse, plan)
    counts = MergeCounts()
    for group in in_statements(plan.changes, plan.base, plan.rules):
        counts += _merge_rows(warehouse, plan, changes_query(group, plan.base, plan.rules))
        counts += count_rows(warehouse, plan, changes_query(group, plan.base, plan.rules, only_keys=True))
    log(warehouse, plan, "merge", plan.versions, counts)
    return plan, counts


def merge_rows(
    warehouse: BaseWarehouse, plan: MergePlan, rows: str, versions: Sequence[str] = (), counts: MergeCounts | None = None
) -> MergeCounts:
    """One MERGE of rows from elsewhere: winners that a batch staged.

    Args:
        plan: what `prepare` gave, before the rows were read.
        rows: a query of rows in all of `plan.base.stored`, by name and in these types; any number per key.
        versions: those of `plan.versions` whose window, `since` in `plan.changes`, was read to its end. The next merge reads
            them from `plan.started_at` on. None where the rows are only a part of what landed.
        counts: what was counted while the rows were read; what the MERGE tells is added.

    Raises:
        TryAgain: the base was replaced meanwhile, so it may lack these rows. Run again from `prepare`.
        SchemaConflict: as for `check_positions`.
    """
    check_positions(warehouse, plan)
    done = (counts or MergeCounts()) + _merge_rows(warehouse, plan, rows)
    if plan.state.floor:
        done = replace(done, below_floor=count_rows(warehouse, plan, rows).below_floor)
    check_not_replaced(warehouse, plan)
    log(warehouse, plan, "merge", versions, done)
    return done


def merge_snapshot(warehouse: BaseWarehouse, plan: MergePlan, snapshot: TableId, at: str | None = None) -> MergeCounts:
    """Merge the rows of a copy of the source.

    Args:
        at: the source's sequence when the copy was made; by default every row is older than any change.

    Raises:
        NotFound: there is no such table.
        SchemaConflict: it does not fit the base, or keys come more than once; as for `check_positions`.
        TryAgain: the base was replaced meanwhile.
    """
    check_positions(warehouse, plan)
    rows = snapshot_rows(warehouse, plan, snapshot, at)
    repeated = warehouse.fetch(repeated_keys_query(plan.base, rows))[0]["found"]
    if repeated:
        keys = ", ".join(plan.base.keys)
        raise SchemaConflict(f"{snapshot}: {counted(repeated, 'key')} ({keys}) repeated; a copy of the source has each once")
    # Rows that no change table has: the base must not be converted as if all had landed there, even if this breaks off.
    log(warehouse, plan, "snapshot")
    counts = _merge_rows(warehouse, plan, rows) + count_rows(warehouse, plan, rows)
    # The log tells a later merge nothing of these rows: a base that was replaced while they came would lack them for good.
    check_not_replaced(warehouse, plan)
    log(warehouse, plan, "snapshot", (), counts)
    return counts


def snapshot_rows(warehouse: BaseWarehouse, plan: MergePlan, snapshot: TableId, at: str | None) -> str:
    """A query of the rows of a copy."""
    found = warehouse.read_table(snapshot)
    if found is None:
        raise NotFound(f"there is no table {snapshot}")
    return snapshot_query(snapshot, found.columns, plan.base, str(Position(sequence=at)), plan.rules)


def purge(warehouse: BaseWarehouse, plan: MergePlan, days: int) -> int | None:
    """Delete tombstones whose deletion the source dates at least this many days back. Those without a date stay.

    The floor comes first: a purge that breaks off there has made nothing unknown that is still there.

    Returns:
        How many were deleted.
    """
    doomed = doomed_rows(plan.started_at - timedelta(days=days))
    base, log_ = plan.base.id, plan.base.log
    warehouse.execute(floor_statement(log_, plan.started_at, plan.created, plan.base.keys, base, doomed))
    return warehouse.execute(purge_statement(plan.base, doomed, plan.started_at)).rows


def doomed_rows(until: datetime) -> str:
    """The tombstones, as `b`, that the source dates before that time: the second part of a position is its timestamp."""
    limit = str(Position(timestamp=int(until.timestamp() * 1000))).split(" ")[1]
    return f"b._deleted AND REGEXP_EXTRACT(b.{POSITION}, r'^[^ ]* ([01][0-9]{{19}}) ') < '{limit}'"


def purge_statement(base: BaseTable, doomed: str, started_at: datetime) -> str:
    return (
        f"DELETE FROM {base.id.quoted} AS b\nWHERE {doomed}\n"
        f"AND b.{POSITION} <= {floor_sql(base.log)}\nAND {no_rebuild_since(base.log, started_at)}"
    )


def count_rows(warehouse: BaseWarehouse, plan: MergePlan, rows: str) -> MergeCounts:
    found = warehouse.fetch(count_query(plan.base, rows, with_floor=plan.state.floor is not None))[0]
    numbers = ("changes", "keys", "below_floor", "disputed", "ordered_by_text")
    example = found["text_example"]
    return MergeCounts(
        **{name: int(found[name]) for name in numbers}, text_example=None if example is None else readable_sequence(example)
    )


def check_not_replaced(warehouse: BaseWarehouse, plan: MergePlan) -> None:
    now = warehouse.read_table(plan.base.id)
    if now is None or now.created != plan.created:
        raise TryAgain(f"{plan.base.id} was replaced while rows were merged into it: merge them again")


def _merge_rows(warehouse: BaseWarehouse, plan: MergePlan, rows: str) -> MergeCounts:
    done = warehouse.execute(merge_statement(plan.base, rows, plan.following.spare))
    return MergeCounts(written=done.rows, inserted=done.inserted, updated=done.updated)
