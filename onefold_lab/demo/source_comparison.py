"""Comparison of a captured table with its source: the rows of the current view and the present rows of the source."""

from __future__ import annotations

import base64
import datetime
import json
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pymysql

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.capture.source import CapturedSource
from onefold.changelog.metadata import DATABASE_NAME, SOURCE_NAME
from onefold.compare.findings import Comparison
from onefold.compare.rows import compare_rows
from onefold.core.errors import NotFound, Rejected, SchemaConflict, TryAgain
from onefold.core.names import TableId, fold_case, quote, quote_text
from onefold.landing.table import VersionedTable, versioned_table
from onefold.mysql.catalog import TableName, structure_of
from onefold.mysql.connection import query, quoted, server_reason
from onefold.mysql.snapshot.select_list import read_selected, select_list
from onefold.mysql.table import Structure
from onefold.schema.columns import Column
from onefold.settings.environment import Settings
from onefold.views.refresh_current import refresh_current

# "Server Error Message Reference", https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html:
# ER_BAD_DB_ERROR and ER_NO_SUCH_TABLE.
_NOT_FOUND = (1049, 1146)
_MAX_ERROR_LENGTH = 200
"""Characters of an error that are shown in a table."""
_INTERVAL = re.compile(r"(?:0-0 0 )?(?P<sign>-?)(?P<hours>\d+):(?P<minutes>\d\d?):(?P<seconds>\d\d?(?:\.\d+)?)")

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
    read = read_source(source, table)
    if read is None:
        return None
    versioned, rows = read
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
    items = ", ".join(_item(column) for column in common)
    try:
        landed = warehouse.fetch(f"SELECT {items} FROM {current.quoted} WHERE {tenant}")
    except Rejected as error:
        return SourceComparison(table, base, _landed(warehouse, base, tenant), len(rows), reason=_refusal(error))
    found = compare_rows(_read_back(common, landed), _without_new_columns(shown, rows), versioned.primary_key)
    return SourceComparison(table, base, _landed(warehouse, base, tenant), len(rows), versioned.primary_key, found)


def _refusal(error: Rejected) -> str:
    """Return the first line of an error, shortened: the embedded BigQuery lists all its functions in some errors."""
    return f"the embedded BigQuery cannot run the view: {str(error).splitlines()[0][:_MAX_ERROR_LENGTH]}"


def read_source(source: CapturedSource, table: TableName) -> tuple[VersionedTable, list[Row]] | None:
    """Return the rows of a table of the source with the columns and values that BigQuery's client would return.

    Returns:
        The version of the table and its rows; None if the table does not exist.

    Raises:
        TryAgain: the source does not answer.
    """
    try:
        with closing(source.connect()) as connection:
            query(connection, "START TRANSACTION READ ONLY")
            name = f"{quoted(table.database)}.{quoted(table.table)}"
            query(connection, f"SELECT 1 FROM {name} LIMIT 0")  # locks the structure until the transaction ends
            structure = structure_of(connection, table)
            if structure is None:
                return None
            selected = query(connection, f"SELECT {select_list(structure)} FROM {name}")
    except pymysql.err.MySQLError as error:
        if error.args and error.args[0] in _NOT_FOUND:
            return None
        raise TryAgain(f"{table} cannot be read: {server_reason(error)}") from error
    return _typed(structure, selected)


def _typed(structure: Structure, selected: list[tuple[Any, ...]]) -> tuple[VersionedTable, list[Row]]:
    versioned = versioned_table(structure)
    columns = versioned.columns[: len(structure.columns)]
    reads = [_READS.get(str(column.type), _same) for column in columns]
    rows: list[Row] = [
        {
            column.name: None if value is None else read(value)
            for column, read, value in zip(columns, reads, row, strict=True)
        }
        for row in read_selected(structure, selected).rows
    ]
    return versioned, rows


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


def _item(column: Column) -> str:
    """Return the expression that selects a column; INTERVAL and JSON as text, which the client keeps exactly."""
    name = quote(column.name)
    form = _AS_TEXT.get(str(column.type))
    return f"{form.format(name)} AS {name}" if form else name


def _read_back(columns: list[Column], rows: list[dict[str, Any]]) -> list[Row]:
    reads = {column.name: _READS[str(column.type)] for column in columns if str(column.type) in _AS_TEXT}
    return [
        {name: reads[name](value) if name in reads and value is not None else value for name, value in row.items()}
        for row in rows
    ]


def _same(value: Any) -> Any:
    return value


def _interval(text: str) -> datetime.timedelta:
    match = _INTERVAL.fullmatch(text)
    if not match:
        raise ValueError(f"expected an INTERVAL of hours, minutes and seconds, got {text!r}")
    seconds = Decimal(match["hours"]) * 3600 + Decimal(match["minutes"]) * 60 + Decimal(match["seconds"])
    whole = datetime.timedelta(microseconds=int(seconds * 1_000_000))
    return -whole if match["sign"] else whole


def _json(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


_AS_TEXT = {"INTERVAL": "CAST({} AS STRING)", "JSON": "TO_JSON_STRING({})"}
_READS: Mapping[str, Callable[[Any], Any]] = {
    "NUMERIC": Decimal,
    "BIGNUMERIC": Decimal,
    "BYTES": base64.b64decode,
    "DATE": datetime.date.fromisoformat,
    "DATETIME": datetime.datetime.fromisoformat,
    "TIMESTAMP": datetime.datetime.fromisoformat,
    "INTERVAL": _interval,
    "JSON": _json,
}
"""Functions that convert a landed value to the value that BigQuery's client returns, by type."""
