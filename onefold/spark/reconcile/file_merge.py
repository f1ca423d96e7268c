"""One file of a base and the winners, met by Arrow in a worker: which rows of the file go, and what the winners do to them.

A base file is read for its keys, positions and flags alone. The order of positions is that of their bytes, in Arrow as in
Spark and in BigQuery.
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
"""An array or a chunked one, of which Arrow's functions take either."""
_Sides = tuple[Arrow, Arrow]
"""A column of the base's rows, and of the winners."""


@dataclass(frozen=True)
class FileMatches:
    """What one file has of the winners' keys.

    dropped: the numbers of the rows that newer winners replace, in order. winners: the numbers of the winners whose keys
    are there, once for each row; late: of those that are not newer. counts: as those of the report.
    """

    rows: int
    dropped: array[int]
    winners: array[int]
    late: array[int]
    counts: Mapping[str, int]


def meet(rows: Table, winners: Table, keys: Sequence[str]) -> FileMatches:
    """Join by the keys; each side has them, positions and flags. Winners have each key once; keys that are NULL are one."""
    import pyarrow.compute as pc

    number = winner_numbers(rows, winners, keys)
    places = pc.indices_nonzero(pc.is_valid(number))
    theirs, mine = winners.take(number.take(places)), rows.take(places)
    newer = pc.greater(theirs[POSITION], mine[POSITION])
    found = number.take(places)
    return FileMatches(
        rows.num_rows,
        _array(places.filter(newer)),
        _array(found),
        _array(found.filter(pc.invert(newer))),
        _counts(mine, theirs, newer),
    )


def winner_numbers(rows: Table, winners: Table, keys: Sequence[str]) -> Arrow:
    """Return for each row the number of the winner of its key, or NULL.

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
    """Two columns as one, whose numbers are counted anew with each further column, so that they stay small."""
    import pyarrow.compute as pc

    rows, winners = (pc.add(pc.multiply(one, times), other) for one, other in zip(first, second, strict=True))
    return rows, winners


def _codes(of_rows: Arrow, of_winners: Arrow) -> _Sides:
    """Number the winners' values, NULL being one; a value that no winner has is NULL."""
    import pyarrow.compute as pc

    values = pc.unique(of_winners)
    codes = (pc.index_in(side, value_set=values).cast("int64") for side in (of_rows, of_winners))
    rows, winners = (code.combine_chunks() if hasattr(code, "combine_chunks") else code for code in codes)
    return rows, winners


def _counts(mine: Table, theirs: Table, newer: Arrow) -> dict[str, int]:
    """Count as `latest.count_met` does: `mine` are rows of the base, `theirs` the winners of their keys."""
    import pyarrow.compute as pc

    gone, live = theirs[DELETED], pc.invert(theirs[DELETED])
    was_gone, was_there = mine[DELETED], pc.invert(mine[DELETED])
    old, new = mine[POSITION], theirs[POSITION]
    which = {
        "rows": pc.is_valid(new),
        "live": live,
        "inserted": pc.and_(newer, pc.and_(live, was_gone)),
        "updated": pc.and_(newer, pc.and_(live, was_there)),
        "deleted": pc.and_(newer, pc.and_(gone, was_there)),
        "tombstones": pc.and_(newer, pc.and_(gone, was_gone)),
        "repeated": pc.equal(old, new),
        "lost": pc.greater(old, new),
        "disputed": pc.and_(pc.not_equal(old, new), pc.equal(*(pc.utf8_slice_codeunits(x, 0, -LENGTH) for x in (old, new)))),
    }
    return {name: pc.sum(true).as_py() or 0 for name, true in which.items()}


def _array(numbers: Arrow) -> array[int]:
    return array("q", numbers.to_pylist())
