"""The clean view as a kind of view that a refresh keeps: over the current view, by the policies of the settings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from onefold.changes.entry import SettingChange
from onefold.core.errors import (
    LimitExceeded,
    NoCleanViews,
    NoCurrentView,
    NotFound,
    SchemaConflict,
    SettingsChanged,
    ViewNameTaken,
)
from onefold.core.names import TableId, fold_case
from onefold.ports.warehouse import BaseWarehouse, StoredView
from onefold.refresh.built_view import BuiltView
from onefold.refresh.labels import LABEL, TABLE_LABEL, owner_digest
from onefold.refresh.landed_note import all_landed, landed_note
from onefold.refresh.stored_settings import settings_comment
from onefold.refresh.tables_read import COVERS, covered_versions
from onefold.schema.bigquery import MAX_TEXT
from onefold.schema.column_policy import ColumnPolicies
from onefold.schema.diff import SchemaChange, column_undecided
from onefold.schema.treatment import treat
from onefold.schema.versions import Version
from onefold.settings.environment import Settings
from onefold.views.clean import RENDERER, clean_columns, clean_query, clean_warnings, closed_query, waiting_columns
from onefold.views.table_policies import gone_tenants, is_of_tool, table_policies
from onefold.views.tool_rows import tool_versions
from onefold.views.united_tools import check_no_tool

_OTHER_POLICIES = SettingChange("policies", "those of the view", "those of the settings")


@dataclass(frozen=True)
class CleanKind:
    """The clean view of a table.

    Attributes:
        warehouse: where the tables are.
        base: the base name of the versioned tables.
        settings: those of the installation.
        closing: whether a clean view that exists is closed where there is no current view, instead of staying as it is.
            Without policies it is closed in any case, and where it reads something else than the current view.
        refused: whether the warehouse refused the view over the current view as it is. Then a view that exists is closed.
    """

    outlives_versions: ClassVar[bool] = True

    warehouse: BaseWarehouse
    base: TableId
    settings: Settings
    closing: bool = False
    refused: bool = False

    @property
    def id(self) -> TableId:
        return self.settings.clean_view_of(self.base)

    @property
    def source(self) -> TableId:
        """The view that is read."""
        return self.settings.current_view_of(self.base)

    @property
    def owner(self) -> str:
        return owner_digest(f"{self.base} clean")

    @property
    def fingerprint(self) -> str:
        return self._fingerprint_of(RENDERER)

    def _fingerprint_of(self, renderer: int) -> str:
        every = self.settings.policies or ColumnPolicies()
        # Which tables a united one is of is not known here.
        policies = every if self.settings.rules_for(self.base).of_united else every.of_table(self.base)
        rules = sorted((rule.table, rule.column, rule.action) for rule in policies.rules)
        retired = sorted(self.settings.rules_for(self.base).retired)
        return hashlib.sha256(repr((renderer, self.base, self.source, rules, retired)).encode()).hexdigest()[:16]

    def is_ours(self, stored: StoredView) -> bool:
        """Return whether Onefold wrote a view as the clean view of this table."""
        return stored.is_view and stored.labels.get(TABLE_LABEL) == self.owner

    def check_owner(self, stored: StoredView) -> None:
        if not self.is_ours(stored):
            raise ViewNameTaken(f"{stored.id} was not written as the clean view of {self.base}: rename it")

    def is_settled(self, stored: StoredView) -> bool:  # noqa: ARG002 a message comes here after the current view
        return True

    def read_versions(self) -> tuple[Version, ...]:
        if is_of_tool(self.settings, self.base):
            return tool_versions(self.warehouse, self.base, self.settings)
        if self.settings.plain_table(self.base):
            stored = self.warehouse.read_columns(self.base)
            return (Version("", stored),) if stored else ()
        return self.warehouse.read_versions(self.base, self.settings.names_in(self.base.dataset))

    def build(
        self,
        found: Sequence[Version],
        versions: Sequence[Version],  # noqa: ARG002 the base may hold rows of versions that are retired
        stored: StoredView | None,
    ) -> BuiltView:
        """Return the view as it has to be.

        Raises:
            NoCurrentView: there is no view to read.
            NoCleanViews: the dataset of clean views does not exist.
            SettingsChanged: a person's command would write the view with other policies.
            SchemaConflict: the policies drop every column. A view that exists is closed: former policies showed some.
            LimitExceeded: the text is too long. A view that exists is closed, too.
        """
        if stored is None:
            self._check_dataset()
        source = self.warehouse.get_view(self.source)
        if source is None or not source.is_view:
            return self._without_source(stored)
        self._check_policies(stored)
        if self.refused and stored:
            reason = f"{self.source} cannot be read as it is: `onefold refresh` writes it, and this view again"
            return self._closed(stored, reason)
        try:
            return self._over(source, found, stored)
        except (SchemaConflict, LimitExceeded) as error:
            if stored is None:
                raise
            return self._closed(stored, str(error))

    def _over(self, source: StoredView, found: Sequence[Version], stored: StoredView | None) -> BuiltView:
        """Return the view over a current view.

        Raises:
            SchemaConflict: the policies drop every column, or the current view of a united table shows one of another tool.
            LimitExceeded: the text is too long.
        """
        covered = sorted(covered_versions(source.query, self.base.table, self.settings.names_in(self.base.dataset)))
        if self.settings.rules_for(self.base).of_united:  # an earlier release wrote such views
            check_no_tool(self.base, [version for version in found if version.id in covered], self.settings)
        landed = all_landed(source.columns, [version.columns for version in found], stored.query if stored else "")
        gone = gone_tenants(self.warehouse, self.settings, self.base, found, [column.name for column in source.columns])
        policies = table_policies(self.settings, self.base, [*found, *gone])
        treatments = [treat(column, landed[fold_case(column.name)], policies) for column in source.columns]
        head = settings_comment(self.settings.rules_for(self.base))
        # A version is noted only if the view that is read has it, so that no message about it takes a shortcut before that.
        noted = f"{COVERS}{' '.join(covered)}\n" if covered else ""
        query = (
            head
            + noted
            + landed_note(source.columns, landed)
            + clean_query(self.source, treatments, self.settings.key_table_of(self.base))
        )
        if len(query) + (stored.reserved if stored else 0) > MAX_TEXT:
            raise LimitExceeded(f"{self.id}: its text takes {len(query)} of {MAX_TEXT} characters: drop some of its columns")
        return BuiltView(self.id, clean_columns(treatments), tuple(covered), (), "spelled", query)

    def _without_source(self, stored: StoredView | None) -> BuiltView:
        """Return the clean view without a current view.

        Raises:
            NoCurrentView: there is no clean view to close, or it is to stay as it is.
            SettingsChanged: as `build`.
        """
        # A view that reads something else, such as the current view of former settings, would show by former policies.
        reads_it = stored is not None and self.source.quoted in stored.query
        if stored is None or (reads_it and not self.closing and self.settings.policies is not None):
            raise NoCurrentView(f"{self.base} gets no clean view: the view {self.source} does not exist")
        self._check_policies(stored)
        return self._closed(stored, f"{self.source} does not exist: `onefold refresh` writes it, and this view again")

    def _closed(self, stored: StoredView, reason: str) -> BuiltView:
        query = closed_query(stored.columns, stored.query, reason)
        return BuiltView(self.id, stored.columns, (), (), "spelled", query)

    def setting_changes(self, stored: StoredView) -> tuple[SettingChange, ...]:
        # A view that an earlier release wrote by the same policies has another fingerprint, and no other policies.
        same = {self._fingerprint_of(renderer) for renderer in range(1, RENDERER + 1)}
        return () if stored.labels.get(LABEL) in same else (_OTHER_POLICIES,)

    def other_changes(self, stored: StoredView | None, view: BuiltView) -> tuple[SchemaChange, ...]:
        before = waiting_columns(stored.query) if stored else ()
        return tuple(column_undecided(path) for path in waiting_columns(view.query) if path not in before)

    def warnings(self, query: str) -> tuple[str, ...]:
        return clean_warnings(query)

    def before_write(self) -> None:
        """Nothing reads a clean view."""

    def _check_dataset(self) -> None:
        """Check that there is a dataset for the view.

        Raises:
            NoCleanViews: there is none, so that nobody wants clean views of this dataset yet.
        """
        try:
            self.warehouse.list_views(self.id.dataset or "")
        except NotFound as error:
            advice = "create it with the variable clean_views of infra/, or by hand in the location of the tables"
            raise NoCleanViews(
                f"{self.base} gets no clean view: dataset {self.id.dataset} does not exist: {advice}"
            ) from error

    def _check_policies(self, stored: StoredView | None) -> None:
        """Check that a person's command has the policies of the deployment: with others it could show what is hidden.

        Raises:
            SettingsChanged: it has not.
        """
        if stored and self.settings.keep_view_settings and self.setting_changes(stored):
            raise SettingsChanged(
                f"{stored.id} was written with other policies: name the deployment's onefold.yaml with --config, or accept "
                "these policies with --accept-settings"
            )
