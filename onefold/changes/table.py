"""The tables of the ledger: their columns, the view that lists each change once, and entries as rows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from onefold.changes.entry import Entry
from onefold.core.names import TableId
from onefold.schema.columns import Column
from onefold.schema.types import parse_type

LEDGER_TABLE = "schema_changes"
"""The table to which entries are appended; an entry may be there several times."""
LEDGER_VIEW = "schema_changes_latest"
"""The view that has one row for each change."""

_TEXT = parse_type("STRING")
_OPERATIONS = parse_type("ARRAY<STRUCT<kind STRING, path STRING, severity STRING, old STRING, new STRING>>")
_EFFECTS = parse_type("ARRAY<STRUCT<view STRING, kind STRING, path STRING, detail STRING>>")
_SETTINGS = parse_type("ARRAY<STRUCT<setting STRING, before STRING, after STRING>>")

LEDGER_COLUMNS: tuple[tuple[Column, str], ...] = tuple(
    (Column(name, type_), text)
    for name, type_, text in (
        ("id", _TEXT, "a digest of what changed: the same however often a message comes"),
        ("change", _TEXT, "the change of versions that all tenants share, which decisions name; empty for other changes"),
        ("recorded_at", parse_type("TIMESTAMP"), "when the entry was made"),
        ("changed_at", parse_type("TIMESTAMP"), "when the source changed; NULL where that is unknown"),
        ("origin", _TEXT, "who reported the change: capture, pull, registry, settings, or discovered where nobody did"),
        ("dataset", _TEXT, "the dataset of the versioned tables"),
        ("table", _TEXT, "their base name"),
        ("tenant", _TEXT, "the database whose table changed; empty where that is unknown"),
        ("version_before", _TEXT, "the version before the change; empty for the first one"),
        ("version_after", _TEXT, "the version after the change"),
        ("statement", _TEXT, "the statement of the source, with ? in the place of each literal; empty where it is unknown"),
        ("operations", _OPERATIONS, "how the schema of the table changed"),
        ("effects", _EFFECTS, "what readers of each view notice"),
        ("settings", _SETTINGS, "the settings that changed, of the origin settings"),
        ("decision", _TEXT, "whether the views show the change: shown, hidden, waiting, accepted, rejected or kept"),
        ("severity", _TEXT, "the worst effect: INFO, WARNING or CRITICAL"),
    )
)
"""The columns of the ledger and what they mean. The table is partitioned by the day of `recorded_at`."""

MAX_STATEMENT = 10_000
"""The longest statement in characters; of a longer one the beginning is kept."""


def latest_query(table: TableId) -> str:
    """Return the query of the view that has one row for each change.

    Of the rows of one entry, the one with a statement counts, then one that somebody reported, then the earliest. A change
    that was discovered is left out where tenants reported it, each by an entry of its own.

    Args:
        table: the table of the ledger.

    Examples:
        >>> print(latest_query(TableId("p", "onefold_changes", "schema_changes")).splitlines()[1])
        FROM `p.onefold_changes.schema_changes`
    """
    return (
        "SELECT *\n"
        f"FROM {table.quoted}\n"
        "WHERE TRUE\n"
        "QUALIFY ROW_NUMBER() OVER (\n"
        "  PARTITION BY id ORDER BY statement = '', origin = 'discovered', recorded_at\n"
        ") = 1\n"
        "AND (change = '' OR tenant <> '' OR MAX(tenant) OVER (PARTITION BY change) = '')"
    )


def row_of(entry: Entry) -> dict[str, Any]:
    """Return an entry as a row of the table, in the form of JSON; `changed_at` is absent where it is not known."""
    row = {
        "id": entry.id,
        "change": entry.change,
        "recorded_at": _time_text(entry.recorded_at),
        "origin": entry.origin,
        "dataset": entry.dataset,
        "table": entry.table,
        "tenant": entry.tenant,
        "version_before": entry.version_before,
        "version_after": entry.version_after,
        "statement": entry.statement[:MAX_STATEMENT],
        "operations": [change.as_dict() for change in entry.operations],
        "effects": [{"view": one.view, "kind": one.kind, "path": one.path, "detail": one.detail} for one in entry.effects],
        "settings": [change.as_dict() for change in entry.settings],
        "decision": entry.decision,
        "severity": entry.severity.name,
    }
    return row if entry.changed_at is None else {**row, "changed_at": _time_text(entry.changed_at)}


def entry_as_dict(entry: Entry) -> dict[str, Any]:
    """Return an entry for programs: as a row, with what is known of the decision and with times that are not known."""
    decided_at = entry.decided_at and _time_text(entry.decided_at)
    return {"changed_at": None, **row_of(entry), "decided_at": decided_at}


def _time_text(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")
