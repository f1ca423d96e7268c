"""The operations of a warehouse that use cases need. The adapter is `onefold.adapters.bigquery`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from onefold.core.errors import ViewChanged
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.ports.listing import StoredSize
from onefold.schema.columns import Column
from onefold.schema.types import Type
from onefold.schema.versions import Version


class ViewExists(ViewChanged):
    """Another process has already created the view."""


@dataclass(frozen=True)
class StoredView:
    """A view, or a table that has the name of a view, in its present state."""

    id: TableId
    is_view: bool
    query: str = ""
    columns: tuple[Column, ...] = ()
    description: str = ""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """The descriptions of its columns, by name; a column without one is left out."""
    labels: Mapping[str, str] = field(default_factory=dict)
    etag: str | None = None
    unfinished: bool = False
    """True where a write was interrupted: the view has to be written again, even where its text is right."""
    schema: tuple[Any, ...] = field(default=(), repr=False)
    """The columns in the form of the adapter, with the descriptions and policy tags that people added."""
    gone: tuple[Any, ...] = field(default=(), repr=False)
    """Columns and fields with policy tags that the view once had and no longer has, in the form of the adapter."""
    unannounced: tuple[str, ...] = ()
    """Announcements of schema changes that are not published yet, each as JSON; `{}` where only their number is known."""
    reserved: int = 0
    """The number of characters that the text of the next write has to leave free for the notes of policy tags."""
    tags_checked: bool = False
    """True where `Warehouse.check_tags` has accepted the next write."""


@dataclass(frozen=True)
class ViewDraft:
    """The state that a view is to have. A label of the view that is not among `labels` is removed."""

    query: str
    description: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[Column, ...] | None = None
    """The columns that the query will have; None where they are not known before the view is written."""
    unannounced: tuple[str, ...] = ()
    """As in `StoredView`. They are stored with the view, as far as its text has room for them."""


class Warehouse(Protocol):
    """A warehouse of versioned tables and views.

    Every method is one call to the warehouse unless its docstring says otherwise, and raises TryAgain for an error that may
    pass and Rejected for one that a retry does not change.
    """

    project: str

    @property
    def calls(self) -> int:
        """The number of calls that this thread has made so far."""

    def get_view(self, id_: TableId) -> StoredView | None:
        """Return a view, or the table that has its name; None where neither exists."""

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        """Return all versioned tables of a base name, in any order; views and snapshots are not versions.

        Where versions are found by labels, a call lists a page of the dataset, and each version takes another call.

        Raises:
            NotFound: the dataset does not exist.
            SchemaConflict: two tables have the labels of one version.
        """

    def read_columns(self, id_: TableId) -> tuple[Column, ...] | None:
        """Return the columns of a table; None where there is no table of this name, or a view has the name."""

    def has_table(self, id_: TableId) -> bool:
        """Return whether there is a table of this name that has columns; a view is not a table."""

    def table_created(self, id_: TableId) -> datetime | None:
        """Return the time at which a table was created; None where `has_table` is False."""

    def list_bases(self, dataset: str, names: VersionedNames = DEFAULT_NAMES) -> tuple[str, ...]:
        """Return the base names that have versioned tables, each once; one call per page."""

    def list_tables(self, dataset: str) -> tuple[str, ...]:
        """Return the names of all tables of a dataset that are not views; one call per page."""

    def list_labels(self, dataset: str) -> Mapping[str, Mapping[str, str]]:
        """Return the labels of all tables of a dataset that are not views, by their names; one call per page."""

    def list_views(self, dataset: str) -> tuple[str, ...]:
        """Return the names of all views of a dataset; one call per page."""

    def create_view(self, id_: TableId, draft: ViewDraft) -> None:
        """Create a view.

        Raises:
            ViewExists: the name is taken.
            ViewChanged: a table or view that the query reads does not exist.
        """

    def check_tags(self, stored: StoredView, draft: ViewDraft) -> StoredView:
        """Check that `update_view` will keep the policy tags of the view's columns, and return the view as it is afterwards.

        The query of the view is not changed. No call where there are no policy tags or the text stays, else up to two.

        Args:
            stored: the view as it was read.
            draft: the state that the view is to have.

        Raises:
            PolicyTagsDenied: the account may not set the tags.
            SchemaConflict: a new column would have to carry several tags.
            LimitExceeded: the text has no room to note the tags while the view is written.
            ViewChanged: another process wrote the view.
        """

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        """Write a view that was read before. Checks policy tags as `check_tags` does, unless that was done before.

        One call, and one more where the text changes and people have added descriptions or policy tags to columns.

        Args:
            stored: the view as it was read.
            draft: the state that the view is to have.

        Raises:
            ViewChanged: another process wrote the view since it was read, or a table that the query reads does not exist.
        """

    def copy_tags(self, stored: StoredView, leaf: TableId) -> None:
        """Copy the policy tags of a view, as it was read, to the same columns of one of its leaf views.

        No call where the view has no policy tags, else up to two.

        Args:
            stored: the unified view as it was read.
            leaf: the leaf view.

        Raises:
            PolicyTagsDenied: the account may not set the tags.
            ViewChanged: another process wrote the leaf view.
        """

    def delete_view(self, id_: TableId) -> None:
        """Delete a view; a view that does not exist is no error."""


@dataclass(frozen=True)
class StoredTable:
    """A table in its present state; a table that was replaced has another time of creation."""

    columns: tuple[Column, ...]
    created: datetime
    clustering: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    """The key that the table declares, which the warehouse does not check."""
    ingestion_partition: str | None = None
    """How long a partition by the time of arrival is: HOUR, DAY, MONTH or YEAR; None without such partitions."""
    descriptions: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """The names and the descriptions of columns that have one."""


@dataclass(frozen=True)
class WriteResult:
    """The number of rows that a statement wrote, inserted and updated, and of bytes that it processed.

    None where the warehouse does not report a number.
    """

    rows: int | None = None
    inserted: int | None = None
    updated: int | None = None
    bytes: int | None = field(default=None, compare=False)


class BaseWarehouse(Warehouse, Protocol):
    """A warehouse of base tables, too. Its methods raise errors as those of Warehouse do."""

    def read_table(self, id_: TableId) -> StoredTable | None:
        """Return a table; None where there is no table of this name, or a view has the name."""

    def written_at(self, id_: TableId) -> datetime | None:
        """Return when a table was last written; None where that is unknown, or there is no table of this name."""

    def table_size(self, id_: TableId) -> StoredSize | None:
        """Return the size of a table, with an estimate of rows that are being streamed; None where there is no table."""

    def time_travel(self, dataset: str) -> timedelta | None:
        """Return how long the warehouse keeps what was appended to tables of a dataset; None where it keeps nothing."""

    def dataset_problems(self, dataset: str) -> list[str]:
        """Return what keeps tables from being created in a dataset and read, each with its remedy. Creates nothing."""

    def declared_keys(self, tables: Sequence[TableId]) -> Mapping[TableId, tuple[str, ...]]:
        """Return the keys that tables of one dataset declare; a table without a declared key is left out."""

    def column_types(self, dataset: str, column: str) -> Mapping[str, Type]:
        """Return the type of a column in each table of a dataset that has it, by table; views and clones are left out.

        Args:
            dataset: the dataset.
            column: the name of the column in lower case; names are compared without case.
        """

    def create_table(
        self,
        id_: TableId,
        columns: Sequence[Column],
        clustering: Sequence[str] = (),
        partition: str | None = None,
        primary_key: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Create an empty table; a table that exists stays as it is.

        Args:
            id_: the table.
            columns: its columns, in their order.
            clustering: the names of the columns to cluster by, most significant first.
            partition: the DATE or TIMESTAMP column by whose day the table is partitioned; None for no partitions.
            primary_key: the key to declare, which the warehouse does not check; none by default.
            labels: the labels of the table; none by default.
        """

    def add_columns(self, id_: TableId, columns: Sequence[Column]) -> None:
        """Add columns, NULL in every row; a column that exists stays as it is."""

    def check_query(self, sql: str) -> int | None:
        """Check that the warehouse can run a query, without running it, and return the bytes that it would process.

        None where the warehouse does not tell.

        Raises:
            Rejected: the warehouse cannot run the query.
            NotFound: a table of the query does not exist.
        """

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        """Run a query, which may take long, and return its rows by column."""

    def execute(self, sql: str) -> WriteResult:
        """Run a statement that writes, which may take long, and return the numbers of rows.

        Raises:
            TryAgain: another statement wrote the same table at the same time.
        """
