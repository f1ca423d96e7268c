"""What a use case needs of a warehouse, in the words of this project. `bigquery` is the adapter that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from onefold.core.errors import ViewChanged
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.schema.columns import Column
from onefold.schema.versions import Version


class ViewExists(ViewChanged):
    """Somebody else was faster to create it."""


@dataclass(frozen=True)
class StoredView:
    """A view (or whatever else has its name) as the warehouse has it now."""

    id: TableId
    is_view: bool
    query: str = ""
    columns: tuple[Column, ...] = ()
    description: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    etag: str | None = None
    unfinished: bool = False
    """Whether a write broke off halfway: it has to be written again, even where its text is right."""
    schema: tuple[Any, ...] = field(default=(), repr=False)
    """The columns in the adapter's own form, with the descriptions and policy tags that people put on them."""
    gone: tuple[Any, ...] = field(default=(), repr=False)
    """Columns and fields with policy tags that the view had once and has no more, in the adapter's own form."""
    unannounced: tuple[str, ...] = ()
    """Announcements of schema changes that were not published yet, each as JSON; `{}` where only their number is known."""
    reserved: int = 0
    """Characters that the text of the next write has to leave free, for the notes of policy tags."""
    tags_checked: bool = False
    """Whether `Warehouse.check_tags` has let the next write pass."""


@dataclass(frozen=True)
class ViewDraft:
    """What a view is to be; a label that is not among these is to go."""

    query: str
    description: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[Column, ...] | None = None
    """The columns that the query will have, where they are known before it is written."""
    unannounced: tuple[str, ...] = ()
    """As of `StoredView`: they are kept with the view, as far as its text has room for them."""


class Warehouse(Protocol):
    """Every method is one call to the warehouse unless it says otherwise, and raises TryAgain where trouble may pass."""

    project: str

    @property
    def calls(self) -> int:
        """How many calls this thread has made so far."""

    def get_view(self, id_: TableId) -> StoredView | None: ...

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        """All versioned tables of a base name, in no particular order. Raises NotFound without the dataset."""

    def read_columns(self, id_: TableId) -> tuple[Column, ...] | None:
        """The columns of a table (not a view); None without one."""

    def has_table(self, id_: TableId) -> bool:
        """Whether there is a table (not a view) of that name, and it has columns."""

    def table_created(self, id_: TableId) -> datetime | None:
        """When a table as of `has_table` was created; None without one."""

    def list_bases(self, dataset: str, names: VersionedNames = DEFAULT_NAMES) -> tuple[str, ...]:
        """The base names that have versioned tables; one call per page."""

    def list_tables(self, dataset: str) -> tuple[str, ...]:
        """All tables that are no views; one call per page."""

    def list_views(self, dataset: str) -> tuple[str, ...]:
        """One call per page."""

    def create_view(self, id_: TableId, draft: ViewDraft) -> None:
        """Raises ViewExists where the name is taken, ViewChanged where something that it reads is not there."""

    def check_tags(self, stored: StoredView, draft: ViewDraft) -> StoredView:
        """Prove that `update_view` will keep the policy tags of the view's columns, before anything is written.

        No call where there are no policy tags or the text stays, else up to two. Returns the view as it is afterwards.

        Raises:
            PolicyTagsDenied: the account may not set them.
            SchemaConflict: a new column would have to carry several.
            LimitExceeded: there is no room to note them while the view is written.
            ViewChanged: somebody else wrote the view.
        """

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        """Only if unchanged since it was read and all that it reads is there, else raises ViewChanged.

        One call, and one more where the text changes and people put descriptions or policy tags on columns. Checks policy
        tags as `check_tags` does, where that was not done before.
        """

    def copy_tags(self, stored: StoredView, leaf: TableId) -> None:
        """Put the policy tags of a view, as it is before its write, on the same columns of a leaf view of it.

        No call where the view has none, else up to two. Raises PolicyTagsDenied and ViewChanged as `check_tags`.
        """

    def delete_view(self, id_: TableId) -> None:
        """One that is already gone is no error."""


@dataclass(frozen=True)
class StoredTable:
    """A table as the warehouse has it now; one that was replaced has another time of creation."""

    columns: tuple[Column, ...]
    created: datetime
    clustering: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    """The key that it declares, which the warehouse does not check."""


@dataclass(frozen=True)
class WriteResult:
    """How many rows a statement wrote, and how; None where the warehouse does not tell."""

    rows: int | None = None
    inserted: int | None = None
    updated: int | None = None


class BaseWarehouse(Warehouse, Protocol):
    """What base tables need besides."""

    def read_table(self, id_: TableId) -> StoredTable | None:
        """A table (not a view); None without one."""

    def declared_keys(self, tables: Sequence[TableId]) -> Mapping[TableId, tuple[str, ...]]:
        """Return the keys that tables of one dataset declare; those that declare none are left out. One call."""

    def create_table(
        self,
        id_: TableId,
        columns: Sequence[Column],
        clustering: Sequence[str] = (),
        partition: str | None = None,
        primary_key: Sequence[str] = (),
    ) -> None:
        """An empty table; one that is there already stays as it is.

        Args:
            partition: the column of times by whose day it is partitioned.
            primary_key: the key to declare, which the warehouse does not check; none by default.
        """

    def add_columns(self, id_: TableId, columns: Sequence[Column]) -> None:
        """New columns, NULL in every row; those that are there already stay as they are."""

    def check_query(self, sql: str) -> None:
        """Raises Rejected where the warehouse cannot run a query, NotFound where a table is not there; runs nothing."""

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        """The rows of a query, which may take long."""

    def execute(self, sql: str) -> WriteResult:
        """A statement that writes, which may take long. Raises TryAgain where another one was in its way."""
