"""What befell tables at the source as a whole, told on the topic of schema changes. Nothing that has landed is removed."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from onefold.capture.quarantine import Quarantined
from onefold.capture.versioned_table import table_name
from onefold.mysql.binlog.events import LogPosition
from onefold.ports.publisher import Message
from onefold.schema.diff import SchemaChange, Severity

Befell = Literal["table truncated", "table dropped", "table in quarantine"]


def source_event(source: str, dataset: str, database: str, table: str | None, place: LogPosition, kind: Befell) -> Message:
    """A message in the form of a view's changes. `id` is the same however often the log is read; without a table, it is
    about all of the database."""
    return Message(*_written(_body(source, dataset, database, table, place, kind)))


def quarantine_event(source: str, dataset: str, one: Quarantined) -> Message:
    """A message that says why a table is in quarantine, and what remedies it."""
    body = _body(source, dataset, one.table.database, one.table.table, one.since, "table in quarantine")
    return Message(*_written({**body, "reason": one.problem.reason, "remedy": one.problem.remedy}))


def _body(source: str, dataset: str, database: str, table: str | None, place: LogPosition, kind: Befell) -> dict[str, Any]:
    change = SchemaChange(kind, "", Severity.CRITICAL)
    text = "\n".join((source, place.sequence(), database, table or "", kind))
    return {
        "id": hashlib.sha256(text.encode()).hexdigest()[:32],
        "dataset": dataset,
        "table": table_name(table) if table else None,
        "source": source,
        "database": database,
        "severity": change.severity.name,
        "changes": [change.as_dict()],
    }


def _written(body: dict[str, Any]) -> tuple[bytes, dict[str, str]]:
    named = {name: body[name] for name in ("severity", "dataset", "table") if body[name]}
    return json.dumps(body).encode(), named
