"""Handles messages about versioned tables: refreshes the unified view, and announces how its schema changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onefold.core.errors import InvalidMessage, OnefoldError, Rejected, TopicRefused
from onefold.core.log import in_lines
from onefold.core.names import TableId
from onefold.core.text import counted, cut
from onefold.messages.consumer import MessageLog, consume
from onefold.messages.envelope import Delivery
from onefold.messages.table_created import DatasetHint, OtherTable, TableHint, parse_event, table_message
from onefold.ports.publisher import Message, Publisher
from onefold.ports.warehouse import Warehouse
from onefold.schema.diff import Severity, highest_severity
from onefold.settings.environment import Settings
from onefold.views.labels import CHANGE_LABEL
from onefold.views.left_over import bases_of, left_over_tables, unknown_tables
from onefold.views.limits import limit_warnings
from onefold.views.refresh import refresh
from onefold.views.view_plan import ViewPlan

# Google Cloud, Cloud Logging, "Quotas and limits": 256 KB an entry. The topic has all changes, and the field
# `changes_severity` is the highest of all.
MAX_LOGGED_CHANGES = 200
MAX_LOGGED_SETTINGS = 1_000
MAX_KEPT = 20_000
"""The longest announcement, in characters, that a view keeps in its text; a longer one is kept without its changes."""

Refused = Callable[[Mapping[str, Any], OnefoldError], None]
"""Called with the content of an announcement that the topic refused, and the reason."""


@dataclass(frozen=True)
class TableCreatedHandler:
    """Handles the messages of the topic `table-created`."""

    settings: Settings
    warehouse: Warehouse
    publisher: Publisher

    def handle(self, body: bytes) -> str | None:
        """Handle the body of one request.

        Raises:
            TryAgain: an error that may pass; the message has to be delivered again.
        """
        return consume(body, self._handle, self.warehouse, self.publisher, self.settings.topic_dead_letter)

    def _handle(self, delivery: Delivery, message_log: MessageLog) -> None:
        event = parse_event(delivery.data, self.settings.names_in)
        if isinstance(event, OtherTable):
            message_log.log("DEBUG", f"{event.resource} is not a versioned table", "ignored", table=event.resource)
            return
        message_log.fields |= {name: getattr(event, name, None) for name in ("dataset", "table", "version")}
        self._check_allowed(event)
        if isinstance(event, DatasetHint):
            self._fan_out(event.dataset, message_log)
        else:
            self._refresh(event, message_log)

    def _check_allowed(self, event: TableHint | DatasetHint) -> None:
        problems = []
        if self.settings.datasets is not None and event.dataset not in self.settings.datasets:
            problems.append(f"dataset {event.dataset} is not among ONEFOLD_DATASETS")
        project = event.project if isinstance(event, TableHint) else None
        if project and project != self.warehouse.project:
            problems.append(f"project {project} is not {self.warehouse.project}, which this function serves")
        if problems:
            raise InvalidMessage(problems)

    def _fan_out(self, dataset: str, message_log: MessageLog) -> None:
        """Publish a message per table, without a version, so that each view is computed without a shortcut.

        Raises:
            InvalidMessage: no topic is set for these messages.
        """
        topic = self.settings.topic_table_created
        if not topic:
            raise InvalidMessage("a message for a whole dataset needs ONEFOLD_TOPIC_TABLE_CREATED to be set")
        tables = self.warehouse.list_tables(dataset)
        bases = bases_of(tables, self.settings.names_in(dataset))
        self.publisher.publish(topic, [Message(table_message(dataset, base)) for base in bases])
        message_log.log("INFO", f"{len(bases)} tables of {dataset} are to be checked", "fan_out", tables=len(bases))
        self._check_dataset(dataset, tables, message_log)

    def _check_dataset(self, dataset: str, tables: Sequence[str], message_log: MessageLog) -> None:
        """Log the views whose last version was dropped, and the settings of tables that do not exist."""
        if left_over := left_over_tables(self.warehouse, dataset, self.settings, tables):
            views = [str(self.settings.view_of(base)) for base in left_over]
            message_log.log(
                "WARNING",
                f"{counted(len(views), 'view')} of {dataset} read no version that exists: remove them with "
                f"`onefold refresh {dataset} --all --prune`",
                "views_left_over",
                views=views,
            )
        if unknown := list(unknown_tables(self.settings, dataset, tables)):
            message_log.log("WARNING", "\n".join(unknown), "unknown_tables", warnings=unknown)

    def _refresh(self, event: TableHint, message_log: MessageLog) -> None:
        base = TableId(self.warehouse.project, event.dataset, event.table)

        def refused(content: Mapping[str, Any], error: OnefoldError) -> None:
            _log_refused(message_log, content, error)

        plan = refresh(
            self.warehouse,
            base,
            self.settings,
            version=event.version,
            announce=lambda made: announce(self.publisher, self.settings, made, refused),
        )
        if plan.settings:
            text = "; ".join(map(str, plan.settings))
            # The settings of the deployment are those that count, so a difference does not keep the view from being written.
            message_log.log(
                "WARNING",
                f"{_view_of(plan)} had other settings: {cut(text, MAX_LOGGED_SETTINGS)}",
                "settings_changed",
                settings=[change.as_dict() for change in plan.settings[:MAX_LOGGED_CHANGES]],
            )
        message_log.log(
            "NOTICE" if plan.action != "none" else "INFO",
            f"{base.dataset}.{base.table}: {_done(plan)}",
            "refreshed",
            action=plan.action,
            shortcut=plan.shortcut,
            versions=len(plan.view.versions) if plan.view else None,
            form=plan.view.form if plan.view else None,
            changes=[change.as_dict() for change in plan.changes[:MAX_LOGGED_CHANGES]],
            changes_count=len(plan.changes),
            changes_severity=highest_severity(plan.changes).name if plan.changes else None,
            warnings=[*limit_warnings(plan.view), *plan.warnings] if plan.view else None,
            unannounced=len(plan.unannounced) or None,
        )


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
    topic, kept = settings.topic_schema_changes, plan.unannounced
    if not topic:
        return kept if plan.action != "remove" else ()
    content = schema_change(plan) if plan.changes else None
    contents = [*(_kept_content(plan, number, text) for number, text in enumerate(kept)), *([content] if content else [])]
    try:
        publisher.publish(topic, [_message(one) for one in contents])
    except (Rejected, TopicRefused) as error:
        refused(content or {}, error)
        return (*kept, *([_fitting(content)] if content else []))
    return ()


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
    return {"dataset": plan.base.dataset, "table": plan.base.table, "view": _view_of(plan)}


def _view_of(plan: ViewPlan) -> str:
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
    unknown = hashlib.sha256(f"{_view_of(plan)}\nunknown\n{last}\n{number}".encode()).hexdigest()[:32]
    default = {"id": unknown, **_names_of(plan), "severity": Severity.CRITICAL.name, "versions": [], "changes": []}
    try:
        kept = json.loads(text)
    except ValueError:
        kept = None
    # People may edit the text in which the announcement is kept. It must not break the form of the message or name another
    # table.
    if isinstance(kept, dict) and all(isinstance(kept.get(name), type(value)) for name, value in default.items()):
        return {**kept, **_names_of(plan)}
    return {**default, "changes_left_out": None}


def _log_refused(message_log: MessageLog, content: Mapping[str, Any], error: OnefoldError) -> None:
    """Log all changes of an announcement, in several lines where Cloud Logging needs that.

    Announcements that the view kept before were logged then; now the log says only that they still wait.
    """
    if not content:
        message_log.log("WARNING", f"still not announced: {error}", "unannounced", reason=str(error))
        return
    parts = list(in_lines(content["changes"], MAX_LOGGED_CHANGES)) or [[]]
    for number, changes in enumerate(parts, 1):
        part = {**content, "changes": changes}
        message_log.log(
            "ERROR",
            f"the view {content['view']} changes unannounced: {error}",
            "unannounced",
            reason=str(error),
            part=f"{number}/{len(parts)}",
            announcement=part,
        )


def _done(plan: ViewPlan) -> str:
    if plan.shortcut:
        return "the view needs no change for this version"
    return {"none": "the view is up to date", "create": "view created", "update": "view updated", "remove": "view removed"}[
        plan.action
    ]
