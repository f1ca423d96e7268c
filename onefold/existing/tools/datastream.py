"""Datastream, which writes to BigQuery itself.

Sources: Google Cloud, "Datastream: BigQuery destination", Table metadata and Write behavior,
https://cloud.google.com/datastream/docs/destination-bigquery; "Partitioning and clustering",
https://docs.cloud.google.com/datastream/docs/partitioning-and-clustering, 2026-11.
"""

from __future__ import annotations

from onefold.changelog.metadata import METADATA, is_deletion, metadata_of, metadata_problems, metadata_sql, position_of
from onefold.existing.table import ROW, ExistingTable, Recognised, Term, key_of
from onefold.existing.tool import Tool

_TOOL = "Datastream"
_INGESTED = "_PARTITIONTIME"


def recognise(table: ExistingTable) -> Recognised | None:
    """Return what a table is, if Datastream wrote it: it has `datastream_metadata`, whose fields tell the mode."""
    fields = metadata_of(table.columns)
    if not (fields.get("uuid") and fields.get("source_timestamp")):
        return None
    if fields.get("change_type"):
        return _changes(table) if not any(metadata_problems(table.name, table.columns)) else None
    if fields.get("is_deleted"):
        return _without_key()
    key = key_of(table)
    return Recognised(
        _TOOL, "merge", "current", "certain" if key else "likely",
        f"{METADATA} has uuid and source_timestamp only, and {'a' if key else 'no'} key is declared",
        key, metadata=(METADATA,),
        notes=("the table takes no UPDATE, DELETE or MERGE, also not after the stream has ended",),
    )  # fmt: skip


def _changes(table: ExistingTable) -> Recognised:
    position = position_of(ROW, table.columns)
    return Recognised(
        _TOOL, "append-only", "history", "certain",
        f"{METADATA} has change_type",
        key_of(table), (Term(position),), is_deletion(ROW),
        f"IFNULL(UPPER({metadata_sql(ROW, 'change_type')}) = 'UPDATE-DELETE', FALSE)",
        f"{ROW}.{_INGESTED}" if table.partition == _INGESTED else "",
        metadata=(METADATA,),
        notes=("a deletion of PostgreSQL has the key only, unless REPLICA IDENTITY is FULL",),
    )  # fmt: skip


def _without_key() -> Recognised:
    deleted = f"IFNULL({ROW}.`{METADATA}`.is_deleted, FALSE)"
    order = Term(metadata_sql(ROW, "source_timestamp"))
    return Recognised(
        _TOOL, "merge, without a key", "history", "certain",
        f"{METADATA} has is_deleted, which the merge mode writes for tables without a primary key",
        order=(order,), deleted=deleted, metadata=(METADATA,),
        notes=("changes are appended, and no deletion tells which row is gone, so there is no current view: give the table "
               "a key at the source, or have the stream write in append-only mode",),
    )  # fmt: skip


TOOL = Tool(_TOOL, recognise)
