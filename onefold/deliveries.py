"""What happens with a message that was delivered: the view is refreshed, or the message is put aside with a reason.

Returning means that the message is acknowledged; raising means that it is to be delivered again.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import Any

from onefold.changes import highest
from onefold.errors import InvalidMessage, NothingFound, OnefoldError, TryAgain
from onefold.events import DatasetHint, OtherTable, TableHint, parse_event, read_delivery, table_message
from onefold.log import log
from onefold.names import TableId
from onefold.pubsub import Message, Publisher
from onefold.refresh import Plan, refresh
from onefold.settings import Settings
from onefold.view import limit_warnings
from onefold.warehouse import Warehouse

# Pub/Sub, "Quotas and limits": 10 MB a message with its attributes, 1,024 bytes an attribute's value.
MAX_DATA = 9_000_000
MAX_ATTRIBUTE = 1_024


@dataclass(frozen=True)
class Receiver:
    """Handles the messages of the topic `table-created`."""

    settings: Settings
    warehouse: Warehouse
    publisher: Publisher

    def receive(self, body: bytes) -> None:
        """Handle the body of one request.

        Raises:
            TryAgain: trouble that may pass.
        """
        data = body
        try:
            data = read_delivery(body).data
            self._handle(parse_event(data))
        except TryAgain as error:
            log("WARNING", f"to be delivered again: {error}", event="try_again", reason=str(error))
            raise
        except NothingFound as error:
            log("WARNING", f"nothing to do: {error}", event="nothing_found", reason=str(error))
        except OnefoldError as error:
            self._put_aside(data, error)

    def _handle(self, event: TableHint | DatasetHint | OtherTable) -> None:
        if isinstance(event, OtherTable):
            log("DEBUG", f"{event.resource} is not a versioned table", event="ignored", table=event.resource)
            return
        self._check_allowed(event)
        if isinstance(event, DatasetHint):
            self._fan_out(event.dataset)
        else:
            self._refresh(event)

    def _check_allowed(self, event: TableHint | DatasetHint) -> None:
        faults = []
        if self.settings.datasets and event.dataset not in self.settings.datasets:
            faults.append(f"dataset {event.dataset} is not among ONEFOLD_DATASETS")
        project = event.project if isinstance(event, TableHint) else None
        if project and project != self.warehouse.project:
            faults.append(f"project {project} is not {self.warehouse.project}, which this function serves")
        if faults:
            raise InvalidMessage(faults)

    def _fan_out(self, dataset: str) -> None:
        """One message per table, without a version, so that each view is computed and not just looked at."""
        topic = self.settings.topic_table_created
        if not topic:
            raise InvalidMessage("a message for a whole dataset needs ONEFOLD_TOPIC_TABLE_CREATED to be set")
        bases = self.warehouse.list_bases(dataset)
        self.publisher.publish(topic, [Message(table_message(dataset, base)) for base in bases])
        log(
            "INFO",
            f"{len(bases)} tables of {dataset} are to be checked",
            event="fan_out",
            dataset=dataset,
            tables=len(bases),
        )

    def _refresh(self, event: TableHint) -> None:
        started, calls = time.monotonic(), self.warehouse.calls
        base = TableId(self.warehouse.project, event.dataset, event.table)
        plan = refresh(self.warehouse, base, self.settings, version=event.version, announce=self._announce)
        log(
            "NOTICE" if plan.action != "none" else "INFO",
            f"{base.dataset}.{base.table}: {_done(plan)}",
            event="refreshed",
            dataset=base.dataset,
            table=base.table,
            version=event.version,
            action=plan.action,
            shortcut=plan.shortcut,
            versions=len(plan.view.versions) if plan.view else None,
            form=plan.view.form if plan.view else None,
            changes=[change.as_dict() for change in plan.changes],
            warnings=limit_warnings(plan.view) if plan.view else None,
            calls=self.warehouse.calls - calls,
            milliseconds=round((time.monotonic() - started) * 1000),
        )

    def _announce(self, plan: Plan) -> None:
        announce(self.publisher, self.settings, plan)

    def _put_aside(self, data: bytes, error: OnefoldError) -> None:
        """Log the reason, and keep the original bytes in the dead-letter topic, in parts where they are too large."""
        reason = str(error)
        log("ERROR", f"put aside: {reason}", event="put_aside", reason=reason, kind=type(error).__name__, bytes=len(data))
        topic = self.settings.topic_dead_letter
        if not topic:
            return
        parts = [data[start : start + MAX_DATA] for start in range(0, len(data), MAX_DATA)] or [b""]
        attributes = {"reason": _fitting(reason), "kind": type(error).__name__}
        numbered = [{**attributes, "part": f"{n}/{len(parts)}"} for n in range(1, len(parts) + 1)]
        # Pub/Sub wants data or an attribute, so an empty message can be kept as well.
        self.publisher.publish(topic, [Message(part, extra) for part, extra in zip(parts, numbered, strict=True)])


def announce(publisher: Publisher, settings: Settings, plan: Plan) -> None:
    """Publish the changes of a view's schema to the topic for them, where one is set."""
    if settings.topic_schema_changes:
        publisher.publish(settings.topic_schema_changes, [schema_change_message(plan)])


def schema_change_message(plan: Plan) -> Message:
    """The changes as JSON. `id` is the same for the same change, however often it is announced."""
    severity = highest(plan.changes).name
    query = plan.view.query if plan.view else ""
    view = plan.view.id if plan.view else plan.stored.id if plan.stored else plan.base
    body: dict[str, Any] = {
        "id": hashlib.sha256(f"{view}\n{query}".encode()).hexdigest()[:32],
        "dataset": plan.base.dataset,
        "table": plan.base.table,
        "view": str(view),
        "severity": severity,
        "versions": list(plan.view.versions) if plan.view else [],
        "changes": [change.as_dict() for change in plan.changes],
    }
    return Message(
        json.dumps(body).encode(), {"severity": severity, "dataset": plan.base.dataset or "", "table": plan.base.table}
    )


def _done(plan: Plan) -> str:
    if plan.shortcut:
        return "the view covers this version already"
    return {"none": "the view is up to date", "create": "view created", "update": "view updated", "remove": "view removed"}[
        plan.action
    ]


def _fitting(text: str) -> str:
    return text.encode()[:MAX_ATTRIBUTE].decode(errors="ignore")
