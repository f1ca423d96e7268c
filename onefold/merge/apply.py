"""Use cases of the base table: merge changes, rows that a batch staged, or a copy of the source into it; purge tombstones.

Nothing here needs a lock. Every write is a join, so two merges at once do the same work twice. What the log says of a base
counts only for the very table of which it was said, so a merge during which the base was replaced is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from onefold.changelog.metadata import DATABASE_NAME, SOURCE_NAME
from onefold.changelog.position import Position, readable_sequence
from onefold.core.errors import NotFound, SchemaConflict, TryAgain
from onefold.core.names import TableId
from onefold.core.text import counted, shown_list
from onefold.merge.base_table import POSITION, BaseTable, merge_statement
from onefold.merge.change_query import changes_query, count_query, in_statements, repeated_keys_query, snapshot_query
from onefold.merge.key_ranges import KeyRanges, ranges_query, read_ranges
from onefold.merge.merge_log import floor_sql, floor_statement, no_rebuild_since
from onefold.merge.merge_state import MergeCounts, Zones
from onefold.merge.plan import MergePlan, log
from onefold.merge.positions_check import check_positions
from onefold.merge.schema_evolution import zones_of
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.columns import Schema


def merge_changes(warehouse: BaseWarehouse, plan: MergePlan) -> MergeCounts:
    """Merge what landed in the change tables since the last merge.

    Args:
        warehouse: where the tables are.
        plan: what `prepare` returned.

    Raises:
        SchemaConflict: as `check_positions`.
    """
    check_positions(warehouse, plan)
    counts = MergeCounts()
    for group in in_statements(plan.changes, plan.base, plan.rules):
        narrow = changes_query(group, plan.base, plan.rules, only_keys=True)
        ranges = key_ranges(warehouse, plan, narrow)
        counts += _merge_rows(warehouse, plan, changes_query(group, plan.base, plan.rules), ranges)
        counts += count_rows(warehouse, plan, narrow, with_unknown=True)
    log(warehouse, plan, plan.merge_kind, plan.versions, counts)
    return counts


def merge_rows(
    warehouse: BaseWarehouse, plan: MergePlan, rows: str, versions: Sequence[str] = (), counts: MergeCounts | None = None
) -> MergeCounts:
    """Merge rows from elsewhere, such as winners that a batch staged, by one MERGE.

    Args:
        warehouse: where the base is.
        plan: what `prepare` returned, before the rows were read.
        rows: a query of rows in all columns of `plan.base.merged`, by name and in their types; any number per key. Rows
            that it gains meanwhile may be left out.
        versions: those of `plan.versions` whose window, `since` in `plan.changes`, was read to its end. The next merge reads
            them from `plan.started_at` on. Empty where the rows are only a part of what landed.
        counts: what was counted while the rows were read; the counts of the MERGE are added.

    Raises:
        TryAgain: the base was replaced meanwhile, so it may lack these rows. Run again from `prepare`.
        SchemaConflict: as `check_positions`.
    """
    check_positions(warehouse, plan)
    done = (counts or MergeCounts()) + _merge_rows(warehouse, plan, rows, key_ranges(warehouse, plan, rows))
    if plan.state.floor:
        done = replace(done, below_floor=count_rows(warehouse, plan, rows).below_floor)
    check_not_replaced(warehouse, plan)
    log(warehouse, plan, plan.merge_kind if versions else "merge", versions, done)
    return done


def merge_snapshot(warehouse: BaseWarehouse, plan: MergePlan, snapshot: TableId, at: str | None = None) -> MergeCounts:
    """Merge the rows of a copy of the source.

    Args:
        warehouse: where the tables are.
        plan: what `prepare` returned.
        snapshot: the table with the copy.
        at: the source's sequence when the copy was made; by default every row is older than any change.

    Raises:
        NotFound: there is no such table.
        SchemaConflict: the copy does not fit the base, or has a key more than once; or as `check_positions`.
        TryAgain: the base was replaced meanwhile.
    """
    check_positions(warehouse, plan)
    rows = snapshot_rows(warehouse, plan, snapshot, at)
    zones = _snapshot_zones(warehouse, plan, snapshot)
    repeated = warehouse.fetch(repeated_keys_query(plan.base, rows))[0]["found"]
    if repeated:
        keys = shown_list(plan.base.keys)
        raise SchemaConflict(
            f"{snapshot}: {counted(repeated, 'key')} ({keys}) repeated: make a copy of the source, which has each once"
        )
    # This row of the log comes first: the base is about to hold rows that no change table has. A later merge must not
    # convert the base as if all of its rows had landed in change tables, even where this merge breaks off.
    log(warehouse, plan, "snapshot", zones=zones)
    # Without ranges of keys: a row that came to the copy meanwhile would be left out, and no later merge would read it.
    counts = _merge_rows(warehouse, plan, rows, {}) + count_rows(warehouse, plan, rows)
    # No later merge reads the rows of a copy: a base that was replaced while they were merged would lack them for good.
    check_not_replaced(warehouse, plan)
    log(warehouse, plan, "snapshot", (), counts, zones)
    return counts


def _snapshot_zones(warehouse: BaseWarehouse, plan: MergePlan, snapshot: TableId) -> Zones:
    found = warehouse.read_columns(snapshot)
    return zones_of(plan.base, [Schema(found or ())], plan.rules.time_zone)


def snapshot_rows(warehouse: BaseWarehouse, plan: MergePlan, snapshot: TableId, at: str | None) -> str:
    """Return a query of the rows of a copy.

    Args:
        warehouse: where the tables are.
        plan: the plan of the merge.
        snapshot: the table with the copy.
        at: the source's sequence when the copy was made; None for before any change.

    Raises:
        NotFound: there is no such table.
        SchemaConflict: the copy does not fit the base.
    """
    found = warehouse.read_table(snapshot)
    if found is None:
        raise NotFound(
            f"expected a table {snapshot} with a copy of {plan.base.table}, got none: make it, or name another one"
        )
    return snapshot_query(snapshot, found.columns, plan.base, copy_position(at, found.created), plan.rules)


def copy_position(sequence: str | None, made: datetime) -> str:
    """Return the position of the rows of a copy: below every change of that sequence, and above earlier copies at it.

    The time comes after a second blank: the tie-break of a change begins with its identifier or, where there is none, with
    one blank and a digest. So a copy stays below both.

    Args:
        sequence: the sequence of the source when the copy was made; None for before any change.
        made: when the table with the copy was made.

    Examples:
        >>> from datetime import UTC
        >>> early, late = (copy_position(None, datetime(year, 1, 1, tzinfo=UTC)) for year in (1999, 2026))
        >>> early < late < str(Position(tie_break=" 0"))
        True
    """
    return str(Position(sequence=sequence, tie_break=f"  {int(made.timestamp() * 1_000_000):020}"))


def purge(warehouse: BaseWarehouse, plan: MergePlan, days: int) -> int | None:
    """Delete tombstones whose deletion is at least this many days old by the clock of the source.

    Tombstones without a time stay. The floor is logged before the rows are deleted, so a purge that breaks off between the
    two has deleted nothing that the floor does not cover.

    Args:
        warehouse: where the base is.
        plan: what `prepare` or `plan_merge` returned.
        days: the least age of a tombstone that is deleted.

    Returns:
        How many tombstones were deleted; None where the warehouse does not tell.

    Raises:
        NotFound: the log does not exist.
    """
    # Not `plan.started_at`: the floor counts only if it is later than the creation of the base, which `prepare` has logged.
    started_at = plan.log_read_at
    position, log_ = plan.base.position_sql("b"), plan.base.log
    expired = expired_tombstones(started_at - timedelta(days=days), position)
    warehouse.execute(floor_statement(log_, started_at, plan.created, plan.base.keys, plan.base.id, expired, position))
    return warehouse.execute(purge_statement(plan.base, expired, started_at)).rows


def expired_tombstones(until: datetime, position: str = f"b.{POSITION}") -> str:
    """Return a condition on the rows `b` of a base: tombstones that the source dates before that time.

    Args:
        until: the time.
        position: the text of their position, as an expression of SQL.

    Examples:
        >>> from datetime import UTC
        >>> expired_tombstones(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
        "b._deleted AND REGEXP_EXTRACT(b._position, r'^[^ ]* ([01][0-9]{19}) ') < '10000000000000001000'"
    """
    # The second part of a position is the timestamp of the source, in milliseconds and with leading zeros.
    limit = str(Position(timestamp=int(until.timestamp() * 1000))).split(" ")[1]
    return f"b._deleted AND REGEXP_EXTRACT({position}, r'^[^ ]* ([01][0-9]{{19}}) ') < '{limit}'"


def purge_statement(base: BaseTable, expired: str, started_at: datetime) -> str:
    """Return the DELETE of a purge, which does nothing where a rebuild began after the purge did.

    Args:
        base: the base table.
        expired: the condition for the tombstones `b` that are deleted.
        started_at: when the purge began.
    """
    return (
        f"DELETE FROM {base.id.quoted} AS b\nWHERE {expired}\n"
        f"AND {base.position_sql('b')} <= {floor_sql(base.log)}\nAND {no_rebuild_since(base.log, started_at)}"
    )


def count_rows(warehouse: BaseWarehouse, plan: MergePlan, rows: str, *, with_unknown: bool = False) -> MergeCounts:
    """Return how many changes and keys the rows have, and how many of them people have to know of."""
    found = warehouse.fetch(count_query(plan.base, rows, plan.state.floor is not None, with_unknown))[0]
    numbers = ("changes", "keys", "below_floor", "disputed", "ordered_by_text", "unknown_types")
    example = found["text_example"]
    return MergeCounts(
        **{name: int(found[name]) for name in numbers}, text_example=None if example is None else readable_sequence(example)
    )


def count_rebuilt(warehouse: BaseWarehouse, plan: MergePlan) -> MergeCounts:
    """Return the rows of a base that was just rebuilt, all of which are new; none where it was not rebuilt."""
    if plan.brought_up != "rebuilt":
        return MergeCounts()
    rows = int(warehouse.fetch(f"SELECT COUNT(*) AS found FROM {plan.base.id.quoted}")[0]["found"])
    return MergeCounts(written=rows, inserted=rows)


def check_not_replaced(warehouse: BaseWarehouse, plan: MergePlan) -> None:
    """Check that the base is the very table of the plan.

    Raises:
        TryAgain: the base was replaced meanwhile.
    """
    now = warehouse.read_table(plan.base.id)
    if now is None or now.created != plan.created:
        raise TryAgain(f"{plan.base.id} was replaced while rows were merged into it: merge them again")


def key_ranges(warehouse: BaseWarehouse, plan: MergePlan, rows: str) -> KeyRanges:
    """Return what is known of the keys of rows that are about to be merged; nothing where the base has no rows yet.

    Args:
        warehouse: where the rows are.
        plan: the plan of the merge.
        rows: a query of the rows, with the columns of the key.
    """
    if plan.stored is None or plan.brought_up == "created":
        return {}
    dataset = (plan.rules.version_column,) if plan.rules.of_united and plan.rules.version_column else ()
    keys = plan.base.key_columns
    return read_ranges(keys, warehouse.fetch(ranges_query(keys, rows, (SOURCE_NAME, DATABASE_NAME, *dataset)))[0])


def _merge_rows(warehouse: BaseWarehouse, plan: MergePlan, rows: str, ranges: KeyRanges) -> MergeCounts:
    done = warehouse.execute(merge_statement(plan.base, rows, plan.schema_plan.dropped, ranges))
    return MergeCounts(written=done.rows, inserted=done.inserted, updated=done.updated, bytes=done.bytes)
