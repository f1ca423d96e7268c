"""A publisher in memory, and messages as Pub/Sub and the audit log send them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from support.rest import PROJECT

from onefold.ports.publisher import Message

ABC = {"id": "INT64", "first_name": "STRING", "last_name": "STRING", "full_name": "STRING"}
DEF = {"id": "STRING", "first_name": "STRING", "last_name": "STRING", "email": "STRING"}


class MemoryPublisher:
    """`onefold.adapters.pubsub.Publisher` in memory; a topic may refuse messages with an error."""

    def __init__(self) -> None:
        self.topics: dict[str, list[Message]] = {}
        self.errors: dict[str, Exception] = {}

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        if topic in self.errors:
            raise self.errors[topic]
        published = self.topics.setdefault(topic, [])
        start = len(published)
        published.extend(messages)
        return [f"{topic}-{number}" for number in range(start, len(published))]


def push_body(data: bytes, identifier: str = "1234") -> bytes:
    """What a Pub/Sub push carries, and a CloudEvent in binary mode as well."""
    message = {"data": base64.b64encode(data).decode(), "messageId": identifier, "attributes": {"from": "a test"}}
    return json.dumps({"message": message, "subscription": "projects/my-project/subscriptions/refresh"}).encode()


def event_body(data: bytes, in_base64: bool = False) -> bytes:
    """A CloudEvent in structured mode."""
    inner = push_body(data)
    content: dict[str, Any] = {"data_base64": base64.b64encode(inner).decode()} if in_base64 else {"data": json.loads(inner)}
    source = "//pubsub.googleapis.com/projects/my-project/topics/table-created"
    type_ = "google.cloud.pubsub.topic.v1.messagePublished"
    return json.dumps({"specversion": "1.0", "id": "1", "source": source, "type": type_, **content}).encode()


def audit_entry(
    table: str,
    kind: str = "tableCreation",
    view: bool = False,
    project: str = PROJECT,
    dataset: str = "shop",
    labels: Mapping[str, str] | None = None,
) -> bytes:
    """BigQuery's audit log entry, as a log sink sends it."""
    resource = f"projects/{project}/datasets/{dataset}/tables/{table}"
    definition: dict[str, Any] = {"view": {"query": "SELECT 1 AS one"}} if view else {"view": {}}
    definition |= {"tableInfo": {"labels": dict(labels)}} if labels else {}
    details = {"reason": "JOB", **({"table": {"tableName": resource, **definition}} if kind != "tableDeletion" else {})}
    payload = {
        "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
        "serviceName": "bigquery.googleapis.com",
        "methodName": "google.cloud.bigquery.v2.TableService.InsertTable",
        "resourceName": resource,
        "metadata": {"@type": "type.googleapis.com/google.cloud.audit.BigQueryAuditMetadata", kind: details},
    }
    return json.dumps({"protoPayload": payload, "insertId": "x", "severity": "NOTICE"}).encode()
