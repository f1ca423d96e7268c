"""Airbyte: tables of direct loads, and the typed tables of releases before 3.0 of its BigQuery destination.

Sources: Airbyte, "Airbyte metadata fields", https://docs.airbyte.com/understanding-airbyte/airbyte-metadata-fields;
"Change Data Capture (CDC)", https://docs.airbyte.com/understanding-airbyte/cdc; airbytehq/airbyte, destination-bigquery,
BigqueryDirectLoadSqlTableOperations, clusteringColumns (a table that is deduplicated is clustered by the first three
columns of its key, then by _airbyte_extracted_at; any other one by _airbyte_extracted_at alone), 2026-11.
"""

from __future__ import annotations

from onefold.existing.table import ExistingTable, Recognised, Term, by_number_in_text, by_value, column, key_of
from onefold.existing.tool import Tool

_TOOL = "Airbyte"
_AT = "_airbyte_extracted_at"
_GENERATION = "_airbyte_generation_id"
_MOST_CLUSTERED = 3


def recognise(table: ExistingTable) -> Recognised | None:
    """Return what a table is, if Airbyte wrote it; its clustering tells whether it is deduplicated."""
    if not table.has("_airbyte_raw_id", _AT):
        return None
    added = table.beginning("_airbyte_", "_ab_cdc_")
    if table.has("_airbyte_data"):
        return Recognised(_TOOL, "raw", "own", "certain", "it has _airbyte_data, the JSON of each record", metadata=added)
    clustered = tuple(name for name in table.clustering if name.lower() != _AT)
    is_current = bool(clustered)
    # The key may have more columns than the three by which a table is clustered: half a key would be a wrong one.
    is_whole = len(clustered) < _MOST_CLUSTERED
    notes = ["a truncating refresh leaves rows of the former generation until it ends"]
    if not is_whole and not table.key:
        notes.append(f"the key begins with {', '.join(clustered)}: declare it whole in onefold.yaml")
    return Recognised(
        _TOOL, "deduplicated" if is_current else "append", "current" if is_current else "history",
        "likely" if table.clustering else "guess", _why(table, clustered),
        key_of(table, otherwise=clustered if is_whole else ()),
        (*by_value(*table.present(_GENERATION)), *_order(table)),
        _deleted(table), landed=column(_AT), lost=_lost(table), metadata=added,
        notes=tuple(notes),
    )  # fmt: skip


def _why(table: ExistingTable, clustered: tuple[str, ...]) -> str:
    if clustered:
        return f"it has _airbyte_raw_id, and is clustered by a key: {', '.join(clustered)}"
    if table.clustering:
        return f"it has _airbyte_raw_id, and is clustered by {_AT} alone"
    return "it has _airbyte_raw_id, and no clustering tells whether it is deduplicated"


def _order(table: ExistingTable) -> tuple[Term, ...]:
    """Return the order within a generation: that of the log of the source; without one, that of extraction.

    A refresh begins a generation, and may read from another server, whose log has other positions.
    """
    if table.has("_ab_cdc_lsn"):
        # SQL Server writes an LSN as text of hexadecimal sections of one width, PostgreSQL as a number.
        serial = table.present("_ab_cdc_event_serial_no")
        return (*by_value("_ab_cdc_lsn"), *map(by_number_in_text, serial), *by_value(_AT))
    if table.has("_ab_cdc_log_file", "_ab_cdc_log_pos"):
        return (by_number_in_text("_ab_cdc_log_file"), *by_value("_ab_cdc_log_pos", _AT))
    return by_value(*table.present("_ab_cdc_cursor", _AT))


def _deleted(table: ExistingTable) -> str:
    return f"{column('_ab_cdc_deleted_at')} IS NOT NULL" if table.has("_ab_cdc_deleted_at") else ""


def _lost(table: ExistingTable) -> str:
    """Return the condition of a row for which `_airbyte_meta.changes` lists values that did not fit."""
    meta = table.columns.get("_airbyte_meta")
    return f"ARRAY_LENGTH(JSON_QUERY_ARRAY({column(meta.name)}, '$.changes')) > 0" if meta else ""


TOOL = Tool(_TOOL, recognise)
