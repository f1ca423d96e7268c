"""What the metadata of a dataset tell about tables that other tools wrote: columns, partitions, keys and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from onefold.ports.listing import StoredSize
from onefold.ports.queries import QueryEstimate
from onefold.schema.columns import Column


@dataclass(frozen=True)
class StoredLayout:
    """The columns of a table, and how it is stored.

    Attributes:
        columns: its columns, without pseudo-columns.
        partition: the column by which it is partitioned; `_PARTITIONTIME` where that is the time of ingestion; else empty.
        clustering: the columns by which it is clustered, in their order.
    """

    columns: tuple[Column, ...]
    partition: str = ""
    clustering: tuple[str, ...] = ()


class ExistingWarehouse(Protocol):
    """A warehouse that tells about all tables of a dataset by a fixed number of queries."""

    project: str

    def list_layouts(self, dataset: str) -> Mapping[str, StoredLayout]:
        """Return the layout of each table of a dataset, by name, without views and external tables; one query.

        Raises:
            NotFound: the dataset does not exist.
        """

    def list_keys(self, dataset: str) -> Mapping[str, tuple[str, ...]]:
        """Return the keys that the tables of a dataset declare; a table without one is left out; one query."""

    def list_sizes(self, dataset: str) -> Mapping[str, StoredSize]:
        """Return the size of each table of a dataset; one call and one query.

        Raises:
            AccessDenied: the account may not read the sizes.
        """

    def estimate(self, sql: str) -> QueryEstimate:
        """Return what a query would read; nothing is run.

        Raises:
            Rejected: the query is not valid.
            NotFound: it names a table that does not exist.
        """

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        """Run a query, and return its rows by column."""
