"""What the tests of captured tables share: versions as capture makes them, and rows of tenants as the sink lands them."""

from __future__ import annotations

from typing import Any

from support.bigquery_emulator import EmulatedDataset
from support.merge_shop import LONG_AGO

from onefold.adapters.bigquery.emulator import DEFAULT_PROJECT
from onefold.capture.versioned_table import VersionedTable, versioned_table
from onefold.changelog.metadata import DATABASE_NAME, LANDED_AT, METADATA, SOURCE_NAME
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.schema.types import render_type

ID, CODE = SourceColumn("id", SourceType("int")), SourceColumn("code", SourceType("int"))
NAME, MAIL = (SourceColumn(name, SourceType("varchar", 120), "utf8mb4") for name in ("name", "mail"))


def version(*columns: SourceColumn) -> VersionedTable:
    """A version of `customer`. Each row names its key, which may differ between tenants."""
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
    """One change of a tenant, `source/database`, as it lands."""
    source, database = tenant.split("/")
    metadata = {
        "ingestion_method": "BINLOG",
        "primary_key": list(key),
        "change_type": kind,
        "change_sequence_number": sequence,
        "source_timestamp": 1_700_000_000_000,
    }
    return {**data, SOURCE_NAME: source, DATABASE_NAME: database, LANDED_AT: landed_at, METADATA: metadata}
