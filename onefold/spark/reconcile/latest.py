"""The latest row of each key, in Spark: the change with the greatest position wins, first among changes, then in the base.

Both steps are the same join, so any order, any repetition and any split of the changes give the same rows.
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
from onefold.merge.change_query import UNKNOWN_TYPE
from onefold.spark.columns import named
from onefold.spark.values.position import ordered_by_text

BASE_POSITION, BASE_DELETED = "_onefold_base_position", "_onefold_base_deleted"
"""The position and the flag of the base's row, which the joined frame has in addition to the winner's columns."""

_NEXT = "_onefold_next"
"""The column with the position of the next change of the same key; NULL for the last one."""
_WINNER = "_onefold_winner"

_WITHOUT_SEQUENCE = "0 "
_ENTRY_BYTES = 64
"""Bytes that a row takes in a hash table besides its own characters."""


def is_disputed(position: Value, other: Value) -> Value:
    """Return whether two positions differ in nothing but the digest of the row; false if the other one is NULL."""
    same_but_digest = _without_digest(position) == _without_digest(other)
    # Most changes are the only one of their key: their long texts are not compared.
    return F.when(other.isNull(), F.lit(False)).otherwise(F.coalesce((position != other) & same_but_digest, F.lit(False)))


def _without_digest(position: Value) -> Value:
    return position.substr(F.lit(1), F.length(position) - LENGTH)


@dataclass(frozen=True)
class Winners:
    """The winners among the changes, one row per key, and counts.

    changes: the rows that were read.
    count: the winners.
    deletions: the winners that are deletions.
    disputed: the changes that share their position with another change of other content; the digest decides between them.
    without_sequence: the changes without a sequence.
    ordered_by_text: the changes whose sequence is ordered as text.
    unknown_types: the changes with a `change_type` that is not documented, which count as upserts.
    null_keys: the winners with a NULL in their key.
    key_bytes: an estimate of the memory that the winners' keys and positions take.
    unavailable, unknown: the values that the winners lack, and those of them that no earlier row has.
    """

    rows: DataFrame
    keys: tuple[str, ...]
    changes: int
    count: int
    deletions: int
    disputed: int
    without_sequence: int
    ordered_by_text: int
    unknown_types: int
    null_keys: int
    key_bytes: int
    unavailable: int = 0
    unknown: int = 0


def find_winners(changes: DataFrame, keys: Sequence[str], store: Callable[[DataFrame], DataFrame]) -> Winners:
    """Return one row per key, the one with the greatest position. Keys that are NULL are one key.

    The changes of a key are sorted once, and each gets the position of the next one: the winner has no next one. Everything
    is counted in the same pass, while the winners are stored.

    Args:
        changes: changes in the unified columns, with `_position` and `_deleted`, and `UNKNOWN_TYPE` where they have a type.
        keys: the columns of the key.
        store: runs the plan, exactly once, and returns the stored rows.
    """
    by_position = Window.partitionBy(*map(named, keys)).orderBy(named(POSITION))
    observation = Observation()
    # In a select of its own: otherwise each use of the column would become a window of its own.
    marked = changes.select("*", F.lead(named(POSITION)).over(by_position).alias(_NEXT))
    unknown = named(UNKNOWN_TYPE) if UNKNOWN_TYPE in changes.columns else F.lit(False)
    observed = marked.observe(observation, *_counts(keys, unknown))
    winners = store(observed.where(named(_NEXT).isNull()).drop(_NEXT, UNKNOWN_TYPE))
    return Winners(winners, tuple(keys), **observation.get)


def _counts(keys: Sequence[str], unknown: Value) -> Iterator[Value]:
    key, last = [named(name) for name in keys], named(_NEXT).isNull()
    sizes = (F.coalesce(F.octet_length(value.cast("string")), F.lit(0)) for value in (*key, named(POSITION)))
    conditions = {
        "changes": F.lit(True),
        "count": last,
        "deletions": last & named(DELETED),
        "disputed": is_disputed(named(POSITION), named(_NEXT)),
        "without_sequence": named(POSITION).startswith(_WITHOUT_SEQUENCE),
        "ordered_by_text": ordered_by_text(named(POSITION)),
        "unknown_types": unknown,
        "null_keys": last & functools.reduce(Value.__or__, (value.isNull() for value in key)),
    }
    yield from (F.count_if(condition).alias(name) for name, condition in conditions.items())
    size = F.when(last, functools.reduce(Value.__add__, sizes) + _ENTRY_BYTES)
    yield F.coalesce(F.sum(size), F.lit(0)).alias("key_bytes")


@contextmanager
def in_memory() -> Iterator[Callable[[DataFrame], DataFrame]]:
    """Give a function that stores rows until the end of the block, in memory, or on disk if there is too little memory."""
    stored: list[DataFrame] = []

    def store(rows: DataFrame) -> DataFrame:
        stored.append(rows.persist())
        # Runs the whole plan once, without writing anything.
        rows.write.format("noop").mode("overwrite").save()
        return stored[-1]

    try:
        yield store
    finally:
        # The very frames that were persisted: Spark ignores `unpersist` of a frame that is derived from one.
        for rows in stored:
            rows.unpersist()


@dataclass(frozen=True)
class BaseMerge:
    """The winners and the base, joined by their keys.

    broadcasts: whether the winners' keys are sent to every worker, so that no row of the base is shuffled. Otherwise base
        and winners are shuffled.
    """

    base: DataFrame
    winners: Winners
    broadcasts: bool

    def matches(self) -> DataFrame:
        """Return a row for each row of the base whose key has a winner: the key, positions and flags of both.

        Only keys, positions and flags of the base are read. A key that the base has twice comes twice.
        """
        keys = [named(key).alias(_of_base(key)) for key in self.winners.keys]
        old = (named(POSITION).alias(BASE_POSITION), named(DELETED).alias(BASE_DELETED))
        number = F.monotonically_increasing_id().alias(_WINNER)
        winners = self.winners.rows.select(*map(named, self.winners.keys), named(POSITION), named(DELETED), number)
        joined = self.base.select(*keys, *old).join(self._hinted(winners), self._same_key)
        return joined.drop(*map(_of_base, self.winners.keys))

    def newer_winners(self, matches: DataFrame, *, all_are: bool) -> DataFrame:
        """Return the winners that are newer than the base's rows, without a join if all of them are known to be newer."""
        if all_are:
            return self.winners.rows
        older = self._keys(matches.where(~is_newer()))
        return self.winners.rows.join(self._hinted(older), self._same_key, "left_anti")

    def result(self, matches: DataFrame, newer: DataFrame) -> DataFrame:
        """Return the new base: the old rows without those that have a newer winner, and the newer winners."""
        replaced = self._keys(matches.where(is_newer()))
        unchanged = self.base.join(self._hinted(replaced), self._same_key, "left_anti")
        return unchanged.unionByName(newer)

    def _keys(self, matches: DataFrame) -> DataFrame:
        """Return the keys alone, by other names than those of the frame that they will be joined with."""
        return matches.select(*(named(key).alias(_of_base(key)) for key in self.winners.keys))

    def _hinted(self, keys: DataFrame) -> DataFrame:
        return F.broadcast(keys) if self.broadcasts else keys.hint("shuffle_hash")

    @property
    def _same_key(self) -> Value:
        """The condition of all joins. Plain equality is faster, and enough if no winner has a NULL in its key."""
        pairs = ((named(_of_base(key)), named(key)) for key in self.winners.keys)
        null_safe = self.winners.null_keys > 0
        return functools.reduce(Value.__and__, (a.eqNullSafe(b) if null_safe else a == b for a, b in pairs))


def count_matches(matches: DataFrame) -> dict[str, int]:
    """Count what the winners do to the rows that the base has for their keys.

    Returns:
        rows: rows of the base. winners: the different keys of these rows. live: rows whose winner is no deletion. The other
        counts are those of the report.
    """
    deleted, was_live = named(DELETED), ~named(BASE_DELETED)
    conditions = {
        "rows": F.lit(True),
        "live": ~deleted,
        "inserted": is_newer() & ~deleted & ~was_live,
        "updated": is_newer() & ~deleted & was_live,
        "deleted": is_newer() & deleted & was_live,
        "tombstones": is_newer() & deleted & ~was_live,
        "repeated": named(BASE_POSITION) == named(POSITION),
        "lost": named(BASE_POSITION) > named(POSITION),
        "disputed": is_disputed(named(BASE_POSITION), named(POSITION)),
    }
    counts = (F.count_if(condition).alias(name) for name, condition in conditions.items())
    (row,) = matches.agg(F.count_distinct(_WINNER).alias("winners"), *counts).collect()
    return dict(row.asDict())


def is_newer() -> Value:
    """Return the one condition of every merge: a change wins if its position is greater than the base's."""
    return named(POSITION) > named(BASE_POSITION)


def _of_base(key: str) -> str:
    return f"_onefold_base_{key}"
