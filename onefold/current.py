"""The latest state of a change table as SQL: the second of the two joins, rows with rows.

Of the changes of a key the one with the greatest position wins; a deletion is a change like any other, and the view that
people read leaves the keys out whose winner is a deletion.
"""

from __future__ import annotations

from collections.abc import Sequence

from onefold.changelog import METADATA, check_change_table, is_deletion, position_of
from onefold.names import TableId, fold_case, quote
from onefold.versions import Column


def current_query(changes: TableId, columns: Sequence[Column], keys: Sequence[str]) -> str:
    """The latest row of each key, in the source's columns. Keys that are NULL are one key, as in GROUP BY.

    Args:
        changes: a change table, or the unified view over the versions of one.
        columns: its columns, metadata included.
        keys: the columns whose values identify a row of the source.

    Raises:
        SchemaConflict: all that keeps the table from having a latest state.
    """
    check_change_table(str(changes), columns, keys)
    by_key = ", ".join(f"c.{quote(key)}" for key in keys)
    rank = quote(_free_name("_rank", columns))
    return (
        f"SELECT w.* EXCEPT ({quote(METADATA)}, {rank})\n"
        "FROM (\n"
        f"  SELECT c.*, ROW_NUMBER() OVER (PARTITION BY {by_key} ORDER BY {position_of('c', columns)} DESC) AS {rank}\n"
        f"  FROM {changes.quoted} AS c\n"
        ") AS w\n"
        f"WHERE w.{rank} = 1 AND NOT {is_deletion('w')}"
    )


def _free_name(name: str, columns: Sequence[Column]) -> str:
    """The name, longer by as many underscores as it takes to be no column's."""
    taken = {fold_case(column.name) for column in columns}
    while name in taken:
        name += "_"
    return name
