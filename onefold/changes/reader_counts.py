"""Who reads each column: readers by kind, and how many, as one run of the daily job has found them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, get_args

from onefold.core.names import fold_case
from onefold.core.text import counted

ReaderKind = Literal["view", "scheduled query", "dashboard", "service account", "person"]
KINDS: tuple[ReaderKind, ...] = get_args(ReaderKind)
"""In the order in which they are shown."""


@dataclass(frozen=True)
class ColumnReaders:
    """The readers of one kind of a column. Nothing says who they are.

    Attributes:
        dataset: the dataset of the table or view.
        table: its name.
        column: the column.
        kind: what the readers are.
        readers: how many different ones there are.
        certain: how many of them read it for certain; the others read it perhaps.
        jobs: the queries of the last days in which they read it; 0 for views.
        incomplete: how many of these name so many tables that BigQuery does not list all of them.
        last_read_at: the time of the last of these queries.
    """

    dataset: str
    table: str
    column: str
    kind: ReaderKind
    readers: int
    certain: int = 0
    jobs: int = 0
    incomplete: int = 0
    last_read_at: datetime | None = None

    @property
    def text(self) -> str:
        """The readers in words.

        Examples:
            >>> ColumnReaders("shop", "t", "id", "person", 3, certain=1, jobs=40).text
            '3 persons (2 of them maybe)'
            >>> ColumnReaders("shop", "t", "id", "scheduled query", 1).text
            '1 scheduled query (maybe)'
        """
        number = counted(self.readers, self.kind) if self.readers == 1 else f"{self.readers:,} {_PLURALS[self.kind]}"
        if self.certain == self.readers:
            return number
        return f"{number} (maybe)" if not self.certain else f"{number} ({self.readers - self.certain:,} of them maybe)"

    def as_dict(self) -> dict[str, Any]:
        """Return the readers for JSON."""
        at = self.last_read_at.isoformat() if self.last_read_at else None
        return {**vars(self), "last_read_at": at}

    def as_count(self) -> dict[str, Any]:
        """Return how many readers there are, for JSON of a change."""
        return {name: getattr(self, name) for name in ("dataset", "table", "column", "kind", "readers", "certain")}


_PLURALS: Mapping[ReaderKind, str] = {
    "view": "views",
    "scheduled query": "scheduled queries",
    "dashboard": "dashboards",
    "service account": "service accounts",
    "person": "persons",
}


@dataclass(frozen=True)
class KnownReaders:
    """What the newest run has found.

    Attributes:
        collected_at: the time of the run; None where there was none.
        rows: the readers of each column, by kind.
        days: how many days of the log of jobs it has read.
        incomplete: the jobs that reference so many tables that BigQuery does not list all of them.
        unparsed: the texts that could not be understood.
    """

    collected_at: datetime | None = None
    rows: tuple[ColumnReaders, ...] = ()
    days: int = 0
    incomplete: int = 0
    unparsed: int = 0

    def readers_of(self, dataset: str, table: str, column: str = "") -> tuple[ColumnReaders, ...]:
        """Return the readers of a column by kind; without a column, those of each column of the table or view.

        Args:
            dataset: the dataset of the table or view.
            table: its name, as that of a unified or current view.
            column: a column, or a field as `address.street`, which is read with its column.

        Examples:
            >>> row = ColumnReaders("shop", "t", "Address", "person", 2, certain=2)
            >>> KnownReaders(rows=(row,)).readers_of("shop", "t", "address.street") == (row,)
            True
        """
        name = fold_case(column.partition(".")[0])
        return tuple(one for one in self._by_table.get((dataset, table), ()) if not name or fold_case(one.column) == name)

    def summary(self, dataset: str, table: str, column: str) -> str:
        """Return the readers of a column as one line for a message; empty where nobody is known to read it.

        Examples:
            >>> rows = (ColumnReaders("shop", "t", "id", "view", 1, 1), ColumnReaders("shop", "t", "id", "person", 2, 2))
            >>> KnownReaders(rows=rows).summary("shop", "t", "id")
            '1 view, 2 persons'
        """
        return ", ".join(one.text for one in self.readers_of(dataset, table, column))

    @cached_property
    def _by_table(self) -> Mapping[tuple[str, str], tuple[ColumnReaders, ...]]:
        found: dict[tuple[str, str], list[ColumnReaders]] = {}
        for one in sorted(self.rows, key=lambda row: (row.column, KINDS.index(row.kind))):
            found.setdefault((one.dataset, one.table), []).append(one)
        return {table: tuple(rows) for table, rows in found.items()}


NOBODY = KnownReaders()
"""Where no run has looked for readers."""
