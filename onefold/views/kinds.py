"""The kinds of views that a refresh keeps: the unified view, and others over the same versions.

A refresh reads a view with its etag, then the versions, and writes the view only if it is still the one that was read. A
kind says which view that is and what its text has to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from onefold.core.names import TableId
from onefold.ports.warehouse import StoredView, Warehouse
from onefold.schema.diff import SchemaChange
from onefold.schema.versions import Version
from onefold.settings.environment import Settings
from onefold.views.labels import check_owner, fingerprint_of, owner_digest
from onefold.views.limits import build_within_limits
from onefold.views.stored_settings import SettingChange, setting_changes
from onefold.views.unified_view import UnifiedView


class ViewKind(Protocol):
    """A kind of view that a refresh keeps for a table: which view it is, and what its text has to be.

    Attributes:
        outlives_versions: whether a view that exists is written although all versions are retired: what it reads may stay.
    """

    outlives_versions: ClassVar[bool]

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

    def build(self, found: Sequence[Version], versions: Sequence[Version], stored: StoredView | None) -> UnifiedView:
        """Return the view as it has to be.

        Args:
            found: all versions.
            versions: those that are not retired, in their order; at least one.
            stored: the view as it is; None where it does not exist.
        """

    def setting_changes(self, stored: StoredView) -> tuple[SettingChange, ...]:
        """Return the settings with which the view was not written before."""

    def other_changes(self, stored: StoredView | None, view: UnifiedView) -> tuple[SchemaChange, ...]:
        """Return what has to be announced besides the changes of the schema; `stored` is None for a new view."""

    def before_write(self) -> None:
        """Prepare other views that read this one, before it is created or written."""


@dataclass(frozen=True)
class UnifiedKind:
    """The unified view of a table."""

    outlives_versions: ClassVar[bool] = False

    warehouse: Warehouse
    base: TableId
    settings: Settings

    @property
    def id(self) -> TableId:
        return self.settings.view_of(self.base)

    @property
    def owner(self) -> str:
        return owner_digest(str(self.base))

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(self.settings, self.base)

    def check_owner(self, stored: StoredView) -> None:
        check_owner(stored, self.base)

    def is_settled(self, stored: StoredView) -> bool:  # noqa: ARG002 nothing but versions and settings decides this kind
        return True

    def read_versions(self) -> tuple[Version, ...]:
        return self.warehouse.read_versions(self.base, self.settings.names_in(self.base.dataset))

    def build(
        self,
        found: Sequence[Version],  # noqa: ARG002 retired versions do not matter to this kind
        versions: Sequence[Version],
        stored: StoredView | None,
    ) -> UnifiedView:
        reserved, former = (stored.reserved, stored.columns) if stored else (0, ())
        return build_within_limits(self.id, self.base, versions, self.settings.rules_for(self.base), reserved, former)

    def setting_changes(self, stored: StoredView) -> tuple[SettingChange, ...]:
        return setting_changes(stored.query, self.settings.rules_for(self.base))

    def other_changes(
        self,
        stored: StoredView | None,  # noqa: ARG002
        view: UnifiedView,  # noqa: ARG002
    ) -> tuple[SchemaChange, ...]:
        return ()

    def before_write(self) -> None:
        """No view of Onefold reads the unified view."""
