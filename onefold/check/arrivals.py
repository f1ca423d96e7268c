"""Whether changes of a captured table have landed between two moments.

The source and the view cannot be read at one moment. But of a row of which no change lands from before both are read until
the time to settle has passed behind them, everything has landed that the source had committed when it was read: the view had
its last state all the time. So a difference of such a row is real, also where other rows change all the time. What a row has
as values says less: one that goes back and forth has the same ones again. A change that is delivered again is nothing new:
changes are counted by key and position, so that no duplicate hides a wrong row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

from onefold.changelog.metadata import LANDED_AT, METADATA, SOURCE_NAME
from onefold.check.join import mark_of
from onefold.check.request import CheckedTable
from onefold.core.names import TableId, quote_text, time_literal
from onefold.core.versioned_names import VersionedNames
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.versions import Version, table_of

Landed = Mapping[str | None, int]
"""How many different changes have landed, by the mark of their key; those of None are counted together."""
_RECENT = timedelta(days=1)
"""Changes that landed so long before a check are not counted: far above the time of a check, and differences of clocks."""


@dataclass(frozen=True)
class Arrivals:
    """Counts the changes that have landed in the version tables of captured tables.

    Attributes:
        warehouse: where the tables are.
        names_in: returns the naming of versioned tables in a dataset.
    """

    warehouse: BaseWarehouse
    names_in: Callable[[str | None], VersionedNames]

    def watches(self, table: CheckedTable) -> bool:
        """Return whether changes of a table can be counted: a plain one may have one row for each key, whatever happens."""
        return table.request.captured is not None and table.plain is None

    def of_table(self, table: CheckedTable) -> Landed:
        """Return how many changes of a table have landed lately."""
        return self._landed(table, None)

    def of_rows(self, table: CheckedTable, marks: Collection[str]) -> Landed:
        """Return how many changes of some rows have landed lately, and of all rows in versions with another key.

        Args:
            table: the table.
            marks: the digests of the rows' keys.
        """
        return self._landed(table, marks)

    def _landed(self, table: CheckedTable, marks: Collection[str] | None) -> Landed:
        names = self.names_in(table.base.dataset)
        versions = self.warehouse.read_versions(table.base, names)
        parts = [_rows(table, table_of(table.base, one, names), one, by_key=marks is not None) for one in versions]
        if not parts:
            return {}
        wanted = f" OR c.mark IN ({', '.join(map(quote_text, sorted(marks)))})" if marks else ""
        changes = "\nUNION ALL\n".join(parts)
        found = self.warehouse.fetch(
            f"SELECT c.mark AS mark, COUNT(DISTINCT c.change) AS n\nFROM (\n{changes}\n) AS c\n"
            f"WHERE c.mark IS NULL{wanted}\nGROUP BY mark"
        )
        return {row["mark"]: row["n"] for row in found}


def moved(before: Landed, after: Landed, marks: Collection[str]) -> frozenset[str]:
    """Return the marks of the rows of which a change may have landed between two counts.

    Args:
        before: the first count.
        after: the second one, of the same rows.
        marks: the digests of the rows' keys.

    Examples:
        >>> sorted(moved({"a": 1, "b": 1}, {"a": 1, "b": 3, "c": 1}, ["a", "b", "c"])), moved({None: 1}, {None: 2}, ["a"])
        (['b', 'c'], frozenset({'a'}))
    """
    is_other = before.get(None) != after.get(None)
    return frozenset(mark for mark in marks if is_other or before.get(mark) != after.get(mark))


def _rows(table: CheckedTable, id_: TableId, version: Version, *, by_key: bool) -> str:
    keys = ((version.schema.get(one.landed.name), one.landed) for one in table.key_columns)
    is_same_key = all(found is not None and found.type == landed.type for found, landed in keys)
    key = mark_of(table, "v", landed=True) if is_same_key else ""
    # The metadata has the position, which all rows of a copied chunk share. With another key, each delivery counts.
    change = f"CONCAT({key}, TO_JSON_STRING(v.{METADATA}))" if key and version.schema.has(METADATA) else "GENERATE_UUID()"
    mark = key if key and by_key else "CAST(NULL AS STRING)"
    conditions = [table.tenant] if version.schema.has(SOURCE_NAME) else []
    if version.schema.has(LANDED_AT):
        conditions.append(f"v.{LANDED_AT} >= {time_literal(table.request.at - _RECENT)}")
    return f"SELECT {mark} AS mark, {change} AS change FROM {id_.quoted} AS v WHERE {' AND '.join(conditions) or 'TRUE'}"
