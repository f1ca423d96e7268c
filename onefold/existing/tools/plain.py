"""Tables that no known tool wrote: what their columns suggest, which is never more than a guess."""

from __future__ import annotations

from onefold.existing.table import ExistingTable, Recognised, by_value, column, key_of
from onefold.existing.tool import Tool

_GROWING = ("version", "updated_at", "modified_at", "changed_at", "last_modified", "last_updated")
_LANDED = ("_landed_at", "ingested_at", "loaded_at", "inserted_at")
_TIMES = ("TIMESTAMP",)


def recognise(table: ExistingTable) -> Recognised:
    """Return what a table seems to be: one row for each key where it declares a key, else a history where a column grows."""
    landed = next((c.name for c in table.columns.only(_LANDED) if str(c.type) in _TIMES), "")
    growing = table.present(*_GROWING)[:1]
    if table.key and table.order_by and table.has(*table.order_by):
        return Recognised(
            "plain", "declared history", "history", "certain", "onefold.yaml declares its key and its order", key_of(table),
            by_value(*table.present(*table.order_by)), landed=column(landed) if landed else "",
        )  # fmt: skip
    # A key that the table itself declares is that of its rows; one in onefold.yaml may be that of a history.
    if table.key and not (growing and table.has_declared_key):
        return Recognised("plain", "current", "current", "guess", "it declares a key, and no tool's columns", key_of(table))
    # A key is never guessed: a check of duplicates by a wrong one would find nothing but that it is wrong.
    likely = table.present("id", f"{table.name}_id")[:1]
    notes = (f"if {likely[0]} is the key, declare it in onefold.yaml",) if likely and not table.key else ()
    if growing:
        return Recognised(
            "plain", "history by hand", "history", "guess", f"no tool's columns; {growing[0]} may grow", key_of(table),
            by_value(*growing), landed=column(landed) if landed else "", notes=(*notes, "nothing tells deletions"),
        )  # fmt: skip
    return Recognised("plain", "unknown", "current", "guess", "no tool's columns, and no key is declared", notes=notes)


TOOL = Tool("plain", recognise)
