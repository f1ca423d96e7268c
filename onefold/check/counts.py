"""Numbers of rows at the source and in the warehouse, and whether they agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CountedBy = Literal["time", "key", "load", "now"]
_SUBJECTS: dict[CountedBy, str] = {
    "time": "rows that were not changed within the padding",
    "key": "rows up to the greatest key that was loaded before the padding",
    "load": "rows of the newest complete load",
    "now": "rows now",
}


@dataclass(frozen=True)
class RowCounts:
    """The numbers of rows on both sides.

    Attributes:
        by: which rows were counted: by modification time, by key, those of a full load, or all that there are now.
        source: the number at the source; for a full load, the number that the load itself read.
        warehouse: the number in the view.
    """

    by: CountedBy
    source: int
    warehouse: int

    @property
    def same(self) -> bool:
        """Whether both sides have as many rows."""
        return self.source == self.warehouse

    @property
    def text(self) -> str:
        """The numbers as a sentence.

        Examples:
            >>> RowCounts("load", 1200, 1199).text
            'MySQL has 1,200 rows of the newest complete load, BigQuery 1,199'
        """
        return f"MySQL has {self.source:,} {_SUBJECTS[self.by]}, BigQuery {self.warehouse:,}"


def is_confirmed(first: RowCounts, second: RowCounts) -> bool:
    """Return whether two counts have the same difference; one that changes comes from writers.

    Where all rows are counted, the numbers have to be the same, too: rows that are always under way are no difference.

    Args:
        first: the first count.
        second: the second count, which was made because the first one differed.

    Examples:
        >>> is_confirmed(RowCounts("time", 5, 4), RowCounts("time", 7, 6))
        True
        >>> is_confirmed(RowCounts("now", 5, 4), RowCounts("now", 7, 6))
        False
    """
    if second.by == "now" and first != second:
        return False
    return not second.same and first.source - first.warehouse == second.source - second.warehouse
