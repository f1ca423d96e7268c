"""Comparison of a captured table with its source: the rows of the current view and the present rows of the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.capture.source import CapturedSource
from onefold.changelog.metadata import DATABASE_NAME, SOURCE_NAME
from onefold.check.typed_rows import read_back, read_typed_rows, selected
from onefold.compare.findings import Comparison
from onefold.compare.rows import compare_rows
from onefold.core.errors import NotFound, Rejected, SchemaConflict
from onefold.core.names import TableId, fold_case, quote_text
from onefold.mysql.catalog import TableName
from onefold.schema.columns import Column
from onefold.settings.environment import Settings
from onefold.views.refresh_current import refresh_current

_MAX_ERROR_LENGTH = 200
"""Characters of an error that are shown in a table."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class SourceComparison:
    """The numbers of rows, and the result of the comparison; or the reason why there is no current view to compare."""

    table: TableName
    base: TableId
    unified_rows: int
    source_rows: int
    keys: tuple[str, ...] = ()
    found: Comparison | None = None
    reason: str = ""

    @property
    def differs(self) -> bool:
        """Whether rows differ; False of a table that was not compared."""
        return self.found is not None and not self.found.same


def compare_with_source(
    warehouse: BigQueryWarehouse, dataset: str, name: str, source: CapturedSource, table: TableName
) -> SourceComparison | None:
    """Bring the views of a table up to date, and compare the current view with the source.

    Args:
        warehouse: the embedded BigQuery.
        dataset: the dataset of the views.
        name: the name of the source in the key of each row.
        source: the source.
        table: the table in the source.

    Returns:
        The comparison; None if the source does not have the table any more.

    Raises:
        TryAgain: the source does not answer.
    """
    read = read_typed_rows(source.connect, table)
    if read is None:
        return None
    versioned, rows = read.version, read.rows
    base = TableId(warehouse.project, dataset, versioned.table)
    tenant = f"{SOURCE_NAME} = {quote_text(name)} AND {DATABASE_NAME} = {quote_text(table.database)}"
    try:
        current = refresh_current(warehouse, base, (), Settings()).id
    except (SchemaConflict, NotFound) as error:
        return SourceComparison(table, base, _landed(warehouse, base, tenant), len(rows), reason=str(error))
    except Rejected as error:
        return SourceComparison(table, base, _landed(warehouse, base, tenant), len(rows), reason=_refusal(error))
    # The current view selects `*`, so its stored columns may be older than those of the unified view it reads.
    unified = warehouse.get_view(Settings().view_of(base))
    shown = {fold_case(column.name): column for column in unified.columns} if unified else {}
    common = [shown[fold_case(column)] for column in versioned.source_names if fold_case(column) in shown]
    items = ", ".join(map(selected, common))
    try:
        landed = warehouse.fetch(f"SELECT {items} FROM {current.quoted} WHERE {tenant}")
    except Rejected as error:
        return SourceComparison(table, base, _landed(warehouse, base, tenant), len(rows), reason=_refusal(error))
    found = compare_rows(read_back(common, landed), _without_new_columns(shown, rows), versioned.primary_key)
    return SourceComparison(table, base, _landed(warehouse, base, tenant), len(rows), versioned.primary_key, found)


def _refusal(error: Rejected) -> str:
    """Return the first line of an error, shortened: the embedded BigQuery lists all its functions in some errors."""
    return f"the embedded BigQuery cannot run the view: {str(error).splitlines()[0][:_MAX_ERROR_LENGTH]}"


def _without_new_columns(shown: Mapping[str, Column], rows: list[Row]) -> list[Row]:
    """Return the rows without new columns that are NULL in every row.

    The view has a new column only after the first change that follows its ALTER.
    """
    names = rows[0].keys() if rows else ()
    known = [name for name in names if fold_case(name) in shown or any(row[name] is not None for row in rows)]
    return [{name: row[name] for name in known} for row in rows]


def _landed(warehouse: BigQueryWarehouse, base: TableId, tenant: str) -> int:
    """Return how many rows of a tenant have ever landed: those of the unified view."""
    view = Settings().view_of(base)
    if warehouse.get_view(view) is None:
        return 0
    (row,) = warehouse.fetch(f"SELECT COUNT(*) AS landed FROM {view.quoted} WHERE {tenant}")
    return int(row["landed"])
