"""Tables of events in a dataset of BigQuery."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from google.api_core import exceptions as api
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_RETRY

from onefold.adapters.bigquery.client import TIMEOUT
from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.event_loads import EventLoadJobs
from onefold.adapters.bigquery.event_manifest import (
    COLUMNS,
    RECORDED_AT,
    Step,
    begun_query,
    histories_query,
    insert_statements,
    known_columns,
    recorded_queries,
)
from onefold.adapters.bigquery.load_jobs import Wait, as_long_as_it_takes
from onefold.adapters.bigquery.schema import columns_of, rest_field
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.errors import NotFound, OnefoldError, Rejected, TryAgain
from onefold.core.event_labels import LABEL_BASE, LABEL_VERSION
from onefold.core.names import TableId, check_names
from onefold.core.shred_options import Warehouse
from onefold.ports.event_tables import MANIFEST_TABLE, EventTable, EventTableLoad, FoundTable, KnownColumns, LoadResult
from onefold.schema.columns import Column
from onefold.schema.growth import grown
from onefold.schema.types import parse_type

_RETRY = DEFAULT_RETRY.with_timeout(2 * TIMEOUT)
"""The client would retry for ten minutes by itself, longer than a message waits for its answer."""
_JOBS_AT_ONCE = 16
_LAYOUTS = (("root_tstamp", "root_id"), ("collector_tstamp", "event_id"))
"""The columns by which a table is partitioned and clustered: of a table of entities, and of the events themselves."""


class BigQueryEventTables:
    """`onefold.ports.event_tables.EventWarehouse` of a dataset of BigQuery."""

    warehouse: Warehouse = "bigquery"

    def __init__(self, warehouse: BigQueryWarehouse, dataset: str, jobs: EventLoadJobs | None = None) -> None:
        self._warehouse = warehouse
        self._client = warehouse.client
        check_names([("dataset", dataset)])
        self._dataset = dataset
        self._jobs = jobs or EventLoadJobs(warehouse)
        self._manifest = self._id(MANIFEST_TABLE)

    @property
    def place(self) -> str:
        return f"{self._warehouse.project}.{self._dataset}"

    def grown(self, existing: str, new: str) -> str | None:
        return grown(existing, new)

    def prepare(self) -> None:
        self._warehouse.create_table(self._manifest, COLUMNS, ["table_name", "run"], RECORDED_AT)

    def recorded(self, runs: Collection[str]) -> frozenset[tuple[str, str]]:
        rows = (row for sql in recorded_queries(self._manifest, runs) for row in self._fetch(sql))
        return frozenset((row["run"], row["table_name"]) for row in rows)

    def find(self, name: str) -> FoundTable | None:
        """Return a table as it really is.

        Raises:
            Rejected: a view, or something else than a table, has the name.
        """
        id_ = self._id(name)
        with translated(str(id_)):
            try:
                table = self._client.get_table(str(id_), retry=_RETRY, timeout=TIMEOUT)
            except api.NotFound:
                return None
        if table.table_type != "TABLE":
            raise Rejected(f"{id_}: expected a table, got a {table.table_type.lower()}: rename it")
        return _found(table)

    def histories(self, names: Collection[str]) -> Mapping[str, Sequence[KnownColumns]]:
        listed: defaultdict[str, list[KnownColumns]] = defaultdict(list)
        for row in self._fetch(histories_query(self._manifest, names)) if names else ():
            listed[row["table_name"]].append(known_columns(row))
        return listed

    def record_plan(self, run: str, registry_read_at: Any, tables: Sequence[EventTable]) -> None:
        self._record(Step(run, "planned", table, registry_read_at) for table in tables)

    def create(self, table: EventTable) -> None:
        new = bigquery.Table(str(self._id(table.name)), _fields(table))
        names = {name for name, _ in table.columns}
        for day, key in _LAYOUTS:
            if {day, key} <= names:
                new.time_partitioning = bigquery.TimePartitioning(field=day)
                new.clustering_fields = [key]
        new.description = table.uri or None
        new.labels = _labels(table)
        with translated(str(new.reference)):
            self._client.create_table(new, exists_ok=True, retry=_RETRY, timeout=TIMEOUT)

    def change(self, name: str, before: FoundTable, after: EventTable) -> None:
        """Bring a table to more columns, on the condition that nobody else changes it in between.

        Raises:
            TryAgain: another process changed the table.
        """
        id_ = self._id(name)
        with translated(str(id_)):
            table = self._client.get_table(str(id_), retry=_RETRY, timeout=TIMEOUT)
            if _found(table) != before:
                raise TryAgain(f"{id_}: somebody else has changed it since it was looked at: load again")
            table.schema = _grown_schema(table.schema, after)
            table.description = after.uri or table.description
            table.labels = {**table.labels, **_labels(after)}
            # The update has the etag of the table as its condition.
            self._client.update_table(table, ["schema", "description", "labels"], retry=_RETRY, timeout=TIMEOUT)

    def load(self, loads: Sequence[EventTableLoad], wait: float | None = None) -> Sequence[LoadResult]:
        left, begun = _time_left(wait), self._begin(loads)
        with ThreadPoolExecutor(min(_JOBS_AT_ONCE, len(loads))) as pool:
            results = list(pool.map(lambda load: self._load(load, begun.get(load.table.name), left), loads))
        done = [(load, result) for load, result in zip(loads, results, strict=True) if result.error is None]
        self._record(
            Step(load.run, "loaded", load.table, load.registry_read_at, load.rows, result.job) for load, result in done
        )
        return results

    def finish(self, run: str) -> None:
        self._record([Step(run, "finished")])

    def _begin(self, loads: Sequence[EventTableLoad]) -> Mapping[str, datetime]:
        """Record that loads begin, and return when the first loader began each of them that the manifest table knows of.

        Each loader records this before it sends a job, and reads afterwards. So the job of any loader that is at work is
        younger than the time that is read: an older job was listed by rows of the manifest table that were deleted since.
        """
        self._record(Step(load.run, "begun", load.table, load.registry_read_at) for load in loads)
        rows = self._fetch(begun_query(self._manifest, loads[0].run, [load.table.name for load in loads]))
        return {row["table_name"]: row["begun_at"] for row in rows}

    def _load(self, load: EventTableLoad, begun: datetime | None, left: Wait) -> LoadResult:
        name = load.table.name
        try:
            if begun is None:
                raise TryAgain(f"{self._manifest}: the rows of {load.run} and {name} were deleted meanwhile: load again")
            job = self._jobs.since(begun).append_parquet(self._id(name), load, left)
        except OnefoldError as error:
            return LoadResult(name, error=error)
        return LoadResult(name, job)

    def _record(self, steps: Any) -> None:
        for sql in insert_statements(self._manifest, steps):
            self._warehouse.execute(sql)

    def _fetch(self, sql: str) -> list[dict[str, Any]]:
        try:
            return self._warehouse.fetch(sql)
        except NotFound:
            return []

    def _id(self, name: str) -> TableId:
        return TableId(self._warehouse.project, self._dataset, name)


def _found(table: bigquery.Table) -> FoundTable:
    columns = tuple((column.name, str(column.type)) for column in columns_of(table.schema))
    labels = table.labels.get(LABEL_BASE, ""), table.labels.get(LABEL_VERSION, "")
    texts = tuple((field.name, field.description) for field in table.schema if field.description)
    return FoundTable(columns, table.description or "", labels, texts)


def _labels(table: EventTable) -> dict[str, str]:
    base, version = table.labels
    return {LABEL_BASE: base, LABEL_VERSION: version} if version else {}


def _fields(table: EventTable) -> list[bigquery.SchemaField]:
    described = dict(table.descriptions)
    fields = [rest_field(Column(name, parse_type(type_))).to_api_repr() for name, type_ in table.columns]
    texts = [{"description": described[name]} if name in described else {} for name, _ in table.columns]
    return [bigquery.SchemaField.from_api_repr({**field, **text}) for field, text in zip(fields, texts, strict=True)]


def _grown_schema(fields: Sequence[bigquery.SchemaField], after: EventTable) -> list[bigquery.SchemaField]:
    """Return the fields of a table with those, and the descriptions, that it lacks; what people wrote to fields stays."""
    expected = [field.to_api_repr() for field in _fields(after)]
    grown = _grown_fields([field.to_api_repr() for field in fields], expected)
    return [bigquery.SchemaField.from_api_repr(field) for field in grown]


def _grown_fields(present: Sequence[Mapping[str, Any]], expected: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    grown = [dict(field) for field in present]
    for old, new in zip(grown, expected, strict=False):
        if new.get("fields"):
            old["fields"] = _grown_fields(old["fields"], new["fields"])
        if new.get("description") and not old.get("description"):
            old["description"] = new["description"]
    return [*grown, *(dict(field) for field in expected[len(grown) :])]


def _time_left(wait: float | None, clock: Callable[[], float] = time.monotonic) -> Wait:
    if wait is None:
        return as_long_as_it_takes
    until = clock() + wait
    return lambda: max(until - clock(), 0.1)
