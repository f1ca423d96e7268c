"""What a refresh has to know of a kind of view: which view it is, and what its text has to be.

A refresh reads a view with its etag, then the versions, and writes the view only if it is still the one that was read. A
kind says which view that is and what its text has to be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from onefold.changes.entry import SettingChange
from onefold.core.names import TableId
from onefold.ports.warehouse import StoredView, Warehouse
from onefold.refresh.built_view import BuiltView
from onefold.refresh.plan import Announce
from onefold.schema.diff import SchemaChange
from onefold.schema.versions import Version
from onefold.settings.environment import Settings


class ViewKind(Protocol):
    """A kind of view that a refresh keeps for a table: which view it is, and what its text has to be.

    Attributes:
        outlives_versions: whether a view that exists is written although all versions are retired: what it reads may stay.
    """

    outlives_versions: ClassVar[bool]

    @property
    def warehouse(self) -> Warehouse:
        """Where the tables and the view are."""

    @property
    def base(self) -> TableId:
        """The base name of the versioned tables, or a table without versions."""

    @property
    def settings(self) -> Settings:
        """Those of the installation."""

    @property
    def id(self) -> TableId:
        """The name of the view."""

    @property
    def owner(self) -> str:
        """The value of the label that says to whom the view belongs."""

    @property
    def fingerprint(self) -> str:
        """A digest of all settings that decide the text of the view."""

    def check_owner(self, stored: StoredView) -> None:
        """Check that a refresh may write the view.

        Raises:
            ViewNameTaken: the name belongs to something else.
        """

    def is_settled(self, stored: StoredView) -> bool:
        """Return whether a view that covers all versions stays as it is until there is another version or setting."""

    def read_versions(self) -> tuple[Version, ...]:
        """Return the versions of the table as they are now."""

    def build(self, found: Sequence[Version], versions: Sequence[Version], stored: StoredView | None) -> BuiltView:
        """Return the view as it has to be.

        Args:
            found: all versions.
            versions: those that are not retired, in their order; at least one.
            stored: the view as it is; None where it does not exist.
        """

    def setting_changes(self, stored: StoredView) -> tuple[SettingChange, ...]:
        """Return the settings with which the view was not written before."""

    def other_changes(self, stored: StoredView | None, view: BuiltView) -> tuple[SchemaChange, ...]:
        """Return what has to be announced besides the changes of the schema; `stored` is None for a new view."""

    def before_write(self) -> None:
        """Prepare other views that read this one, before it is created or written."""

    def warnings(self, query: str) -> tuple[str, ...]:
        """Return the warnings about a view of this kind with such a text."""


Record = Callable[[ViewKind], Announce | None]
"""Returns what records the changes of a kind of view in the ledger, before it is written; None where nothing is recorded."""
