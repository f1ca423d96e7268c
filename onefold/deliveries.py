"""What happens with a message about versioned tables: the view is refreshed, and what changed in it is announced."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from onefold.changes import highest
from onefold.errors import InvalidMessage
from onefold.events import DatasetHint, Delivery, OtherTable, TableHint, parse_event, table_message
from onefold.names import TableId
from onefold.pubsub import Message, Publisher
from onefold.receiving import Told, receive
from onefold.refresh import Plan, refresh
from onefold.settings import Settings
from onefold.view import limit_warnings
from onefold.warehouse import Warehouse

# Cloud Logging takes 256 KB an entry; all changes are on the topic for them, and `changes_severity` is that of all.
MAX_LOGGED_CHANGES = 200


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
        receive(body, self._handle, self.warehouse, self.publisher, self.settings.topic_dead_letter)

    def _handle(self, delivery: Delivery, told: Told) -> None:
        event = parse_event(delivery.data, self.settings.names_in)
        if isinstance(event, OtherTable):
            told.log("DEBUG", f"{event.resource} is not a versioned table", "ignored", table=event.resource)
            return
        told.fields |= {name: getattr(event, name, None) for name in ("dataset", "table", "version")}
        self._check_allowed(event)
        if isinstance(event, DatasetHint):
            self._fan_out(event.dataset, told)
        else:
            self._refresh(event, told)

    def _check_allowed(self, event: TableHint | DatasetHint) -> None:
        faults = []
        if self.settings.datasets and event.dataset not in self.settings.datasets:
            faults.append(f"dataset {event.dataset} is not among ONEFOLD_DATASETS")
        project = event.project if isinstance(event, TableHint) else None
        if project and project != self.warehouse.project:
            faults.append(f"project {project} is not {self.warehouse.project}, which this function serves")
        if faults:
            raise InvalidMessage(faults)

    def _fan_out(self, dataset: str, told: Told) -> None:
        """One message per table, without a version, so that each view is computed and not just looked at."""
        topic = self.settings.topic_table_created
        if not topic:
            raise InvalidMessage("a message for a whole dataset needs ONEFOLD_TOPIC_TABLE_CREATED to be set")
        bases = self.warehouse.list_bases(dataset, self.settings.names_in(dataset))
        self.publisher.publish(topic, [Message(table_message(dataset, base)) for base in bases])
        told.log("INFO", f"{len(bases)} tables of {dataset} are to be checked", "fan_out", tables=len(bases))

    def _refresh(self, event: TableHint, told: Told) -> None:
        base = TableId(self.warehouse.project, event.dataset, event.table)
        plan = refresh(self.warehouse, base, self.settings, version=event.version, announce=self._announce)
        told.log(
            "NOTICE" if plan.action != "none" else "INFO",
            f"{base.dataset}.{base.table}: {_done(plan)}",
            "refreshed",
            action=plan.action,
            shortcut=plan.shortcut,
            versions=len(plan.view.versions) if plan.view else None,
            form=plan.view.form if plan.view else None,
            changes=[change.as_dict() for change in plan.changes[:MAX_LOGGED_CHANGES]],
            changes_count=len(plan.changes),
            changes_severity=highest(plan.changes).name if plan.changes else None,
            warnings=[*limit_warnings(plan.view), *plan.warnings] if plan.view else None,
        )

    def _announce(self, plan: Plan) -> None:
        announce(self.publisher, self.settings, plan)


def announce(publisher: Publisher, settings: Settings, plan: Plan) -> None:
    """Publish the changes of a view's schema to the topic for them, where one is set."""
    if settings.topic_schema_changes:
        publisher.publish(settings.topic_schema_changes, [schema_change_message(plan)])


def schema_change_message(plan: Plan) -> Message:
    """The changes as JSON. `id` is the same for the same change of the same state, however often it is announced."""
    severity = highest(plan.changes).name
    query = plan.view.query if plan.view else ""
    view = plan.view.id if plan.view else plan.stored.id if plan.stored else plan.base
    before = f"{plan.stored.etag}\n{plan.stored.query}" if plan.stored else ""
    body: dict[str, Any] = {
        "id": hashlib.sha256(f"{view}\n{before}\n{query}".encode()).hexdigest()[:32],
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
