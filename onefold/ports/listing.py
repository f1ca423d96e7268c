"""What the metadata of a dataset tell about all of its tables at once, as `onefold tables` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from onefold.schema.types import Type


@dataclass(frozen=True)
class ListedTable:
    """A table or a view of a dataset.

    Attributes:
        name: its name.
        is_view: whether it is a view.
        created: when it was created.
        labels: its labels.
        reads: of a view, the names of the tables and views that its text reads, in its own dataset or in others.
        notes: of a view, the versions that its text notes in a comment.
    """

    name: str
    is_view: bool
    created: datetime
    labels: Mapping[str, str] = field(default_factory=dict)
    reads: frozenset[str] = frozenset()
    notes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class StoredSize:
    """The size of a table.

    Attributes:
        rows: the number of its rows.
        size: its logical bytes; None where the warehouse does not tell.
        written_at: when it was last written; None where that is unknown.
        expires: whether its partitions expire, so that rows may be gone.
    """

    rows: int
    size: int | None = None
    written_at: datetime | None = None
    expires: bool = False


class ListingWarehouse(Protocol):
    """A warehouse that tells about all tables of a dataset by a fixed number of calls, however many there are."""

    project: str

    def list_dataset(self, dataset: str) -> tuple[ListedTable, ...]:
        """Return all tables and views of a dataset; one query.

        Raises:
            NotFound: the dataset does not exist.
        """

    def list_sizes(self, dataset: str) -> Mapping[str, StoredSize]:
        """Return the size of each table of a dataset, by its name; one call for the dataset, and one query.

        Raises:
            NotFound: the dataset does not exist.
            AccessDenied: the account may not read the sizes.
        """

    def column_types(self, dataset: str, column: str) -> Mapping[str, Type]:
        """Return the type of a column in each table of a dataset that has it, as `BaseWarehouse` does; one query."""

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        """Run a query, and return its rows by column."""
