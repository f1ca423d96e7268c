"""The current views whose tables are gone, in the dataset of the tables or in that of the bases of plain change tables."""

from __future__ import annotations

from collections.abc import Collection

from onefold.core.errors import AccessDenied
from onefold.core.names import TableId
from onefold.merge.base_table import base_table, log_of
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.left_over import ViewNames, belongs_to, left_over_of_kind
from onefold.schema.plain_table import PlainTable
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


def with_gone_plain(warehouse: BaseWarehouse, dataset: str, settings: Settings, tables: Collection[str]) -> Settings:
    """Return the settings with the plain change tables that are gone, and whose current view is still there.

    Args:
        warehouse: as for `left_over_tables`.
        dataset: the dataset of the tables.
        settings: those that know the plain change tables that are there.
        tables: as for `left_over_tables`.
    """
    own = settings.plain_dataset.format(dataset=dataset)
    if own == dataset or settings.current_view_of(TableId(warehouse.project, dataset, "table")).dataset != dataset:
        return settings

    def view_of(table: TableId) -> TableId:
        return TableId(table.project, own, settings.current_view_of(table).table)

    names = ViewNames(settings.current_name, view_of, current_owner, of_plain_tables=True)
    try:
        gone = left_over_of_kind(warehouse, dataset, settings, tables, names)
    except AccessDenied:  # BigQuery's answer for a dataset that does not exist, to an account without rights
        return settings
    known = settings.with_plain(dataset, {table.table: PlainTable("changes", own) for table in gone})
    # Only a table that a tool wrote can have a unified view as well.
    united = [table for table in gone if belongs_to(warehouse.get_view(known.view_of(table)), table)]
    return known.with_plain(dataset, {table.table: PlainTable("tool", own) for table in united})
