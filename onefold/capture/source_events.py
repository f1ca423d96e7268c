"""What befell tables at the source as a whole, told on the topic of schema changes. Nothing that has landed is removed."""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from onefold.capture.columns import table_name
from onefold.capture.log_events import Place
from onefold.changes import Change, Severity
from onefold.pubsub import Message

Befell = Literal["table truncated", "table dropped"]


def source_event(source: str, dataset: str, database: str, table: str | None, place: Place, kind: Befell) -> Message:
    """A message in the form of a view's changes. `id` is the same however often the log is read; without a table, it is
    about all of the database."""
    change = Change(kind, "", Severity.CRITICAL)
    text = "\n".join((source, place.sequence(), database, table or "", kind))
    body = {
        "id": hashlib.sha256(text.encode()).hexdigest()[:32],
        "dataset": dataset,
        "table": table_name(table) if table else None,
        "source": source,
        "database": database,
        "severity": change.severity.name,
        "changes": [change.as_dict()],
    }
    attributes = {"severity": change.severity.name, "dataset": dataset}
    return Message(json.dumps(body).encode(), {**attributes, "table": table_name(table)} if table else attributes)
