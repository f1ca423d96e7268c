"""One file of a base matched with the winners, by Arrow in a worker: which rows leave the file, and what winners do to them.

Only keys, positions and flags of a base's file are read. Positions are ordered by their bytes, in Arrow as in Spark and in
BigQuery.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onefold.changelog.digest import LENGTH
from onefold.merge.base_table import DELETED, POSITION

if TYPE_CHECKING:
    from pyarrow import Table

Arrow = Any
"""An array or a chunked array; Arrow's functions take either."""
_Sides = tuple[Arrow, Arrow]
"""A column of the base's rows, and the same column of the winners."""


@dataclass(frozen=True)
class FileMatches:
    """The rows of one file whose keys have winners.

    rows: the number of all rows of the file.
    dropped: the numbers of the rows that newer winners replace, in order.
    winners: the numbers of the winners whose keys the file has, once for each row.
    late: the numbers of those winners that are not newer than the row.
    counts: the counts of the report.
    """

    rows: int
    dropped: array[int]
    winners: array[int]
    late: array[int]
    counts: Mapping[str, int]


def match_winners(rows: Table, winners: Table, keys: Sequence[str]) -> FileMatches:
    """Join the rows of a file with the winners by their keys; keys that are NULL are equal.

    Args:
        rows: keys, positions and flags of the file's rows.
        winners: the same columns of the winners, which have each key once.
        keys: the columns of the key.
    """
    import pyarrow.compute as pc

    numbers = winner_numbers(rows, winners, keys)
    matching = pc.indices_nonzero(pc.is_valid(numbers))
    found = numbers.take(matching)
    new, old = winners.take(found), rows.take(matching)
    newer = pc.greater(new[POSITION], old[POSITION])
    return FileMatches(
        rows.num_rows,
        _array(matching.filter(newer)),
        _array(found),
        _array(found.filter(pc.invert(newer))),
        _counts(old, new, newer),
    )


def winner_numbers(rows: Table, winners: Table, keys: Sequence[str]) -> Arrow:
    """Return for each row the number of the winner of its key, or NULL.

    Examples:
        >>> import pyarrow as pa
        >>> rows, winners = pa.table({"a": [1, 2, 2, None], "b": "xyyz"}), pa.table({"a": [None, 2], "b": "zy"})
        >>> winner_numbers(rows, winners, ["a", "b"]).to_pylist()
        [None, 1, 1, 0]
    """
    import pyarrow.compute as pc

    of_rows, of_winners = rows[keys[0]], winners[keys[0]]
    for key in keys[1:]:
        of_rows, of_winners = _pairs(_codes(of_rows, of_winners), _codes(rows[key], winners[key]), winners.num_rows)
    return pc.index_in(of_rows, value_set=of_winners)


def _pairs(first: _Sides, second: _Sides, times: int) -> _Sides:
    """Combine two columns of numbers into one. `_codes` numbers its values again before the next one, so they stay small."""
    import pyarrow.compute as pc

    rows, winners = (pc.add(pc.multiply(one, times), other) for one, other in zip(first, second, strict=True))
    return rows, winners


def _codes(of_rows: Arrow, of_winners: Arrow) -> _Sides:
    """Replace each value by the number of its first winner's value, NULL included; a value that no winner has by NULL."""
    import pyarrow.compute as pc

    values = pc.unique(of_winners)
    codes = (pc.index_in(side, value_set=values).cast("int64") for side in (of_rows, of_winners))
    rows, winners = (code.combine_chunks() if hasattr(code, "combine_chunks") else code for code in codes)
    return rows, winners


def _counts(old_rows: Table, new_rows: Table, newer: Arrow) -> dict[str, int]:
    """Count as `latest.count_matches` does: `old_rows` are rows of the base, `new_rows` the winners of their keys."""
    import pyarrow.compute as pc

    deleted, live = new_rows[DELETED], pc.invert(new_rows[DELETED])
    was_deleted, was_live = old_rows[DELETED], pc.invert(old_rows[DELETED])
    old, new = old_rows[POSITION], new_rows[POSITION]
    # Two positions that differ only in the digest of the row, which is their last part.
    same_but_digest = pc.equal(*(pc.utf8_slice_codeunits(x, 0, -LENGTH) for x in (old, new)))
    conditions = {
        "rows": pc.is_valid(new),
        "live": live,
        "inserted": pc.and_(newer, pc.and_(live, was_deleted)),
        "updated": pc.and_(newer, pc.and_(live, was_live)),
        "deleted": pc.and_(newer, pc.and_(deleted, was_live)),
        "tombstones": pc.and_(newer, pc.and_(deleted, was_deleted)),
        "repeated": pc.equal(old, new),
        "lost": pc.greater(old, new),
        "disputed": pc.and_(pc.not_equal(old, new), same_but_digest),
    }
    return {name: pc.sum(condition).as_py() or 0 for name, condition in conditions.items()}


def _array(numbers: Arrow) -> array[int]:
    return array("q", numbers.to_pylist())
