"""The unified view as a kind of view that a refresh keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from onefold.changes.entry import SettingChange
from onefold.core.names import TableId
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.refresh.built_view import BuiltView
from onefold.refresh.labels import check_owner, fingerprint_of, owner_digest
from onefold.refresh.stored_settings import setting_changes
from onefold.schema.diff import SchemaChange
from onefold.schema.versions import Version
from onefold.settings.environment import Settings
from onefold.views.under_contract import UnderContract
from onefold.views.within_limits import build_within_limits


@dataclass(frozen=True)
class UnifiedKind(UnderContract):
    """The unified view of a table."""

    outlives_versions: ClassVar[bool] = False

    warehouse: BaseWarehouse
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

    def build_full(
        self,
        found: Sequence[Version],  # noqa: ARG002 retired versions do not matter to this kind
        versions: Sequence[Version],
        stored: StoredView | None,
    ) -> BuiltView:
        """Return the view without the contract of the table."""
        reserved, former = (stored.reserved, stored.columns) if stored else (0, ())
        return build_within_limits(self.id, self.base, versions, self.settings.rules_for(self.base), reserved, former)

    def setting_changes(self, stored: StoredView) -> tuple[SettingChange, ...]:
        return setting_changes(stored.query, self.settings.rules_for(self.base))

    def other_changes(
        self,
        stored: StoredView | None,  # noqa: ARG002
        view: BuiltView,  # noqa: ARG002
    ) -> tuple[SchemaChange, ...]:
        return ()

    def warnings(self, query: str) -> tuple[str, ...]:  # noqa: ARG002 the text holds none
        return ()

    def before_write(self) -> None:
        """No view of Onefold reads the unified view."""
