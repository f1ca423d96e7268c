"""The second join, in Spark: many changes of a key fold into the one with the greatest position, joined with the base.

Both are the same join, so any order, any repetition and any split of the changes give the same rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812

from onefold.changelog.digest import LENGTH
from onefold.merge.base_table import DELETED, POSITION
from onefold.spark.columns import named
from onefold.spark.values.position import ordered_by_text

BASE_POSITION, BASE_DELETED = "_onefold_base_position", "_onefold_base_deleted"
"""Of a key that the base has: what the base has for it."""

_NEXT = "_onefold_next"
"""Of a change: the position of the next one of its key; NULL for the last one."""
_WINNER = "_onefold_winner"

_WITHOUT_SEQUENCE = "0 "
_ENTRY_BYTES = 64
"""What a row takes in a table of hashes beyond its own letters."""


def disputes(one: Value, other: Value) -> Value:
    """Return whether two positions differ in nothing but the digest of the row. NULL, no position, disputes nothing."""
    same_place = one.substr(F.lit(1), F.length(one) - LENGTH) == other.substr(F.lit(1), F.length(other) - LENGTH)
    # Most changes have no other of their key: for these the long texts are not looked at.
    return F.when(other.isNull(), F.lit(False)).otherwise(F.coalesce((one != other) & same_place, F.lit(False)))


@dataclass(frozen=True)
class Winners:
    """The winners among the changes, one row per key, and what was counted with them.

    changes: rows read. count: winners. disputed: changes that share their position with another one that has other content
    (the digest decides between them). unplaced: those without a sequence. by_text: those whose sequence is ordered as text.
    slim_bytes: about what the winners' keys and positions take in memory.
    unavailable, unknown: values that the winners came without, and those of them that no earlier row has.
    """

    rows: DataFrame
    keys: tuple[str, ...]
    changes: int
    count: int
    deletions: int
    disputed: int
    unplaced: int
    by_text: int
    null_keys: int
    slim_bytes: int
    unavailable: int = 0
    unknown: int = 0


def fold(changes: DataFrame, keys: Sequence[str], keep: Callable[[DataFrame], DataFrame]) -> Winners:
    """Keep one row per key, the one with the greatest position. Keys that are NULL are one key.

    The changes of a key are sorted once, and each learns the position of the next one: the winner has none. All is counted
    on the way, once, as the winners are kept.

    Args:
        keep: does the work, once, and returns the winners as they are kept.
    """
    in_order = Window.partitionBy(*map(named, keys)).orderBy(named(POSITION))
    counted = Observation()
    # In a select of its own, or each use of it would become a window of its own.
    marked = changes.select("*", F.lead(named(POSITION)).over(in_order).alias(_NEXT)).observe(counted, *_counts(keys))
    winners = keep(marked.where(named(_NEXT).isNull()).drop(_NEXT))
    return Winners(winners, tuple(keys), **counted.get)


def _counts(keys: Sequence[str]) -> Iterator[Value]:
    key, last = [named(name) for name in keys], named(_NEXT).isNull()
    sizes = (F.coalesce(F.octet_length(value.cast("string")), F.lit(0)) for value in (*key, named(POSITION)))
    conditions = {
        "changes": F.lit(True),
        "count": last,
        "deletions": last & named(DELETED),
        "disputed": disputes(named(POSITION), named(_NEXT)),
        "unplaced": named(POSITION).startswith(_WITHOUT_SEQUENCE),
        "by_text": ordered_by_text(named(POSITION)),
        "null_keys": last & functools.reduce(Value.__or__, (value.isNull() for value in key)),
    }
    yield from (F.count_if(condition).alias(name) for name, condition in conditions.items())
    size = F.when(last, functools.reduce(Value.__add__, sizes) + _ENTRY_BYTES)
    yield F.coalesce(F.sum(size), F.lit(0)).alias("slim_bytes")


@contextmanager
def in_memory() -> Iterator[Callable[[DataFrame], DataFrame]]:
    """Keep rows in memory, or on disk where there is too little of it, as long as the block lasts."""
    held: list[DataFrame] = []

    def keep(rows: DataFrame) -> DataFrame:
        held.append(rows.persist())
        rows.write.format("noop").mode("overwrite").save()
        return held[-1]

    try:
        yield keep
    finally:
        # To release a frame that is made of the held one would do nothing.
        for rows in held:
            rows.unpersist()


@dataclass(frozen=True)
class BaseMerge:
    """The winners and the base, joined by their keys.

    few: whether the winners' keys are sent to every worker, so that the base stays where it is and no row of it is
    shuffled. Else base and winners are shuffled.
    """

    base: DataFrame
    winners: Winners
    few: bool

    def met(self) -> DataFrame:
        """Return a row for each row of the base whose key has a winner: key, positions and flags of both.

        The base is read for its keys, positions and flags alone. A key that the base has twice comes twice.
        """
        keys = [named(key).alias(_of_base(key)) for key in self.winners.keys]
        place = (named(POSITION).alias(BASE_POSITION), named(DELETED).alias(BASE_DELETED))
        number = F.monotonically_increasing_id().alias(_WINNER)
        winners = self.winners.rows.select(*map(named, self.winners.keys), named(POSITION), named(DELETED), number)
        joined = self.base.select(*keys, *place).join(self._sent(winners), self._same_key)
        return joined.drop(*map(_of_base, self.winners.keys))

    def applied(self, met: DataFrame, *, all_are: bool) -> DataFrame:
        """Return the winners that are newer than the base's rows; without a join where it is known that all are."""
        if all_are:
            return self.winners.rows
        older = self._keys(met.where(~is_applied()))
        return self.winners.rows.join(self._sent(older), self._same_key, "left_anti")

    def result(self, met: DataFrame, applied: DataFrame) -> DataFrame:
        """Return the new base: the old one without the keys that have a newer row, and those rows."""
        replaced = self._keys(met.where(is_applied()))
        kept = self.base.join(self._sent(replaced), self._same_key, "left_anti")
        return kept.unionByName(applied)

    def _keys(self, met: DataFrame) -> DataFrame:
        """Return the keys alone, by other names than those of the frame that they are joined with."""
        return met.select(*(named(key).alias(_of_base(key)) for key in self.winners.keys))

    def _sent(self, winners: DataFrame) -> DataFrame:
        return F.broadcast(winners) if self.few else winners.hint("shuffle_hash")

    @property
    def _same_key(self) -> Value:
        """Where no winner has a NULL in its key, plain equality does, and is faster."""
        pairs = ((named(_of_base(key)), named(key)) for key in self.winners.keys)
        null_safe = self.winners.null_keys > 0
        return functools.reduce(Value.__and__, (a.eqNullSafe(b) if null_safe else a == b for a, b in pairs))


def count_met(met: DataFrame) -> dict[str, int]:
    """Count what the winners do to the rows that the base has for their keys.

    Returns:
        rows: rows of the base. winners: keys they belong to. live: rows whose winner is no deletion. The other counts are
        those of the report.
    """
    gone, was_there = named(DELETED), ~named(BASE_DELETED)
    which = {
        "rows": F.lit(True),
        "live": ~gone,
        "inserted": is_applied() & ~gone & ~was_there,
        "updated": is_applied() & ~gone & was_there,
        "deleted": is_applied() & gone & was_there,
        "tombstones": is_applied() & gone & ~was_there,
        "repeated": named(BASE_POSITION) == named(POSITION),
        "lost": named(BASE_POSITION) > named(POSITION),
        "disputed": disputes(named(BASE_POSITION), named(POSITION)),
    }
    counts = (F.count_if(condition).alias(name) for name, condition in which.items())
    (row,) = met.agg(F.count_distinct(_WINNER).alias("winners"), *counts).collect()
    return dict(row.asDict())


def is_applied() -> Value:
    """The one guard: a change wins where its position is greater than the base's."""
    return named(POSITION) > named(BASE_POSITION)


def _of_base(key: str) -> str:
    return f"_onefold_base_{key}"
