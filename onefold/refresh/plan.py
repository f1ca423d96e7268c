"""The plan of a refresh: what it would do with one view, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from onefold.changes.entry import SettingChange
from onefold.core.names import TableId
from onefold.ports.warehouse import StoredView, ViewDraft
from onefold.refresh.built_view import BuiltView
from onefold.refresh.labels import is_foreign
from onefold.schema.diff import SchemaChange
from onefold.schema.versions import Version

Action = Literal["none", "create", "update", "remove"]


@dataclass(frozen=True)
class ViewPlan:
    """What a refresh would do, and why. `view` is None where no version is left.

    base: the base name of the versioned tables.
    stored: the view as it is; None where it does not exist.
    draft: the view as it has to be written; None where nothing is written.
    changes: how the schema of the view changes.
    """

    base: TableId
    action: Action
    view: BuiltView | None
    stored: StoredView | None
    draft: ViewDraft | None
    changes: tuple[SchemaChange, ...]
    shortcut: bool = False
    """Whether the view was not even computed, because it covers the version that was asked for, or it is retired."""
    warnings: tuple[str, ...] = ()
    """Settings that have no effect, and leaves of an earlier release that could not be removed."""
    unannounced: tuple[str, ...] = ()
    """Announcements that are still to be published: those that the view keeps; after a refresh, those that it keeps now."""
    versions: tuple[Version, ...] = ()
    """All versions that were found, retired ones too; none where the plan is a shortcut or removes the view."""
    change_id: str = ""
    """The identifier of `changes`, where there are any: the same after a write that failed, and of no other change."""
    settings: tuple[SettingChange, ...] = ()
    """Settings with which the view would be written and was not written before."""
    advice: tuple[str, ...] = ()
    """Settings that would change a type that surprises people."""

    @property
    def takes_over(self) -> bool:
        """Whether the plan replaces or removes a view that Onefold did not write."""
        query = self.draft.query if self.draft else None
        return self.action in ("update", "remove") and self.stored is not None and is_foreign(self.stored, query)


TakeOver = Callable[[StoredView], None]
"""Called with a view that Onefold did not write, before the view is replaced or removed; logs the view's text."""
Announce = Callable[[ViewPlan], tuple[str, ...]]
"""Publishes what a plan still has to announce, and the changes that it makes; returns, as JSON, what the topic refused."""
