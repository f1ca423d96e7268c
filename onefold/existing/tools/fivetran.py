"""Fivetran in its three modes: LIVE, SOFT_DELETE and HISTORY.

Sources: Fivetran, "System Columns and Tables", https://fivetran.com/docs/core-concepts/system-columns-and-tables;
"Soft Delete Mode" and "Live Mode", https://fivetran.com/docs/core-concepts/syncoverview/sync-modes, 2026-11.
"""

from __future__ import annotations

from onefold.existing.table import ExistingTable, Recognised, by_value, column, key_of
from onefold.existing.tool import Tool

_TOOL = "Fivetran"
_SYNCED, _DELETED, _ID = "_fivetran_synced", "_fivetran_deleted", "_fivetran_id"
_NO_KEY = "the source has no key: an update is a new row, and the former one is marked as deleted"
_BULK = "_fivetran_synced does not move for a TRUNCATE and for deletions in bulk"


def recognise(table: ExistingTable) -> Recognised | None:
    """Return what a table is, if Fivetran wrote it: each mode adds columns of its own."""
    if not table.has(_SYNCED):
        return None
    if table.has("_fivetran_start", "_fivetran_end", "_fivetran_active"):
        return _history(table)
    is_soft = table.has(_DELETED)
    keyless = table.has(_ID)
    return Recognised(
        _TOOL, "SOFT_DELETE" if is_soft else "LIVE", "current", "certain" if is_soft else "likely",
        f"it has {_SYNCED} and {_DELETED}" if is_soft else f"it has {_SYNCED}, and no column of another mode",
        key_of(table, otherwise=[_ID] if keyless else []),
        deleted=f"IFNULL({column(_DELETED)}, FALSE)" if is_soft else "",
        landed=column(_SYNCED), metadata=table.beginning("_fivetran_"),
        notes=(*([_NO_KEY] if keyless else []), *([_BULK] if is_soft else [])),
    )  # fmt: skip


def _history(table: ExistingTable) -> Recognised:
    key = tuple(name for name in key_of(table) if not name.lower().startswith("_fivetran_"))
    return Recognised(
        _TOOL, "HISTORY", "history", "certain", "it has _fivetran_start, _fivetran_end and _fivetran_active", key,
        by_value("_fivetran_start", *table.present("_fivetran_index")),
        landed=column(_SYNCED), active=f"IFNULL({column('_fivetran_active')}, FALSE)",
        metadata=table.beginning("_fivetran_"),
        notes=("a key without an active row was deleted at the source",),
    )  # fmt: skip


TOOL = Tool(_TOOL, recognise)
