"""Rows within rows: a column of STRUCTs that are rows of another table, such as the contexts of an event."""

from __future__ import annotations

from dataclasses import dataclass

from onefold.core.names import TableId, quote
from onefold.schema.columns import Column

ITEM = "i"
"""The alias of a STRUCT of an array, in every expression of SQL about it."""


@dataclass(frozen=True)
class NestedRows:
    """A column of a table whose STRUCTs are rows of a table of their own.

    Attributes:
        column: the name of the column, which is the version of these rows.
        repeated: whether each row has an array of STRUCTs; otherwise it has one, or NULL.
        values: the columns of the rows, each with its expression over a row `r`, and over a STRUCT `i` of an array.
    """

    column: str
    repeated: bool
    values: tuple[tuple[Column, str], ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the rows."""
        return tuple(column for column, _ in self.values)

    def rows(self, table: TableId) -> str:
        """Return an item of FROM with the rows: one for each STRUCT that is not NULL.

        Args:
            table: the full name of the table.

        Examples:
            >>> from onefold.schema.types import STRING
            >>> part = NestedRows("contexts_com_acme_page_1", True, ((Column("path", STRING), "i.`path`"),))
            >>> print(part.rows(TableId(None, "atomic", "events")))
            (
              SELECT
                i.`path` AS `path`
              FROM `atomic.events` AS r, UNNEST(r.`contexts_com_acme_page_1`) AS i
            )
        """
        items = ",\n    ".join(f"{sql} AS {quote(column.name)}" for column, sql in self.values)
        place = f"r.{quote(self.column)}"
        where = f", UNNEST({place}) AS {ITEM}" if self.repeated else f"\n  WHERE {place} IS NOT NULL"
        return f"(\n  SELECT\n    {items}\n  FROM {table.quoted} AS r{where}\n)"
