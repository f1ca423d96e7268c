"""The second join, in Spark: many changes of a key fold into the one with the greatest position, and meet the base.

Both are the same join, so any order, any repetition and any split of the changes give the same rows.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from onefold.base import DELETED, POSITION
from onefold.digest import LENGTH
from onefold.spark.expressions import named

CHANGES, DISPUTED, UNPLACED = "_onefold_changes", "_onefold_disputed", "_onefold_unplaced"
"""Beside each winner: how many changes its key has, how many of them share their position with another one that has other
content (the digest decides between them), and how many came without a sequence."""
COUNTERS = (CHANGES, DISPUTED, UNPLACED)

_WITHOUT_SEQUENCE = "0 "
FEW_BYTES = 64 * 2**20
"""Winners up to this size in memory are sent to every worker, and the base stays where it is; measured."""


def fold_changes(changes: DataFrame, keys: Sequence[str]) -> DataFrame:
    """One row per key, the one with the greatest position, and its counters. Keys that are NULL are one key.

    The changes of a key are sorted once: the winner is the last, and has seen all the others.
    """
    in_order = Window.partitionBy(*map(named, keys)).orderBy(named(POSITION))
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = F.lag(named(POSITION)).over(in_order)
    marked = changes.select(
        "*",
        F.row_number().over(in_order).alias(CHANGES),
        disputes(before, named(POSITION)).cast("bigint").alias(DISPUTED),
        named(POSITION).startswith(_WITHOUT_SEQUENCE).cast("bigint").alias(UNPLACED),
        F.lead(named(POSITION)).over(in_order).isNull().alias("_onefold_last"),
    )
    totals = {name: F.sum(named(name)).over(so_far) for name in (DISPUTED, UNPLACED)}
    return marked.withColumns(totals).where(named("_onefold_last")).drop("_onefold_last")


def disputes(one: Value, other: Value) -> Value:
    """Whether two positions differ in nothing but the digest of the row. NULL, which is no position, disputes nothing."""
    same_place = one.substr(F.lit(1), F.length(one) - LENGTH) == other.substr(F.lit(1), F.length(other) - LENGTH)
    return F.coalesce(same_place & (one != other), F.lit(False))


@dataclass(frozen=True)
class Folded:
    """The winners among the changes, held in memory or on disk, and what was counted while they were found."""

    rows: DataFrame
    keys: tuple[str, ...]
    count: int
    changes: int
    disputed: int
    unplaced: int
    deletions: int
    null_keys: int

    @property
    def size(self) -> int:
        """Bytes in memory."""
        plan = self.rows._jdf.queryExecution().optimizedPlan()
        return int(str(plan.stats().sizeInBytes()))


def count_winners(winners: DataFrame, keys: Sequence[str]) -> Folded:
    """Do the work of the fold, once."""
    held = winners.persist()
    null_key = functools.reduce(Value.__or__, (named(key).isNull() for key in keys))
    (row,) = held.agg(
        F.count("*"),
        *(F.coalesce(F.sum(named(name)), F.lit(0)) for name in COUNTERS),
        F.count_if(named(DELETED)),
        F.count_if(null_key),
    ).collect()
    return Folded(held.drop(*COUNTERS), tuple(keys), *row)


@dataclass(frozen=True)
class Merged:
    """Base and winners side by side, as `base_0`… and `winner_0`…; the columns of a side that lacks the key are NULL."""

    rows: DataFrame
    columns: tuple[str, ...]

    def of_base(self, column: str) -> Value:
        return named(f"base_{self.columns.index(column)}")

    def of_winner(self, column: str) -> Value:
        return named(f"winner_{self.columns.index(column)}")

    @property
    def in_base(self) -> Value:
        return self.of_base(POSITION).isNotNull()

    @property
    def in_changes(self) -> Value:
        return self.of_winner(POSITION).isNotNull()

    @property
    def applied(self) -> Value:
        """The one guard: a change wins where its position is greater than the base's."""
        base, winner = self.of_base(POSITION), self.of_winner(POSITION)
        return self.in_changes & (~self.in_base | (winner > base))

    def result(self) -> DataFrame:
        """The new base."""
        return self.rows.select(
            *(
                F.when(self.applied, self.of_winner(column)).otherwise(self.of_base(column)).alias(column)
                for column in self.columns
            )
        )


def merge(base: DataFrame, winners: Folded, *, few: bool) -> Merged:
    """Join the winners with the base, which has one row per key and the same columns.

    few: whether the winners are sent to every worker. Then the base is not shuffled; its keys are read once more, to find
    which winners it does not have.
    """
    columns = tuple(winners.rows.columns)
    left = base.select(*map(named, columns)).toDF(*(f"base_{place}" for place in range(len(columns))))
    right = winners.rows.toDF(*(f"winner_{place}" for place in range(len(columns))))
    places = [columns.index(key) for key in winners.keys]
    equal = _equal(places, null_safe=winners.null_keys > 0)
    if not few:
        return Merged(left.join(right.hint("shuffle_hash"), equal, "full"), columns)
    keys = right.select(*(named(f"winner_{place}") for place in places))
    known = left.select(*(named(f"base_{place}") for place in places)).join(F.broadcast(keys), equal, "left_semi")
    new = right.join(known, equal, "left_anti")
    joined = left.join(F.broadcast(right), equal, "left")
    return Merged(joined.unionByName(new, allowMissingColumns=True), columns)


def _equal(places: Iterable[int], *, null_safe: bool) -> Value:
    """Whether the keys are equal. Where no winner has a NULL in its key plain equality does, and is faster."""
    pairs = ((named(f"base_{place}"), named(f"winner_{place}")) for place in places)
    return functools.reduce(Value.__and__, (one.eqNullSafe(other) if null_safe else one == other for one, other in pairs))
