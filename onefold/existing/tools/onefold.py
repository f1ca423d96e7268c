"""Onefold itself: versioned tables of its capture, bases, and their logs, which `onefold tables` shows."""

from __future__ import annotations

from onefold.changelog.base_columns import DELETED, PACKED, POSITION
from onefold.changelog.metadata import metadata_of
from onefold.existing.table import ExistingTable, Recognised
from onefold.existing.tool import Tool

_TOOL = "Onefold"
_NOTE = ("`onefold tables` shows it",)


def recognise(table: ExistingTable) -> Recognised | None:
    """Return what a table is, if Onefold wrote it: its capture notes the primary key in the metadata of each row."""
    if metadata_of(table.columns).get("primary_key"):
        return Recognised(_TOOL, "captured", "own", "certain", "its datastream_metadata has primary_key", notes=_NOTE)
    for position in (POSITION, PACKED):
        if table.has(position, DELETED):
            return Recognised(_TOOL, "base", "own", "certain", f"it has {position} and {DELETED}", notes=_NOTE)
    if table.name.endswith("_merges") and f"{table.name.removesuffix('_merges')}_base" in table.siblings:
        return Recognised(_TOOL, "log of merges", "own", "certain", "its name is that of a base's log")
    return None


TOOL = Tool(_TOOL, recognise)
