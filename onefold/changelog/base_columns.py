"""The name of a base table, and the columns that only a base table has."""

from __future__ import annotations

from onefold.core.names import TableId

POSITION, DELETED = "_position", "_deleted"
PACKED = "_packed_position"
"""The position as bytes (`onefold.changelog.packed_position`): what a base has in place of the text since it was made, or
written anew, by a release that packs positions."""


def base_table(table: TableId) -> TableId:
    """Return the name of the base of a table.

    Examples:
        >>> base_table(TableId("p", "shop", "customer")).table
        'customer_base'
    """
    return table.sibling(f"{table.table}_base")
