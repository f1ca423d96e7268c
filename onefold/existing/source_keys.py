"""The tables of the source that a tool copies: which table is whose copy, and the keys that only the source declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from onefold.core.names import fold_case
from onefold.existing.discover import DatasetTables


@dataclass(frozen=True)
class SourceTables:
    """The tables of one database of a source.

    Attributes:
        database: its name.
        keys: the primary key of each table, by name; empty for a table without one.
    """

    database: str
    keys: Mapping[str, tuple[str, ...]]

    def source_of(self, name: str) -> str | None:
        """Return the table of the source that a table of the dataset is a copy of; None where no name fits.

        A stream that writes all schemas into one dataset puts the schema before the name; most tools write in lower case.

        Examples:
            >>> shop = SourceTables("shop", {"Orders": ("id",)})
            >>> shop.source_of("orders"), shop.source_of("shop_orders"), shop.source_of("visits")
            ('Orders', 'Orders', None)
        """
        folded = {fold_case(table): table for table in self.keys}
        if name in self.keys:
            return name
        return folded.get(fold_case(name)) or folded.get(fold_case(name).removeprefix(f"{fold_case(self.database)}_"))


def with_source_keys(listed: DatasetTables, source: SourceTables) -> DatasetTables:
    """Return the tables with the keys of the source, where neither onefold.yaml nor BigQuery declares one.

    A key of which a column is not in the table is not taken.
    """
    found = {}
    for name, table in listed.tables.items():
        key = source.keys.get(source.source_of(name) or "", ())
        found[name] = replace(table, key=table.present(*key)) if key and not table.key and table.has(*key) else table
    return replace(listed, tables=found)
