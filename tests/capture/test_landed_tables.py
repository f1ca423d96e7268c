"""Delete scans where the base has rows that the versioned tables have lost, and the version that takes their deletions."""

from __future__ import annotations

from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset

from onefold.capture.deletes import missing_keys
from onefold.changelog.packed_position import packed_sql
from onefold.changelog.position import Position
from onefold.core.names import TableId
from onefold.landing.table import HASHED, VersionedTable, versioned_table
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.snapshot.chunks import TableSnapshot
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

START, BEGAN = LogPosition(1, "bin.000002", 500), 1_700_000_000
EARLY, LATE = LogPosition(1, "bin.000001", 9000), LogPosition(1, "bin.000002", 600)
FINISHED = TableSnapshot("customer1", "customer", START, None, 0, finished=True, began=BEGAN)
HASH = "ab" * 32


def structure(type_: SourceType) -> Structure:
    charset = "utf8mb4" if type_.name == "varchar" else None
    return Structure("customer", (SourceColumn("id", type_, charset),), ("id",))


def create(dataset: EmulatedDataset, type_: SourceType) -> VersionedTable:
    """Make a version without rows: they have expired."""
    table = versioned_table(structure(type_))
    EmulatedWarehouse(dataset.client).create_table(TableId(DEFAULT_PROJECT, dataset.name, table.name), table.columns)
    return table


def row(key: str, at: LogPosition, deleted: bool = False, database: str = "customer1") -> str:
    position = Position(at.sequence(0), BEGAN * 1000, deleted=deleted, tie_break=" 0123456789abcdef")
    return f"{key}, 'shop-db', '{database}', '{position}', {deleted}"


def land_base(dataset: EmulatedDataset, key: str, *rows: str) -> None:
    columns = {"id": key, "source_name": "STRING", "database_name": "STRING", "_position": "STRING", "_deleted": "BOOL"}
    dataset.land("customer_base", columns, *rows)


def scan(dataset: EmulatedDataset, type_: SourceType) -> list[tuple[str, Any]]:
    """Return the version and the key of each deletion."""
    found = missing_keys(EmulatedWarehouse(dataset.client), dataset.name, "shop-db", FINISHED, structure(type_))
    return sorted((table.version, record["data"]["id"]) for table, record in found)


@pytest.mark.parametrize("is_packed", [False, True], ids=["positions as text", "packed positions"])
def test_rows_that_only_the_base_has_are_deleted_unless_they_are_of_later_or_of_others(
    dataset: EmulatedDataset, *, is_packed: bool
) -> None:
    table = create(dataset, SourceType("int"))
    rows = (row("1", EARLY), row("2", EARLY, deleted=True), row("3", LATE), row("4", EARLY, database="customer2"))
    land_base(dataset, "INT64", *rows)
    if is_packed:
        base, packed = dataset.quoted("customer_base"), f"{packed_sql('_position')} AS _packed_position"
        dataset.run(f"CREATE OR REPLACE TABLE {base} AS SELECT * EXCEPT (_position), {packed} FROM {base}")
    assert scan(dataset, SourceType("int")) == [(table.version, 1)]


def test_a_deletion_lands_in_a_version_whose_key_holds_every_value_of_the_base(dataset: EmulatedDataset) -> None:
    text = create(dataset, SourceType("varchar", 30))
    create(dataset, SourceType("int"))
    land_base(dataset, "STRING", row("'007'", EARLY))
    assert scan(dataset, SourceType("int")) == [(text.version, "007")]


def test_a_key_that_is_not_hashed_gets_into_no_version_with_hashes(dataset: EmulatedDataset) -> None:
    text, hashed = create(dataset, SourceType("varchar", 30)), create(dataset, HASHED)
    land_base(dataset, "STRING", row("'ada@example.com'", EARLY), row(f"'{HASH}'", EARLY))
    assert scan(dataset, HASHED) == sorted([(text.version, "ada@example.com"), (hashed.version, HASH)])


def test_a_table_of_that_name_that_is_no_base_is_not_read(dataset: EmulatedDataset) -> None:
    create(dataset, SourceType("int"))
    dataset.land("customer_base", {"id": "INT64"}, "1")
    assert scan(dataset, SourceType("int")) == []
