"""A table of versions with a base in the fake BigQuery, and what its log says: the state between two merges."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from support.fake_bigquery import FakeBigQuery
from support.rest import PROJECT
from support.rest_fields import rest_field

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.changelog.generator import METADATA_TYPE
from onefold.changelog.metadata import LANDED_AT, METADATA
from onefold.core.names import TableId
from onefold.merge.base_table import base_of
from onefold.merge.merge_log import LOG_COLUMNS
from onefold.merge.plan import MergePlan, plan_merge
from onefold.refresh.write import plan_refresh, refresh
from onefold.schema.columns import Column
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type, render_type
from onefold.settings.environment import Settings
from onefold.views.newest_load import kind_of

TABLE = TableId(PROJECT, "shop", "customer")
BASE, LOG, VIEW = "customer_base", "customer_merges", "customer_current"
COPY = "onefold_tmp_copy_customer_base"
NOW = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
TAIL = {METADATA: METADATA_TYPE, LANDED_AT: "TIMESTAMP"}
_STATE = {
    "now": "TIMESTAMP",
    "floor": "STRING",
    "finished_as": "STRING",
    "keys": "STRING",
    "versions": "STRING",
    "base_created": "TIMESTAMP",
    "started_at": "TIMESTAMP",
    "comparable": "BOOL",
    "zones": "STRING",
    "landed": "STRING",
}


class MergedTable:
    """The table `customer`, whose merges the test invents."""

    def __init__(self, settings: Settings | None = None, **columns: str) -> None:
        self.settings = settings or Settings(tables={"customer": TableRules(keys=("id",))})
        self.cloud = FakeBigQuery()
        self.land("abc", **columns or {"name": "STRING"})
        self.warehouse = BigQueryWarehouse(self.cloud.client())

    def land(self, version: str, **columns: str) -> None:
        """Create a version with a key, whose rows have been counted."""
        self.cloud.land(f"customer_v_{version}", {"id": "INT64", **columns, **TAIL})
        counts = [(version, 0, None) for version in self._versions()]
        self.cloud.statements.answer("AS `then`", {"version": "STRING", "now": "INT64", "then": "INT64"}, *counts)

    def merge(
        self,
        *versions: str,
        packed: bool = True,
        floor: str | None = None,
        key: str = "id",
        comparable: bool = True,
        zones: dict[str, str] | None = None,
        **columns: str,
    ) -> None:
        """Have a base of columns, into which versions were merged, and its log.

        Args:
            versions: the versions; by default all that are there.
            packed: whether the base was made by this release, whose positions are bytes.
            floor: that of a purge, if there was one.
            key: the column of the key.
            comparable: whether a merge has logged that the positions of the base can be compared.
            zones: columns and the time zones in which their values were read.
            columns: those of the base without the key.
        """
        types = {"id": "INT64", **columns, **TAIL}
        base = base_of(TABLE, [Column(name, parse_type(text)) for name, text in types.items()], [key])
        self.cloud.land(BASE, {one.name: render_type(one.type) for one in replace(base, packed=packed).stored})
        read = versions or self._versions()
        logged(self.cloud, TABLE, [key], read, floor=floor, comparable=comparable, zones=zones)

    def _versions(self) -> list[str]:
        return [name.removeprefix("customer_v_") for name in self.cloud.names("TABLE") if name.startswith("customer_v_")]

    def plan(self) -> MergePlan:
        """Return what the next merge has to do."""
        return plan_merge(self.warehouse, TABLE, self.settings)

    def write(self, **options: Any) -> str:
        """Write the current view, as messages do, and return its text."""
        self.know()
        refresh(kind_of(self.warehouse, TABLE, self.settings), **options)
        return self.text()

    def know(self) -> None:
        """Have the warehouse know the types of the columns of the view."""
        view = plan_refresh(kind_of(self.warehouse, TABLE, self.settings)).view
        shown = view.columns if view else ()
        self.cloud.schema_of = lambda _: [rest_field(column.name, column.type) for column in shown]

    def text(self) -> str:
        return str(self.cloud.resource(VIEW)["view"]["query"])

    def reads(self) -> set[str]:
        """Return what the view reads, but for the log."""
        names = {*self.cloud.names("TABLE")} - {LOG}
        return {name for name in names if f"FROM {TABLE.sibling(name).quoted}" in self.text()}

    @property
    def ran(self) -> list[str]:
        """Return the statements that changed tables, in one line each."""
        return [" ".join(sql.split()) for sql in self.cloud.statements.ran]


def logged(
    cloud: FakeBigQuery,
    table: TableId,
    keys: Sequence[str],
    versions: Sequence[str],
    *,
    floor: str | None = None,
    comparable: bool = True,
    zones: Mapping[str, str] | None = None,
) -> None:
    """Have a log of merges that says what is in the base of a table, which exists.

    Args:
        cloud: where the base is.
        table: the table.
        keys: the columns of the key.
        versions: the versions that were merged.
        floor: that of a purge, if there was one.
        comparable: whether a merge has logged that the positions of the base can be compared.
        zones: columns and the time zones in which their values were read.
    """
    dataset, columns = str(table.dataset), {one.name: render_type(one.type) for one in LOG_COLUMNS}
    cloud.land(f"{table.table}_merges", columns, dataset=dataset)
    created = datetime.fromtimestamp(int(cloud.resource(f"{table.table}_base", dataset)["creationTime"]) / 1_000, UTC)
    merged = (json.dumps(keys), json.dumps(versions), created, NOW - timedelta(days=1), comparable)
    merged_in = (*merged, json.dumps([*(zones or {}).items()]), None)
    rows = [(NOW, floor, *[None] * 8), (None, None, "create", *merged_in), (None, None, "merge", *merged_in)]
    cloud.statements.answer("AS finished_as", _STATE, *rows)
