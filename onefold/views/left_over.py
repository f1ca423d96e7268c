"""The current views whose tables are gone."""

from __future__ import annotations

from collections.abc import Collection

from onefold.core.names import TableId
from onefold.merge.base_table import base_table, log_of
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.left_over import ViewNames, left_over_of_kind
from onefold.settings.environment import Settings
from onefold.views.current_kind import current_owner


def left_over_current(
    warehouse: BaseWarehouse, dataset: str, settings: Settings, tables: Collection[str]
) -> tuple[TableId, ...]:
    """Return the base names whose last versioned table was dropped, and whose current view is still there.

    A base that is still there does not keep the view: without the versions it cannot be read.

    Args:
        warehouse: as for `left_over_tables`.
        dataset: as for `left_over_tables`.
        settings: as for `left_over_tables`.
        tables: as for `left_over_tables`.
    """
    names = ViewNames(
        settings.current_name,
        settings.current_view_of,
        current_owner,
        own_tables=lambda table: (base_table(table).table, log_of(table).table),
        of_plain_tables=True,
    )
    found = left_over_of_kind(warehouse, dataset, settings, tables, names)
    return tuple(table for table in found if settings.rules_for(table).current)
