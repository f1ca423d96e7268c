"""Plain change tables whose rows have a time of arrival, as BigQuery knows it and the embedded one does not.

Made from "Work with change history" (https://cloud.google.com/bigquery/docs/change-history) and "Query partitioned tables"
(https://cloud.google.com/bigquery/docs/querying-partitioned-tables), 2026-11. A column `_committed`, which no caller sees,
holds when a row was committed; NULL is a row in the streaming buffer. It honours:

- `APPENDS(TABLE t, start, NULL)`: the rows that were committed at or after `start`, those in the streaming buffer too; a
  `start` before the time travel window is refused. It has neither `_CHANGE_TYPE` and `_CHANGE_TIMESTAMP`, nor an end;
- `_PARTITIONTIME` of tables that are partitioned by the day of arrival: that day, NULL in the streaming buffer. Nothing is
  pruned, so bytes are not told.

Both are known in the queries that the warehouse and Spark send, and the second in views, whose text is stored as it was
written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from support.bigquery_emulator import EmulatedDataset
from support.changelogs import METADATA_TYPE, Row, oracle

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.metadata import METADATA
from onefold.core.errors import Rejected
from onefold.core.names import TableId
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.ports.warehouse import StoredTable, StoredView, ViewDraft
from onefold.schema.columns import Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version
from onefold.settings.environment import Settings
from onefold.views.plain import with_plain_table
from onefold.views.reconcile import MergeResult, reconcile
from onefold.views.refresh_current import refresh_current
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse, emulator_client

COMMITTED = "_committed"
_APPENDS = re.compile(r"APPENDS\(TABLE (?P<table>`[^`]+`), TIMESTAMP '(?P<start>[^']+)', NULL\)")
_PARTITION_TIME = re.compile(r"(\w+)\._PARTITIONTIME")


class AppendedTables(EmulatedWarehouse):
    """The embedded BigQuery, with what is known of the arrival of rows."""

    def __init__(self, dataset: EmulatedDataset, travel: timedelta | None, partition: str | None) -> None:
        client = emulator_client(DEFAULT_PROJECT, dataset.host)
        send = client.query
        # Spark reads by the client alone.
        vars(client)["query"] = lambda sql, *arguments, **options: send(self._known(sql), *arguments, **options)
        super().__init__(client)
        self._travel, self._partition = travel, partition

    def time_travel(self, dataset: str) -> timedelta | None:
        return self._travel

    def read_table(self, id_: TableId) -> StoredTable | None:
        stored = super().read_table(id_)
        if stored is None or not Schema(stored.columns).has(COMMITTED):
            return stored
        columns = tuple(Schema(stored.columns).minus([COMMITTED]))
        return replace(stored, columns=columns, ingestion_partition=self._partition)

    def read_versions(self, base: TableId, names: VersionedNames = DEFAULT_NAMES) -> tuple[Version, ...]:
        found = super().read_versions(base, names)
        return tuple(replace(one, columns=tuple(Schema(one.columns).minus([COMMITTED]))) for one in found)

    def create_view(self, id_: TableId, draft: ViewDraft) -> None:
        known = replace(draft, query=self._partitioned(draft.query))
        BigQueryWarehouse.create_view(self, id_, known)
        self._store_definition(id_, draft, self._readable_columns(str(id_), known.query))

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        known = replace(draft, query=self._partitioned(draft.query))
        BigQueryWarehouse.update_view(self, stored, known)
        self._store_definition(stored.id, draft, self._readable_columns(str(stored.id), known.query))

    def _known(self, sql: str) -> str:
        return self._partitioned(_APPENDS.sub(self._appended, sql))

    def _partitioned(self, sql: str) -> str:
        return _PARTITION_TIME.sub(rf"TIMESTAMP_TRUNC(\1.{COMMITTED}, DAY)", sql)

    def _appended(self, match: re.Match[str]) -> str:
        oldest = datetime.now(UTC) - (self._travel or timedelta(0))
        if self._travel is None or datetime.fromisoformat(match["start"]) < oldest:
            raise Rejected(f"APPENDS: the time travel window of {match['table']} begins at {oldest}")
        where = f"p.{COMMITTED} IS NULL OR p.{COMMITTED} >= TIMESTAMP '{match['start']}'"
        stored = self.read_table(TableId(*match["table"].strip("`").split(".")))
        assert stored
        names = ", ".join(f"p.{name}" for name in Schema(stored.columns).names)
        return f"(SELECT {names} FROM {match['table']} AS p WHERE {where})"


@dataclass
class PlainShop:
    """A plain change table `orders`, with a dataset of its own for the base and the current view."""

    dataset: EmulatedDataset
    travel: timedelta | None = timedelta(days=7)
    partition: str | None = None
    landed: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.warehouse = AppendedTables(self.dataset, self.travel, self.partition)
        self.dataset.land("orders", {"id": "INT64", "name": "STRING", METADATA: METADATA_TYPE, COMMITTED: "TIMESTAMP"})
        self.dataset.client.create_dataset(f"{self.dataset.name}__onefold")

    @property
    def table(self) -> TableId:
        return TableId(DEFAULT_PROJECT, self.dataset.name, "orders")

    @property
    def settings(self) -> Settings:
        settings = Settings(tables={"orders": TableRules(keys=("id",))})
        return with_plain_table(self.warehouse, self.table, settings)

    def land(self, changes: Sequence[Row], committed: datetime | None) -> None:
        """Rows that were committed at a time; None where they are in the streaming buffer."""
        self.landed += changes
        rows = [{**row, COMMITTED: committed and committed.isoformat()} for row in changes]
        assert self.dataset.client.insert_rows_json(str(self.table), rows) == []

    def merge(self, **options: Any) -> MergeResult:
        return reconcile(self.warehouse, self.table, self.settings, **options)

    def base(self) -> list[Mapping[str, Any]]:
        """The rows of the base without tombstones, by key."""
        rows = self.warehouse.fetch(f"SELECT * FROM {self._own('orders_base')} WHERE NOT _deleted ORDER BY id")
        return [{"id": row["id"], "name": row["name"]} for row in rows]

    def current(self) -> list[Mapping[str, Any]]:
        """The rows of the current view, by key."""
        view = refresh_current(self.warehouse, self.table, (), self.settings)
        assert view.id.quoted == self._own("orders_current")
        return [dict(row) for row in self.warehouse.fetch(f"SELECT id, name FROM {view.id.quoted} ORDER BY id")]

    def expected(self) -> list[Mapping[str, Any]]:
        """What the oracle makes of all that landed."""
        rows = oracle([{"name": None, **row} for row in self.landed], ("id",))
        return sorted(({"id": row["id"], "name": row["name"]} for row in rows), key=lambda row: row["id"])

    def forget_whole_reads(self) -> None:
        """Let the last merge that read the whole table be two days ago."""
        self.warehouse.execute(
            f"UPDATE {self._own('orders_merges')} SET started_at = TIMESTAMP_SUB(started_at, INTERVAL 2 DAY) "
            "WHERE finished_as = 'merge_whole'"
        )

    def _own(self, name: str) -> str:
        return TableId(DEFAULT_PROJECT, f"{self.dataset.name}__onefold", name).quoted
