"""PeerDB, which keeps one row for each key, and marks deletions where its mirror asks for that.

Source: PeerDB-io/peerdb, its end-to-end tests, checkPeerdbColumns (`_PEERDB_IS_DELETED`, `_PEERDB_SYNCED_AT`), 2026-11.
"""

from __future__ import annotations

from onefold.existing.table import ExistingTable, Recognised, column, key_of
from onefold.existing.tool import Tool

_TOOL = "PeerDB"
_SYNCED, _DELETED = "_peerdb_synced_at", "_peerdb_is_deleted"


def recognise(table: ExistingTable) -> Recognised | None:
    """Return what a table is, if PeerDB wrote it; `_peerdb_raw_*` are its own."""
    if table.name.lower().startswith("_peerdb_"):
        return Recognised(_TOOL, "raw", "own", "certain", "its name begins with _peerdb_")
    if not table.has(_SYNCED):
        return None
    synced = table.present(_SYNCED)[0]
    deleted = next(iter(table.present(_DELETED)), "")
    return Recognised(
        _TOOL, "soft deletion" if deleted else "mirror", "current", "certain" if deleted else "likely",
        f"it has {synced}" + (f" and {deleted}" if deleted else ""),
        key_of(table),
        deleted=f"IFNULL({column(deleted)}, FALSE)" if deleted else "",
        landed=column(synced), metadata=table.beginning("_peerdb_"),
    )  # fmt: skip


TOOL = Tool(_TOOL, recognise)
