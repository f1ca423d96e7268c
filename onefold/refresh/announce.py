"""Announcements of how the schemas of views change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from onefold.core.errors import OnefoldError, Rejected, TopicRefused
from onefold.ports.publisher import Message, Publisher
from onefold.ports.rows import Row
from onefold.refresh.labels import CHANGE_LABEL
from onefold.refresh.plan import ViewPlan
from onefold.schema.diff import Severity, highest_severity
from onefold.settings.environment import Settings

MAX_KEPT = 20_000
"""The longest announcement, in characters, that a view keeps in its text; a longer one is kept without its changes."""

Refused = Callable[[Mapping[str, Any], OnefoldError], None]
"""Called with the content of an announcement that the topic refused, and the reason."""


def announce(publisher: Publisher, settings: Settings, plan: ViewPlan, refused: Refused) -> tuple[str, ...]:
    """Publish the announcements that a view keeps, and then the changes of its schema.

    Args:
        publisher: publishes to the topic for schema changes.
        settings: those of the installation, with the name of the topic.
        plan: what a refresh is about to do.
        refused: called where the topic refuses the announcements.

    Returns:
        The announcements that the view has to keep, as JSON, because no topic is set or the topic refuses them. The next
        refresh publishes them.

    Raises:
        TryAgain: an error of the topic that may pass.
    """
    topic, kept = settings.topic_schema_changes, without_rows(plan.unannounced)
    rows = tuple(text for text in plan.unannounced if text not in kept) if plan.action != "remove" else ()
    if not topic:
        return plan.unannounced if plan.action != "remove" else ()
    content = schema_change(plan) if plan.changes else None
    contents = [*(_kept_content(plan, number, text) for number, text in enumerate(kept)), *([content] if content else [])]
    try:
        publisher.publish(topic, [_message(one) for one in contents])
    except (Rejected, TopicRefused) as error:
        refused(content or {}, error)
        return (*rows, *kept, *([_fitting(content)] if content else []))
    return rows


def keep(plan: ViewPlan) -> tuple[str, ...]:
    """Return the announcements that a view has to keep where nothing is published now: the next refresh publishes them."""
    return (*plan.unannounced, *([_fitting(schema_change(plan))] if plan.changes else []))


_ROW = '{"ledger": '


def kept_row(row: Row) -> str:
    """Return a row of the ledger in the form in which a view keeps it, among its announcements, until it can be appended.

    Examples:
        >>> kept_row({"id": "abc"})
        '{"ledger": {"id": "abc"}}'
    """
    return json.dumps({"ledger": row})


def kept_rows(unannounced: Iterable[str]) -> list[Row]:
    """Return the rows of the ledger that a view keeps; a text that somebody has edited is none."""
    found = (_json(text) for text in unannounced if text.startswith(_ROW))
    return [one["ledger"] for one in found if isinstance(one, dict) and isinstance(one["ledger"], dict)]


def without_rows(unannounced: Iterable[str]) -> tuple[str, ...]:
    """Return the announcements that a view keeps, without rows of the ledger."""
    return tuple(text for text in unannounced if not text.startswith(_ROW))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def schema_change(plan: ViewPlan) -> dict[str, Any]:
    """Return the announcement of a plan's changes."""
    return {
        "id": plan.change_id,
        **_names_of(plan),
        "severity": highest_severity(plan.changes).name,
        "versions": list(plan.view.versions) if plan.view else [],
        "changes": [change.as_dict() for change in plan.changes],
    }


def _names_of(plan: ViewPlan) -> dict[str, Any]:
    return {"dataset": plan.base.dataset, "table": plan.base.table, "view": view_of(plan)}


def view_of(plan: ViewPlan) -> str:
    """Return the name of the view that a plan is about, for people and programs."""
    return str(plan.view.id if plan.view else plan.stored.id if plan.stored else plan.base)


def _message(content: Mapping[str, Any]) -> Message:
    attributes = {name: content[name] or "" for name in ("severity", "dataset", "table")}
    return Message(json.dumps(content).encode(), attributes)


def _fitting(content: Mapping[str, Any]) -> str:
    """Return an announcement as a view keeps it: without its changes where it is long, because the log has all of them."""
    text = json.dumps(content)
    if len(text) <= MAX_KEPT:
        return text
    return json.dumps({**content, "versions": [], "changes": [], "changes_left_out": len(content["changes"])})


def _kept_content(plan: ViewPlan, number: int, text: str) -> dict[str, Any]:
    """Return an announcement that a view kept. Where the view had no room for the content, the content is unknown."""
    last = plan.stored.labels.get(CHANGE_LABEL, "") if plan.stored else ""
    unknown = hashlib.sha256(f"{view_of(plan)}\nunknown\n{last}\n{number}".encode()).hexdigest()[:32]
    default = {"id": unknown, **_names_of(plan), "severity": Severity.CRITICAL.name, "versions": [], "changes": []}
    kept = _json(text)
    # People may edit the text in which the announcement is kept. It must not break the form of the message or name another
    # table.
    if isinstance(kept, dict) and all(isinstance(kept.get(name), type(value)) for name, value in default.items()):
        return {**kept, **_names_of(plan)}
    return {**default, "changes_left_out": None}
