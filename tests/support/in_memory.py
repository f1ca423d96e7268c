"""Stand-ins for what is outside: a warehouse and a publisher in memory, which remember what was asked of them."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from onefold.core.errors import NotFound, ViewChanged
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.ports.publisher import Message
from onefold.ports.warehouse import StoredTable, StoredView, ViewDraft
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.schema.versions import Version, active_versions, fold

PROJECT = "my-project"
FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)

ABC = {"id": "INT64", "first_name": "STRING", "last_name": "STRING", "full_name": "STRING"}
DEF = {"id": "STRING", "first_name": "STRING", "last_name": "STRING", "email": "STRING"}


class MemoryWarehouse:
    """`onefold.ports.warehouse.BaseWarehouse` in memory: etags are checked, calls are counted, names in SQL are recorded.

    No table declares a key, nothing is known of when rows were written, and no SQL runs.
    """

    def __init__(self, project: str = PROJECT, names: VersionedNames = DEFAULT_NAMES) -> None:
        self.project = project
        self.calls = 0
        self.names = names
        self.tables: dict[TableId, Version] = {}
        self.unseen: set[TableId] = set()
        self.views: dict[TableId, StoredView] = {}
        self.queried: list[TableId] = []
        self.error: Exception | None = None
        self._etags = itertools.count(1)

    def land(self, dataset: str, name: str, columns: Mapping[str, str]) -> None:
        """A new table; one whose name is not a versioned one may land as well."""
        split = self.names.split(name)
        created = FIRST_DAY + timedelta(days=len(self.tables))
        fields = tuple(Column(column, parse_type(type_)) for column, type_ in columns.items())
        self.tables[TableId(self.project, dataset, name)] = Version(split[1] if split else "", fields, created)

    def get_view(self, id_: TableId) -> StoredView | None:
        self._call()
        if id_ in self.tables:
            return StoredView(id_, is_view=False)
        return self.views.get(id_)

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        self._call()
        self.queried.append(base)
        self._check_dataset(base.dataset)
        return tuple(
            version
            for id_, version in self.tables.items()
            if id_.dataset == base.dataset and id_ not in self.unseen and names.version_of(base.table, id_.table) is not None
        )

    def read_columns(self, id_: TableId) -> tuple[Column, ...] | None:
        self._call()
        version = self.tables.get(id_)
        return version.columns if version else None

    def read_table(self, id_: TableId) -> StoredTable | None:
        self._call()
        version = self.tables.get(id_)
        return StoredTable(version.columns, version.created or FIRST_DAY) if version else None

    def written_at(self, id_: TableId) -> None:  # noqa: ARG002
        self._call()

    def declared_keys(self, tables: Sequence[TableId]) -> Mapping[TableId, tuple[str, ...]]:  # noqa: ARG002
        self._call()
        return {}

    def create_table(self, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError

    def add_columns(self, *_: object) -> NoReturn:
        raise NotImplementedError

    def check_query(self, sql: str) -> NoReturn:
        raise NotImplementedError(sql)

    def fetch(self, sql: str) -> NoReturn:
        raise NotImplementedError(sql)

    def execute(self, sql: str) -> NoReturn:
        raise NotImplementedError(sql)

    def has_table(self, id_: TableId) -> bool:
        self._call()
        return id_ in self.tables

    def table_created(self, id_: TableId) -> datetime | None:
        self._call()
        version = self.tables.get(id_)
        return version.created if version else None

    def list_bases(self, dataset: str, names: VersionedNames = DEFAULT_NAMES) -> tuple[str, ...]:
        found = (names.split(table) for table in self.list_tables(dataset))
        return tuple(dict.fromkeys(split[0] for split in found if split))

    def list_tables(self, dataset: str) -> tuple[str, ...]:
        return tuple(self.list_labels(dataset))

    def list_labels(self, dataset: str) -> Mapping[str, Mapping[str, str]]:
        self._call()
        self._check_dataset(dataset)
        return {id_.table: {} for id_ in self.tables if id_.dataset == dataset}

    def list_views(self, dataset: str) -> tuple[str, ...]:
        self._call()
        return tuple(id_.table for id_ in self.views if id_.dataset == dataset)

    def create_view(self, id_: TableId, draft: ViewDraft) -> None:
        self._call()
        if id_ in self.views:
            raise ViewChanged(f"{id_} is there")
        self._store(id_, draft)

    def check_tags(self, stored: StoredView, draft: ViewDraft) -> StoredView:  # noqa: ARG002 nobody puts tags on these
        return stored

    def copy_tags(self, stored: StoredView, leaf: TableId) -> None:
        """Nobody puts policy tags on these views."""

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        self._call()
        if self.views[stored.id].etag != stored.etag:
            raise ViewChanged(f"{stored.id} was changed")
        self._store(stored.id, draft)

    def delete_view(self, id_: TableId) -> None:
        self._call()
        self.views.pop(id_, None)

    def _store(self, id_: TableId, draft: ViewDraft) -> None:
        """The columns are those of the tables that the text reads, folded: there is nothing here to run it."""
        read = [version for table, version in self.tables.items() if table.quoted in draft.query]
        etag = f"etag-{next(self._etags)}"
        columns = fold(active_versions(read, TableRules()), TableRules())
        self.views[id_] = StoredView(
            id_, True, draft.query, columns, draft.description, dict(draft.labels), etag, unannounced=draft.unannounced
        )

    def _call(self) -> None:
        self.calls += 1
        if self.error:
            raise self.error

    def _check_dataset(self, dataset: str | None) -> None:
        if all(id_.dataset != dataset for id_ in self.tables):
            raise NotFound(f"dataset {dataset}: not found")


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


def shop() -> MemoryWarehouse:
    """A warehouse with the two versions of `customer`."""
    warehouse = MemoryWarehouse()
    warehouse.land("shop", "customer_v_abc", ABC)
    warehouse.land("shop", "customer_v_def", DEF)
    return warehouse


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
