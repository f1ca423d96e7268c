"""What happens with a message that was delivered: the view is refreshed, or the message is put aside with a reason.

Returning means that the message is acknowledged; raising means that it is to be delivered again.
"""

from __future__ import annotations

import hashlib
import json
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onefold.changes import highest
from onefold.errors import InvalidMessage, NothingFound, OnefoldError, Rejected, TryAgain
from onefold.events import DatasetHint, Delivery, OtherTable, TableHint, parse_event, read_delivery, table_message
from onefold.log import LogSeverity, log
from onefold.names import TableId
from onefold.pubsub import Message, Publisher
from onefold.refresh import Plan, refresh
from onefold.settings import Settings
from onefold.view import limit_warnings
from onefold.warehouse import Warehouse

# Pub/Sub, "Quotas and limits": 10 MB a message with its attributes, 1,024 bytes an attribute's value.
MAX_DATA = 9_000_000
MAX_ATTRIBUTE = 1_024
# Cloud Logging takes 256 KB an entry; all changes are on the topic for them.
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
        told = _Told(self.warehouse)
        try:
            self._handle_or_put_aside(body, told)
        except TryAgain as error:
            told.log("WARNING", f"to be delivered again: {error}", "try_again", reason=str(error))
            raise
        except Exception as error:
            # A fault of ours: the message is kept by being delivered again.
            reason = f"{type(error).__name__}: {error}"
            told.log("CRITICAL", f"failed: {reason}", "failed", reason=reason, stack_trace=traceback.format_exc())
            raise

    def _handle_or_put_aside(self, body: bytes, told: _Told) -> None:
        delivery = Delivery(body)
        try:
            delivery = read_delivery(body)
            told.fields["message_id"] = delivery.id
            self._handle(parse_event(delivery.data), told)
        except TryAgain:
            raise
        except NothingFound as error:
            told.log("WARNING", f"nothing to do: {error}", "nothing_found", reason=str(error))
        except OnefoldError as error:
            self._put_aside(delivery, error, told)

    def _handle(self, event: TableHint | DatasetHint | OtherTable, told: _Told) -> None:
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

    def _fan_out(self, dataset: str, told: _Told) -> None:
        """One message per table, without a version, so that each view is computed and not just looked at."""
        topic = self.settings.topic_table_created
        if not topic:
            raise InvalidMessage("a message for a whole dataset needs ONEFOLD_TOPIC_TABLE_CREATED to be set")
        bases = self.warehouse.list_bases(dataset)
        self.publisher.publish(topic, [Message(table_message(dataset, base)) for base in bases])
        told.log("INFO", f"{len(bases)} tables of {dataset} are to be checked", "fan_out", tables=len(bases))

    def _refresh(self, event: TableHint, told: _Told) -> None:
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
            warnings=[*limit_warnings(plan.view), *plan.warnings] if plan.view else None,
        )

    def _announce(self, plan: Plan) -> None:
        announce(self.publisher, self.settings, plan)

    def _put_aside(self, delivery: Delivery, error: OnefoldError, told: _Told) -> None:
        """Log the reason, and keep the original bytes in the dead-letter topic, in parts where they are too large."""
        reason, kind = str(error), type(error).__name__
        told.log("ERROR", f"put aside: {reason}", "put_aside", reason=reason, kind=kind, bytes=len(delivery.data))
        topic = self.settings.topic_dead_letter
        if not topic:
            return
        try:
            self.publisher.publish(topic, dead_letters(delivery, {"reason": _fitting(reason), "kind": kind}))
        except Rejected as rejected:
            # It would be refused each time, and a message that cannot be handled must not come back for ever.
            told.log("CRITICAL", f"not kept: {rejected}", "not_kept", reason=str(rejected))


class _Told:
    """What every log line about one message says: what is known of it by then, its calls and its milliseconds."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.fields: dict[str, Any] = {}
        self._warehouse = warehouse
        self._calls = warehouse.calls
        self._started = time.monotonic()

    def log(self, severity: LogSeverity, message: str, event: str, **fields: Any) -> None:
        spent = {
            "calls": self._warehouse.calls - self._calls,
            "milliseconds": round((time.monotonic() - self._started) * 1000),
        }
        log(severity, message, event=event, **{**self.fields, **fields, **spent})


def dead_letters(delivery: Delivery, attributes: Mapping[str, str]) -> list[Message]:
    """The original bytes, in parts that Pub/Sub takes; a digest of the whole tells which parts belong together."""
    data = delivery.data
    # Pub/Sub wants data or an attribute, so an empty message can be kept as well.
    parts = [data[start : start + MAX_DATA] for start in range(0, len(data), MAX_DATA)] or [b""]
    identifier = {"message_id": delivery.id} if delivery.id else {}
    common = {**attributes, **identifier, "sha256": hashlib.sha256(data).hexdigest()}
    return [Message(part, {**common, "part": f"{n}/{len(parts)}"}) for n, part in enumerate(parts, 1)]


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


def _fitting(text: str) -> str:
    return text.encode(errors="replace")[:MAX_ATTRIBUTE].decode(errors="ignore")
