"""Captured tables: versions as capture creates them, and rows of tenants as the sink lands them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from support.bigquery_emulator import EmulatedDataset
from support.merge_shop import LONG_AGO

from onefold.changelog.metadata import DATABASE_NAME, LANDED_AT, METADATA, SOURCE_NAME
from onefold.core.names import TableId
from onefold.landing.table import VersionedTable, versioned_table
from onefold.merge.change_tables import ChangeTable
from onefold.merge.keys import (
    captured_keys,
)
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.schema.types import render_type
from onefold.schema.versions import Version
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

ID, CODE = SourceColumn("id", SourceType("int")), SourceColumn("code", SourceType("int"))
NAME, MAIL = (SourceColumn(name, SourceType("varchar", 120), "utf8mb4") for name in ("name", "mail"))


def version(*columns: SourceColumn) -> VersionedTable:
    """Return a version of `customer`. Each row names its key, which may differ between tenants."""
    return versioned_table(Structure("customer", columns))


ONE, TWO = version(ID, CODE, NAME), version(ID, CODE, NAME, MAIL)


def create(dataset: EmulatedDataset, *versions: VersionedTable) -> None:
    for table in versions:
        dataset.land(table.name, {column.name: render_type(column.type) for column in table.columns})


def land(dataset: EmulatedDataset, table: VersionedTable, *rows: dict[str, Any]) -> None:
    assert dataset.client.insert_rows_json(f"{DEFAULT_PROJECT}.{dataset.name}.{table.name}", list(rows)) == []


def row(
    tenant: str,
    sequence: str,
    key: tuple[str, ...] = ("id",),
    *,
    kind: str = "INSERT",
    landed_at: str = LONG_AGO,
    **data: Any,
) -> dict[str, Any]:
    """Return one change as it lands; `tenant` is written `source/database`."""
    source, database = tenant.split("/")
    metadata = {
        "ingestion_method": "BINLOG",
        "primary_key": list(key),
        "change_type": kind,
        "change_sequence_number": sequence,
        "source_timestamp": 1_700_000_000_000,
    }
    return {**data, SOURCE_NAME: source, DATABASE_NAME: database, LANDED_AT: landed_at, METADATA: metadata}


SINCE = datetime(2024, 5, 1, tzinfo=UTC)
TENANT = ("source_name", "database_name")


def customer(dataset: EmulatedDataset) -> TableId:
    return TableId(DEFAULT_PROJECT, dataset.name, "customer")


def read_key(dataset: EmulatedDataset, *base_keys: str, since: datetime | None = None) -> tuple[str, ...]:
    """Return the key of the captured table `customer`, read from the changes that landed after `since`."""
    table = customer(dataset)
    changes = [ChangeTable(table.sibling(found.name), Version(found.version, found.columns), since) for found in (ONE, TWO)]
    return captured_keys(EmulatedWarehouse(dataset.client), table, changes, base_keys)


def current_rows(dataset: EmulatedDataset) -> list[tuple[object, ...]]:
    """Return the rows of the current view."""
    names = "source_name, database_name, id, name"
    return dataset.run(f"SELECT {names} FROM {dataset.quoted('customer_current')} ORDER BY {names}")
