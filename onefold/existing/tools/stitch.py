"""Stitch: tables that it updates, or to which it appends.

Sources: Qlik, "Querying Append-Only Tables", https://help.qlik.com/en-US/stitch/replication/loading/querying-append-only-tables;
"Primary Key System Table Reference (_sdc_primary_keys)",
https://help.qlik.com/en-US/stitch/replication/loading/system-tables-columns/primary-keys-system-table, 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onefold.core.names import TableId
from onefold.existing.table import ExistingTable, Recognised, TableNote, by_value, column, key_of
from onefold.existing.tool import Notes, Tool

_TOOL = "Stitch"
KEYS = "_sdc_primary_keys"
_REJECTED = "_sdc_rejected"


def recognise(table: ExistingTable) -> Recognised | None:
    """Return what a table is, if Stitch wrote it. Only its rows tell whether it appends, so it is taken as a history."""
    if table.name in (KEYS, _REJECTED):
        return Recognised(_TOOL, "own", "own", "certain", f"Stitch keeps {table.name} for itself")
    if not table.has("_sdc_sequence", "_sdc_batched_at"):
        return None
    return Recognised(
        _TOOL, "append or upsert", "history", "guess",
        "it has _sdc_sequence; nothing but the rows tells whether a key has several",
        key_of(table, KEYS), by_value("_sdc_sequence", "_sdc_batched_at"),
        f"{column('_sdc_deleted_at')} IS NOT NULL" if table.has("_sdc_deleted_at") else "",
        landed=column("_sdc_batched_at"),
        newest=next(iter(table.present("_sdc_table_version")), ""),
        metadata=table.beginning("_sdc_"),
        notes=("rows of a lower _sdc_table_version were replaced by those of a higher one",),
    )  # fmt: skip


def keys_query(keys: TableId) -> str:
    """Return the query for the keys of all tables of the dataset."""
    return f"SELECT k.table_name, k.column_name FROM {keys.quoted} AS k"


def read_keys(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, TableNote]:
    """Return the keys by table. In BigQuery the table has no positions, so the columns of a key are in the order of names.

    Examples:
        >>> read_keys([{"table_name": "t", "column_name": "id"}])
        {'t': TableNote(key=('id',), rows=None, validity=None)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for row in sorted(rows, key=lambda row: str(row["column_name"])):
        found[row["table_name"]] = (*found.get(row["table_name"], ()), row["column_name"])
    return {name: TableNote(key) for name, key in found.items()}


TOOL = Tool(_TOOL, recognise, Notes(KEYS, keys_query, read_keys))
