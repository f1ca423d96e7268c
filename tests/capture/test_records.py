"""The records of row changes: their form, and which changes an update makes."""

from __future__ import annotations

import json

from onefold.capture.records import Origin, change_records, snapshot_records, source_event
from onefold.changelog.position import Position
from onefold.landing.table import versioned_table
from onefold.mysql.binlog.events import LogPosition, RowsChanged
from onefold.mysql.binlog.rows import Row
from onefold.mysql.table import SourceColumn, SourceType, Structure

COLUMNS = (SourceColumn("id", SourceType("int")), SourceColumn("database_name", SourceType("text"), "utf8mb4"))
KEYED = Structure("customer", COLUMNS, ("id",))
KEYLESS = Structure("customer", COLUMNS)
PLACE = LogPosition(1, "bin.000255", 4096)


def origin(structure: Structure) -> Origin:
    return Origin("shop-db", "customer1", versioned_table(structure))


def change(before: tuple[Row, ...], after: tuple[Row, ...], structure: Structure = KEYED) -> RowsChanged:
    return RowsChanged(PLACE, 1_700_000_000, "customer1", structure, before, after)


def kinds(structure: Structure, before: tuple[Row, ...], after: tuple[Row, ...]) -> list[tuple[str, object, str]]:
    found = map(json.loads, change_records(origin(structure), change(before, after, structure)))
    return [
        (record["metadata"]["change_type"], record["data"]["id"], record["metadata"]["change_sequence_number"])
        for record in found
    ]


def test_a_record_has_the_row_and_its_metadata() -> None:
    (record,) = map(json.loads, change_records(origin(KEYED), change((), ((7, "x"),))))
    assert record == {
        "data": {"id": 7, "database_name_": "x"},
        "metadata": {
            "ingestion_method": "BINLOG",
            "source": "shop-db",
            "database_name": "customer1",
            "table_name": "customer",
            "table_version": versioned_table(KEYED).version,
            "primary_key": ["id"],
            "change_type": "INSERT",
            "change_sequence_number": "1/FF/1000/0",
            "source_timestamp": 1_700_000_000_000,
        },
    }


def test_each_row_of_an_event_has_its_own_position() -> None:
    assert kinds(KEYED, (), ((1, "a"), (2, "b"))) == [("INSERT", 1, "1/FF/1000/0"), ("INSERT", 2, "1/FF/1000/1")]


def test_an_update_of_the_key_is_two_changes_the_deletion_first() -> None:
    assert kinds(KEYED, ((1, "a"), (5, "a")), ((2, "a"), (5, "b"))) == [
        ("UPDATE-DELETE", 1, "1/FF/1000/0"),
        ("UPDATE-INSERT", 2, "1/FF/1000/0"),
        ("UPDATE-INSERT", 5, "1/FF/1000/1"),
    ]


def test_without_a_key_the_whole_row_is_the_key() -> None:
    assert kinds(KEYLESS, ((1, "a"), (1, "a")), ((1, "b"), (1, "a"))) == [
        ("UPDATE-DELETE", 1, "1/FF/1000/0"),
        ("UPDATE-INSERT", 1, "1/FF/1000/0"),
        ("UPDATE-INSERT", 1, "1/FF/1000/1"),
    ]


def test_a_deletion_carries_the_row() -> None:
    (record,) = map(json.loads, change_records(origin(KEYED), change(((1, "a"),), ())))
    assert (record["metadata"]["change_type"], record["data"]) == ("DELETE", {"id": 1, "database_name_": "a"})


def test_a_row_of_a_snapshot_ranks_below_changes_from_its_position_on_and_above_those_before() -> None:
    (record,) = snapshot_records(origin(KEYED), ((1, "a"),), PLACE, 1_700_000_009)
    metadata = json.loads(record)["metadata"]
    assert (metadata["ingestion_method"], metadata["change_type"]) == ("SNAPSHOT", "INSERT")
    snapshot = Position(metadata["change_sequence_number"], metadata["source_timestamp"])
    before = Position(LogPosition(1, "bin.000255", 4000).sequence(9), 1_700_000_000_000)
    after = Position(PLACE.sequence(0), 1_700_000_000_000, deleted=True)
    assert str(before) < str(snapshot) < str(after)


def test_an_event_of_a_table_has_the_same_identifier_each_time_the_log_is_read() -> None:
    position = LogPosition(1, "bin.000001", 4)
    one, again, other = (
        source_event("shop-db", "shop", "crm", table, position, "table dropped") for table in ("a b", "a b", None)
    )
    assert one == again
    assert json.loads(one.data)["id"] != json.loads(other.data)["id"]
    assert one.attributes == {"severity": "CRITICAL", "dataset": "shop", "table": "a_b"}
    assert json.loads(other.data)["table"] is None
