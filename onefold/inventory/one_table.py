"""All about one table: its entry, its versions and columns over time, and its unified view as it has to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from onefold.core.errors import NotFound, OnefoldError
from onefold.core.names import TableId
from onefold.inventory.history import ColumnHistory, VersionHistory, column_histories, version_histories
from onefold.inventory.summary import TableSummary
from onefold.merge.change_tables import read_change_versions
from onefold.ports.listing import StoredSize
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.built_view import BuiltView
from onefold.schema.versions import Version, active_versions
from onefold.settings.environment import Settings
from onefold.views.unified_kind import UnifiedKind


@dataclass(frozen=True)
class TableHistory:
    """A table with its versions and columns over time."""

    summary: TableSummary
    versions: tuple[VersionHistory, ...]
    columns: tuple[ColumnHistory, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of `--json`: that of the table, with its history."""
        history = {
            "versions": [version.as_dict() for version in self.versions],
            "columns": [column.as_dict() for column in self.columns],
        }
        return {**self.summary.as_dict(), "history": history}


def read_history(
    warehouse: BaseWarehouse, summary: TableSummary, settings: Settings, sizes: Mapping[str, StoredSize]
) -> TableHistory:
    """Read the versions of a table, and build its unified view as a refresh would; a few calls more than its entry.

    Args:
        warehouse: where the table is.
        summary: its entry.
        settings: those of the installation.
        sizes: of the tables of the dataset, by name.

    Raises:
        NotFound: the table was dropped in the meantime.
    """
    base, rules = summary.table, settings.rules_for(summary.table)
    found = read_change_versions(warehouse, base, rules.names)
    if not found:
        raise NotFound(f"there is no table {base}")
    problems, view = summary.problems, None
    if summary.versions:
        try:
            view = _unified(warehouse, base, settings, found)
        except OnefoldError as error:
            problems = (*problems, f"the unified view cannot be built: {error}")
    versions = tuple(version_histories(base, found, rules, sizes))
    return TableHistory(replace(summary, problems=problems), versions, tuple(column_histories(found, rules, view)))


def _unified(warehouse: BaseWarehouse, base: TableId, settings: Settings, found: tuple[Version, ...]) -> BuiltView:
    kind = UnifiedKind(warehouse, base, settings)
    return kind.build(found, active_versions(found, settings.rules_for(base)), warehouse.get_view(kind.id))
