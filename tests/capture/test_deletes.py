"""Delete scans after snapshots, in the emulator: which keys get a deletion, in which table, and which rows are left."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import oracle
from support.zetasql_judge import Judge

from onefold.capture import deletes
from onefold.capture.deletes import missing_keys
from onefold.capture.records import Origin, Record, snapshot_records, tombstone
from onefold.changelog.metadata import DATABASE_NAME, LANDED_AT, METADATA, SOURCE_NAME
from onefold.core.names import TableId
from onefold.landing.table import VersionedTable, versioned_table
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.snapshot.chunks import TableSnapshot
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.ports.warehouse import StoredTable
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Scalar, render_type
from onefold.schema.versions import Version
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse

BEFORE, START, LATER = (LogPosition(1, f"bin.{file:06}", offset) for file, offset in ((1, 9000), (2, 500), (2, 600)))
BEGAN, INT, TEXT = 1_700_000_000, SourceType("int"), SourceType("text")
FINISHED = TableSnapshot("customer1", "customer", START, None, 0, finished=True, began=BEGAN)


def structure(key: str = "id", type_: SourceType = INT, *others: str, table: str = "customer") -> Structure:
    charset = "utf8mb4" if type_.name in ("text", "varchar") else None
    columns = [SourceColumn(key, type_, charset), *(SourceColumn(name, TEXT, "utf8mb4") for name in ("name", *others))]
    return Structure(table, tuple(columns), (key,))


@dataclass(frozen=True)
class Landing:
    """Where records land, as the sink writes them."""

    dataset: EmulatedDataset

    @property
    def warehouse(self) -> EmulatedWarehouse:
        return EmulatedWarehouse(self.dataset.client)

    def create(self, table: VersionedTable) -> None:
        self.warehouse.create_table(TableId(DEFAULT_PROJECT, self.dataset.name, table.name), table.columns)

    def land(self, table: VersionedTable, *records: Record) -> None:
        self.create(table)
        rows = [landed(record) for record in records]
        if rows:
            assert self.dataset.client.insert_rows_json(f"{DEFAULT_PROJECT}.{self.dataset.name}.{table.name}", rows) == []

    def scan(
        self, present: Structure | None, finished: TableSnapshot = FINISHED, source: str = "shop-db"
    ) -> list[tuple[VersionedTable, Record]]:
        return list(missing_keys(self.warehouse, self.dataset.name, source, finished, present))


def landed(record: Record) -> dict[str, Any]:
    metadata = record["metadata"]
    fields = ("source_timestamp", "change_sequence_number", "change_type", "ingestion_method", "primary_key")
    return {
        **record["data"],
        SOURCE_NAME: metadata["source"],
        DATABASE_NAME: metadata["database_name"],
        LANDED_AT: "2024-01-01 00:00:00",
        METADATA: {**{name: metadata[name] for name in fields}, "uuid": None, "sort_keys": []},
    }


def copied(origin: Origin, row: tuple[Any, ...], position: LogPosition, timestamp: int) -> Record:
    return dict(json.loads(*snapshot_records(origin, (row,), position, timestamp)))


def change(table: VersionedTable, key: Any, kind: str, sequence: str, **origin: str) -> Record:
    names = {"source": "shop-db", "database": "customer1", **origin}
    row = [key, *["x"] * (len(table.source_names) - 1)]
    record = copied(Origin(names["source"], names["database"], table), tuple(row), START, BEGAN - 60)
    record["metadata"] |= {"change_type": kind, "change_sequence_number": sequence, "ingestion_method": "BINLOG"}
    return record


def keys(found: Sequence[tuple[VersionedTable, Record]]) -> list[Any]:
    return sorted(value for _, record in found for value in record["data"].values())


CUSTOMER = versioned_table(structure())


def test_keys_that_the_snapshot_does_not_contain_are_deleted_at_its_start(dataset: EmulatedDataset) -> None:
    landing = Landing(dataset)
    landing.land(
        CUSTOMER,
        change(CUSTOMER, 1, "INSERT", BEFORE.sequence(0)),
        change(CUSTOMER, 2, "INSERT", BEFORE.sequence(0)),
        change(CUSTOMER, 2, "UPDATE-INSERT", LATER.sequence(0)),
        change(CUSTOMER, 3, "INSERT", BEFORE.sequence(0)),
        change(CUSTOMER, 3, "DELETE", BEFORE.sequence(1)),
        change(CUSTOMER, 4, "INSERT", BEFORE.sequence(0)),
        change(CUSTOMER, 4, "UPDATE-DELETE", BEFORE.sequence(1)),
        change(CUSTOMER, 5, "INSERT", BEFORE.sequence(0)),
        copied(Origin("shop-db", "customer1", CUSTOMER), (5, "found"), START, BEGAN),
        change(CUSTOMER, 6, "INSERT", BEFORE.sequence(0), database="customer2"),
        change(CUSTOMER, 7, "INSERT", BEFORE.sequence(0), source="other-db"),
        change(CUSTOMER, 8, "DELETE", BEFORE.sequence(0)),
        change(CUSTOMER, 8, "INSERT", BEFORE.sequence(1)),
        change(CUSTOMER, 9, "INSERT", LogPosition(1, "bin.000002", 499).sequence(9)),
        change(CUSTOMER, 10, "INSERT", LogPosition(1, "bin.000002", 500).sequence(0)),
    )
    found = landing.scan(structure())
    assert keys(found) == [1, 8, 9]
    table, record = min(found, key=lambda pair: pair[1]["data"]["id"])
    assert table == CUSTOMER
    assert record == {
        "data": {"id": 1},
        "metadata": {
            "ingestion_method": "SNAPSHOT",
            "source": "shop-db",
            "database_name": "customer1",
            "table_name": "customer",
            "table_version": CUSTOMER.version,
            "primary_key": ["id"],
            "change_type": "DELETE",
            "change_sequence_number": "1/2/1F4",
            "source_timestamp": BEGAN * 1000,
        },
    }
    landing.land(CUSTOMER, *(record for _, record in found))
    assert landing.scan(structure()) == []


def test_a_row_of_the_snapshot_that_lands_late_ranks_above_the_deletion() -> None:
    origin = Origin("shop-db", "customer1", CUSTOMER)
    deletion = tombstone(origin, {"id": 1}, START, BEGAN)
    late = copied(origin, (1, "found"), START, BEGAN)
    early = change(CUSTOMER, 1, "INSERT", BEFORE.sequence(0))
    assert oracle(map(landed, (early, late, deletion)), ["id"])[0]["name"] == "found"
    assert oracle(map(landed, (early, deletion)), ["id"]) == []


def test_two_snapshots_at_one_position_differ_by_their_time(dataset: EmulatedDataset) -> None:
    landing = Landing(dataset)
    origin = Origin("shop-db", "customer1", CUSTOMER)
    rows = [copied(origin, (1, "x"), START, BEGAN - 5), copied(origin, (2, "x"), START, BEGAN)]
    landing.land(CUSTOMER, *rows)
    assert keys(landing.scan(structure())) == [1]


def test_an_empty_table_loses_every_key_and_a_dropped_table_keeps_all(dataset: EmulatedDataset) -> None:
    landing = Landing(dataset)
    landing.land(CUSTOMER, *(change(CUSTOMER, key, "INSERT", BEFORE.sequence(key)) for key in range(5)))
    assert keys(landing.scan(structure())) == [0, 1, 2, 3, 4]
    assert landing.scan(None) == []


def test_many_keys_are_read_page_by_page(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletes, "_PAGE", 2)
    landing = Landing(dataset)
    landing.land(CUSTOMER, *(change(CUSTOMER, key, "INSERT", BEFORE.sequence(key)) for key in range(3)))
    assert keys(landing.scan(structure())) == [0, 1, 2]


@pytest.mark.parametrize(
    "present",
    [Structure("customer", structure().columns), structure(type_=SourceType("double"))],
    ids=["no key", "a key without equality"],
)
def test_nothing_is_deleted_from_a_table_without_a_key(dataset: EmulatedDataset, present: Structure) -> None:
    landing = Landing(dataset)
    table = versioned_table(present)
    landing.land(table, change(table, 1, "INSERT", BEFORE.sequence(0)))
    assert landing.scan(present) == []


def test_nothing_is_deleted_where_nothing_has_landed(dataset: EmulatedDataset) -> None:
    assert Landing(dataset).scan(structure()) == []


OLD = versioned_table(structure("id", INT, "more"))


@pytest.mark.parametrize(
    ("old", "present", "value", "deleted", "where"),
    [
        (structure("id", INT, "more"), structure(), 7, {"id": 7}, "present"),
        (structure("id", INT), structure("id", TEXT), 7, {"id": "7"}, "present"),
        (structure("id", INT), structure("id", SourceType("bigint", unsigned=True)), 7, {"id": "7"}, "present"),
        (structure("id", TEXT), structure("id", INT), "x", {"id": "x"}, "old"),
        (structure("ID", INT), structure("id", INT), 7, {"id": 7}, "present"),
    ],
    ids=["the same type", "a wider type", "a wider number", "a narrower type", "another spelling"],
)
def test_a_deletion_goes_into_the_present_version_only_if_it_keeps_the_key(
    dataset: EmulatedDataset, old: Structure, present: Structure, value: Any, deleted: Mapping[str, Any], where: str
) -> None:
    landing = Landing(dataset)
    before, now = versioned_table(old), versioned_table(present)
    landing.land(before, change(before, value, "INSERT", BEFORE.sequence(0)))
    landing.create(now)
    ((table, record),) = landing.scan(present)
    assert (table.name, record["data"]) == ((now if where == "present" else before).name, deleted)
    assert record["metadata"]["table_version"] == table.version


def test_a_key_that_landed_in_several_versions_is_deleted_once(dataset: EmulatedDataset) -> None:
    landing = Landing(dataset)
    landing.land(OLD, *(change(OLD, key, "INSERT", BEFORE.sequence(0)) for key in (1, 2)))
    landing.land(
        CUSTOMER, change(CUSTOMER, 1, "INSERT", BEFORE.sequence(1)), change(CUSTOMER, 2, "INSERT", LATER.sequence(1))
    )
    assert keys(landing.scan(structure())) == [1]


def test_tables_that_capture_did_not_create_are_left_alone(dataset: EmulatedDataset) -> None:
    landing = Landing(dataset)
    dataset.land("customer_v_5b6ffe5fb", {"id": "INT64"}, "1")
    landing.land(CUSTOMER, change(CUSTOMER, 1, "INSERT", BEFORE.sequence(0)))
    assert keys(landing.scan(structure())) == [1]


VALUES: list[tuple[SourceType, list[Any]]] = [
    (INT, [-(2**31), 7]),
    (SourceType("bigint", unsigned=True), ["0", "18446744073709551615"]),
    (SourceType("decimal", 10, 2), ["-0.5", "12345678.25"]),
    (SourceType("date"), ["0001-01-01", "9999-12-31"]),
    (SourceType("datetime", 3), ["2024-02-29 03:04:05", "2024-02-29 03:04:05.678"]),
    (SourceType("timestamp", 6), ["2024-02-29 03:04:05+00:00", "2024-02-29 03:04:05.678901+00:00"]),
    (SourceType("varchar", 400), ["", ' it\'s \\ "q" \n日本 😀 ']),
    (SourceType("varbinary", 16), ["", "AP8A"]),
]
"""Keys of these types. The emulator has neither BIGNUMERIC nor INTERVAL."""
OTHER_TYPES = (SourceType("decimal", 60, 25), SourceType("time", 3))


def test_keys_of_any_type_are_returned_as_records_write_them(dataset: EmulatedDataset) -> None:
    landing = Landing(dataset)
    columns = [
        SourceColumn(f"k{n}", type_, "utf8mb4" if type_.name == "varchar" else None) for n, (type_, _) in enumerate(VALUES)
    ]
    present = Structure("customer", tuple(columns), tuple(column.name for column in columns))
    table = versioned_table(present)
    rows = [dict(zip(present.primary_key, row, strict=True)) for row in zip(*(values for _, values in VALUES), strict=True)]
    origin = Origin("shop-db", "customer1", table)
    landing.land(table, *(copied(origin, tuple(row.values()), BEFORE, BEGAN) for row in rows))
    found = landing.scan(present)
    assert sorted((record["data"] for _, record in found), key=repr) == sorted(rows, key=repr)
    landing.land(table, *(record for _, record in found))
    assert landing.scan(present) == []


@dataclass(frozen=True)
class AskedWarehouse:
    """Versions of a table without rows. What is asked of them goes to Google's analyzer and evaluator."""

    judge: Judge
    versions: tuple[Version, ...]
    base: StoredTable
    project: str = "shop-project"

    def read_versions(self, base: TableId) -> tuple[Version, ...]:
        assert str(base) == "shop-project.shop.customer"
        return self.versions

    def read_table(self, id_: TableId) -> StoredTable | None:
        assert str(id_) == "shop-project.shop.customer_base"
        return self.base

    def fetch(self, sql: str) -> list[dict[str, Any]]:
        tables = {
            f"shop-project.shop.customer_v_{version.id}": [
                (column.name, render_type(column.type)) for column in version.columns
            ]
            for version in self.versions
        }
        tables["shop-project.shop.customer_base"] = [(one.name, render_type(one.type)) for one in self.base.columns]
        assert [name for name, _ in self.judge.columns(sql, tables)] == ["version", "v0", "mark"]
        assert self.judge.rows(sql, tables) == []
        return []


@pytest.mark.parametrize(
    ("old", "position"),
    [(TEXT, Column("_position", STRING)), (SourceType("time", 0), Column("_packed_position", Scalar("BYTES")))],
    ids=str,
)
@pytest.mark.parametrize("type_", [*(type_ for type_, _ in VALUES), *OTHER_TYPES], ids=str)
def test_the_query_is_valid_in_bigquery(judge: Judge, type_: SourceType, old: SourceType, position: Column) -> None:
    tables = [versioned_table(structure("id", kind)) for kind in (type_, old)]
    versions = tuple(Version(table.version, table.columns) for table in dict.fromkeys(tables))
    columns = (*(tables[0].columns), position, Column("_deleted", Scalar("BOOL")))
    warehouse = AskedWarehouse(judge, versions, StoredTable(columns, datetime.now(UTC)))
    assert list(missing_keys(warehouse, "shop", "it's \\ 'shop'", FINISHED, structure("id", type_))) == []
