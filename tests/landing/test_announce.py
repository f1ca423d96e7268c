"""New versions: their table is created and announced before the first row is published."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from support.capture import DATASET, MemoryTables, RecordingPublisher

from onefold.core.errors import SchemaConflict, TryAgain
from onefold.core.names import TableId
from onefold.core.retry import Backoff
from onefold.core.shutdown import Stop
from onefold.landing.announce import Announcer, Destination
from onefold.landing.table import versioned_table
from onefold.mysql.table import SourceColumn, SourceType, Structure
from onefold.ports.warehouse import BaseWarehouse, StoredTable
from onefold.schema.columns import Column
from onefold.schema.types import parse_type

INT = SourceType("int")
CUSTOMER = Structure("customer", (SourceColumn("id", INT), SourceColumn("name", SourceType("text"), "utf8mb4")), ("id",))
TABLE = versioned_table(CUSTOMER)


@pytest.fixture
def target() -> Destination:
    return Destination(cast("BaseWarehouse", MemoryTables()), RecordingPublisher(), DATASET, "table-created")


def announcer(target: Destination) -> Announcer:
    return Announcer(target, Stop())


def announced(target: Destination) -> int:
    assert isinstance(target.publisher, RecordingPublisher)
    return len(target.publisher.bodies("table-created"))


def test_a_version_is_announced_once_by_a_process_and_again_by_the_next(target: Destination) -> None:
    first, next_ = announcer(target), announcer(target)
    for _ in range(2):
        assert first.table(CUSTOMER) == TABLE
        first.publish()
    assert announced(target) == 1
    next_.table(CUSTOMER)
    next_.publish()
    assert announced(target) == 2


def test_the_table_is_created_before_it_is_announced(target: Destination, monkeypatch: pytest.MonkeyPatch) -> None:
    there: list[bool] = []
    found = target.warehouse.read_table
    publish = lambda *_: there.append(found(TableId("p", DATASET, TABLE.name)) is not None)  # noqa: E731
    monkeypatch.setattr(target.publisher, "publish", publish)
    one = announcer(target)
    one.publish()
    assert there == [], "there is nothing to announce"
    one.table(CUSTOMER)
    one.publish()
    assert there == [True]


def test_errors_that_may_pass_are_retried(target: Destination, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onefold.core.retry.OUTAGE_BACKOFF", Backoff(first=0.01, longest=0.01))
    create, tries = target.warehouse.create_table, iter([TryAgain("503"), TryAgain("503")])

    def failing(*arguments: object) -> None:
        if error := next(tries, None):
            raise error
        create(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(target.warehouse, "create_table", failing)
    one = announcer(target)
    assert one.table(CUSTOMER) == TABLE
    one.publish()
    assert announced(target) == 1


# The version of an earlier release


def exists_as(target: Destination, version: str) -> None:
    id_ = TableId("p", DATASET, f"customer_v_{version}")
    target.warehouse.create_table(id_, TABLE.columns, (), "_landed_at", (), None)


def test_a_structure_that_landed_in_an_earlier_release_keeps_its_table(target: Destination) -> None:
    exists_as(target, TABLE.former)
    assert announcer(target).table(CUSTOMER).version == TABLE.former != TABLE.version
    assert target.warehouse.read_table(TableId("p", DATASET, TABLE.name)) is None


def test_a_table_of_this_release_takes_the_rows_also_where_one_of_an_earlier_release_exists(target: Destination) -> None:
    exists_as(target, TABLE.former)
    exists_as(target, TABLE.version)
    assert announcer(target).table(CUSTOMER) == TABLE


def test_structures_that_bigquery_cannot_tell_apart_land_in_one_table(target: Destination) -> None:
    reordered = Structure("customer", CUSTOMER.columns[::-1], ("id",))
    found = announcer(target)
    assert found.table(reordered).name == found.table(CUSTOMER).name == TABLE.name


# The declared key, and tenants that have another one.


def keyed(*key: str) -> Structure:
    return Structure("customer", CUSTOMER.columns, key)


def reports(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [line for line in lines if line["event"] == "key_differs"]


def test_a_table_is_created_with_the_key_of_the_first_tenant(target: Destination) -> None:
    assert isinstance(target.warehouse, MemoryTables)
    announcer(target).tenant_table("eu", "a", keyed("id"))
    announcer(target).tenant_table("eu", "b", keyed("name", "id"))
    (found,) = target.warehouse.tables.values()
    assert found.primary_key == ("source_name", "database_name", "id")


def test_a_tenant_with_another_key_is_reported_once_by_each_process(
    target: Destination, capsys: pytest.CaptureFixture[str]
) -> None:
    first = announcer(target)
    for _ in range(2):
        first.tenant_table("eu", "a", keyed("id"))
        first.tenant_table("eu", "b", keyed("name", "id"))
        first.tenant_table("us", "b", keyed("name", "id"))
        first.tenant_table("eu", "c", keyed())
    one, other, keyless = reports(capsys)
    assert [(line["source"], line["database"], line["primary_key"]) for line in (one, other, keyless)] == [
        ("eu", "b", ["name", "id"]), ("us", "b", ["name", "id"]), ("eu", "c", []),
    ]  # fmt: skip
    assert {line["severity"] for line in (one, other, keyless)} == {"CRITICAL"}
    assert (one["dataset"], one["table"], one["version"], one["declared_key"]) == (
        DATASET,
        "customer",
        TABLE.version,
        ["id"],
    )
    where = f"`my-project.shop.{TABLE.name}`"
    assert one["message"].startswith(
        f"eu/b: customer has the key name, id, and my-project.shop.{TABLE.name} declares the key id"
    )
    assert one["message"].endswith(
        f"ALTER TABLE {where} DROP PRIMARY KEY; ALTER TABLE {where} ADD PRIMARY KEY (`source_name`, `database_name`, "
        "`name`, `id`) NOT ENFORCED"
    )
    assert "customer has no key" in keyless["message"]
    assert keyless["message"].endswith("DROP PRIMARY KEY")
    announcer(target).tenant_table("eu", "b", keyed("name", "id"))
    assert [line["database"] for line in reports(capsys)] == ["b"]


@pytest.mark.parametrize(
    "declared", [(), ("id",), ("DATABASE_NAME", "Source_Name", "Name", "ID")], ids=["none", "not capture's", "the same"]
)
def test_without_another_declared_key_nothing_is_reported(
    target: Destination, capsys: pytest.CaptureFixture[str], declared: tuple[str, ...]
) -> None:
    assert isinstance(target.warehouse, MemoryTables)
    target.warehouse.tables[TABLE.name] = StoredTable(TABLE.columns, datetime.now(UTC), (), declared)
    announcer(target).tenant_table("eu", "b", keyed("id", "name"))
    assert reports(capsys) == []


def test_another_table_with_a_key_has_to_drop_it_before_it_is_renamed(target: Destination) -> None:
    assert isinstance(target.warehouse, MemoryTables)
    target.warehouse.tables[TABLE.name] = StoredTable(TABLE.columns[:1], datetime.now(UTC), (), ("id",))
    with pytest.raises(SchemaConflict) as refused:
        announcer(target).table(CUSTOMER)
    assert refused.value.problems[-1].endswith(
        "is not the table of this version: drop its primary key, rename it, and start again"
    )


def stored(target: Destination, *columns: Column) -> None:
    assert isinstance(target.warehouse, MemoryTables)
    target.warehouse.tables[TABLE.name] = StoredTable(columns, datetime.now(UTC))


def test_a_table_with_more_columns_takes_the_rows(target: Destination) -> None:
    stored(target, *TABLE.columns, Column("note", parse_type("STRING")))
    assert announcer(target).table(CUSTOMER) == TABLE


def test_another_table_of_that_name_is_refused_with_all_its_problems(target: Destination) -> None:
    stored(target, Column("id", parse_type("STRING")), *TABLE.columns[2:])
    with pytest.raises(SchemaConflict) as refused:
        announcer(target).table(CUSTOMER)
    id_ = f"my-project.shop.{TABLE.name}"
    type_problem = f"{id_}: expected the column id to be INT64, got STRING"
    assert refused.value.problems[:2] == (type_problem, f"{id_} has no column name")
    assert announced(target) == 0


def test_a_renamed_column_is_logged(target: Destination, capsys: pytest.CaptureFixture[str]) -> None:
    announcer(target).table(Structure("t", (SourceColumn("database_name", INT),)))
    reported = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    renamed = [(line["source_column"], line["column"]) for line in reported if line["event"] == "column_renamed"]
    assert renamed == [("database_name", "database_name_")]
