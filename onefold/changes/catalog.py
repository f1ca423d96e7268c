"""The tables and views that queries may read, with their columns, and how a name in a query finds them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from onefold.core.names import fold_case
from onefold.ports.query_texts import TableKey


@dataclass(frozen=True)
class Named:
    """The tables that a name in a query stands for.

    Attributes:
        tables: none where the name is unknown; more than one where it is a wildcard, or ambiguous.
        certain: whether the query reads all of them, wherever it reads one.
    """

    tables: tuple[TableKey, ...] = ()
    certain: bool = True


@dataclass(frozen=True)
class Catalog:
    """The tables and views of a project.

    Attributes:
        project: the project. A table of another project is unknown.
        columns: the columns of each table and view, as they are spelled.
        views: the text of each view that somebody else than Onefold wrote: who reads it reads what is behind it.
    """

    project: str
    columns: Mapping[TableKey, tuple[str, ...]]
    views: Mapping[TableKey, str] = field(default_factory=dict)

    def spelled(self, table: TableKey, column: str) -> str | None:
        """Return a column as the table spells it; None where the table has no such column."""
        return self._spellings.get(table, {}).get(fold_case(column))

    def find(self, project: str, dataset: str, name: str, referenced: Collection[TableKey] = ()) -> Named:
        """Return the tables that a name stands for.

        Args:
            project: empty where the query names none.
            dataset: empty where the query relies on a default dataset, which the log of jobs does not have.
            name: the last part of the name, which may end in `*`.
            referenced: the tables that the job has referenced, which tell the default dataset.

        Examples:
            >>> known = Catalog("p", {("shop", "t"): ("id",), ("crm", "t"): ("id",)})
            >>> known.find("p", "shop", "t").tables, known.find("q", "shop", "t").tables
            ((('shop', 't'),), ())
            >>> known.find("", "", "t"), known.find("", "", "t", {("crm", "t")})
            (Named(tables=(('shop', 't'), ('crm', 't')), certain=False), Named(tables=(('crm', 't'),), certain=True))
        """
        if project and project != self.project:
            return Named()
        if not dataset:
            return self._of_default(name, referenced)
        if name.endswith("*"):
            return Named(tuple(self._matching(dataset, name)), certain=False)
        return Named(((dataset, name),) if (dataset, name) in self.columns else ())

    def _of_default(self, name: str, referenced: Collection[TableKey]) -> Named:
        found = tuple(key for key in self.columns if key[1] == name)
        chosen = tuple(key for key in found if key in referenced)
        return Named(chosen or found, certain=len(chosen or found) == 1)

    def _matching(self, dataset: str, pattern: str) -> Iterator[TableKey]:
        return (key for key in self.columns if key[0] == dataset and fnmatchcase(key[1], pattern))

    @cached_property
    def _spellings(self) -> Mapping[TableKey, Mapping[str, str]]:
        return {table: {fold_case(name): name for name in names} for table, names in self.columns.items()}
