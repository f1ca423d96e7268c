"""The second join, in Spark: many changes of a key fold into the one with the greatest position, and meet the base.

Both are the same join, so any order, any repetition and any split of the changes give the same rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
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

BASE_POSITION, BASE_DELETED = "_onefold_base_position", "_onefold_base_deleted"
"""Beside each winner: what the base has for its key."""

_WITHOUT_SEQUENCE = "0 "
_ENTRY_BYTES = 64
"""What a key takes in a table of hashes beside its own letters."""


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
    """The winners among the changes, held in memory or on disk, and what was counted while they were found.

    key_bytes: about what their keys take in memory.
    """

    rows: DataFrame
    keys: tuple[str, ...]
    count: int
    changes: int
    disputed: int
    unplaced: int
    deletions: int
    null_keys: int
    key_bytes: int


def count_winners(winners: DataFrame, keys: Sequence[str]) -> Folded:
    """Do the work of the fold, once."""
    held = winners.persist()
    key = [named(name) for name in keys]
    sizes = (F.coalesce(F.length(value.cast("string")), F.lit(0)) + _ENTRY_BYTES for value in key)
    (row,) = held.agg(
        F.count("*"),
        *(_total(named(name)) for name in (CHANGES, DISPUTED, UNPLACED)),
        F.count_if(named(DELETED)),
        F.count_if(functools.reduce(Value.__or__, (value.isNull() for value in key))),
        _total(functools.reduce(Value.__add__, sizes)),
    ).collect()
    return Folded(held.drop(CHANGES, DISPUTED, UNPLACED), tuple(keys), *row)


def _total(x: Value) -> Value:
    return F.coalesce(F.sum(x), F.lit(0))


@dataclass(frozen=True)
class Merging:
    """The winners beside what the base has for their keys, and the join of both.

    few: whether the winners' keys are sent to every worker, so that the base stays where it is and no row of it is
    shuffled. Else base and winners are shuffled.
    beside: columns of the base that say where its rows are, and are no part of them.
    """

    base: DataFrame
    winners: Folded
    few: bool
    beside: tuple[str, ...] = ()

    def met(self) -> DataFrame:
        """Each winner with the position and the flag of the base's row of its key (NULL where it has none).

        The base is read for its keys, positions and flags alone. A key that the base has twice comes twice.
        """
        keys = [named(key).alias(_of_base(key)) for key in self.winners.keys]
        place = (named(POSITION).alias(BASE_POSITION), named(DELETED).alias(BASE_DELETED), *map(named, self.beside))
        slim = self.base.select(*keys, *place)
        touched = slim.join(self._sent(self.winners.rows), self._same_key, "left_semi")
        return self.winners.rows.join(touched, self._same_key, "left").drop(*map(_of_base, self.winners.keys))

    def applied(self, met: DataFrame) -> DataFrame:
        """The rows that are newer than the base's."""
        return met.where(is_applied()).drop(BASE_POSITION, BASE_DELETED, *self.beside)

    def replaced(self, met: DataFrame) -> DataFrame:
        """Where the rows of the base are that they replace."""
        return met.where(is_applied() & named(BASE_POSITION).isNotNull()).select(*self.beside)

    def result(self, met: DataFrame) -> DataFrame:
        """The new base: the old one without the keys that have a newer row, and those rows."""
        applied = self.applied(met)
        keys = applied.select(*(named(key).alias(_of_base(key)) for key in self.winners.keys))
        kept = self.base.drop(*self.beside).join(self._sent(keys), self._same_key, "left_anti")
        return kept.unionByName(applied)

    def _sent(self, winners: DataFrame) -> DataFrame:
        return F.broadcast(winners) if self.few else winners.hint("shuffle_hash")

    @property
    def _same_key(self) -> Value:
        """Where no winner has a NULL in its key, plain equality does, and is faster."""
        pairs = ((named(_of_base(key)), named(key)) for key in self.winners.keys)
        null_safe = self.winners.null_keys > 0
        return functools.reduce(Value.__and__, (a.eqNullSafe(b) if null_safe else a == b for a, b in pairs))


def is_applied() -> Value:
    """The one guard: a change wins where its position is greater than the base's."""
    return named(BASE_POSITION).isNull() | (named(POSITION) > named(BASE_POSITION))


def _of_base(key: str) -> str:
    return f"_onefold_base_{key}"
