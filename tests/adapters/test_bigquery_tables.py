"""Tables of BigQuery, through Google's own client over the fake transport."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from google.cloud.bigquery import SchemaField
from support.bigquery_views import BASE, QUERY, VIEW
from support.fake_bigquery import FakeBigQuery, Request

import onefold.adapters.bigquery.schema
from onefold.changelog.generator_values import TYPES
from onefold.core.errors import TryAgain
from onefold.ports.warehouse import BaseWarehouse, ViewDraft, Warehouse
from onefold.schema.columns import Column
from onefold.schema.types import parse_type


def test_a_table_counts_only_with_columns_and_not_as_a_view(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.create_table("customer_v_empty")
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    assert warehouse.has_table(BASE.sibling("customer_v_abc"))
    assert not warehouse.has_table(BASE.sibling("customer_v_empty"))
    assert not warehouse.has_table(BASE.sibling("customer_v_gone"))
    assert not warehouse.has_table(VIEW)


def test_tables_are_listed_to_the_last_page_and_every_page_is_counted(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    for base in ("order", "customer", "item"):
        cloud.create_table(f"{base}_v_1", "id INT64")
    warehouse.create_view(VIEW, ViewDraft(QUERY))
    cloud.tables_per_page = 2
    before = warehouse.calls
    assert set(warehouse.list_bases("shop")) == {"order", "customer", "item"}
    assert warehouse.calls - before == 3
    assert warehouse.list_views("shop") == ("customer_unified",)


def test_a_table_was_written_when_it_was_last_changed_unless_rows_are_in_its_streaming_buffer(
    cloud: FakeBigQuery, warehouse: BaseWarehouse
) -> None:
    table = BASE.sibling("customer_v_abc")
    cloud.change("customer_v_abc", lambda stored: stored.update(lastModifiedTime="1767323045678"))
    assert warehouse.written_at(table) == datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    buffer = {"estimatedRows": "1", "estimatedBytes": "8", "oldestEntryTime": "1767323045000"}
    cloud.change("customer_v_abc", lambda stored: stored.update(streamingBuffer=buffer))
    assert warehouse.written_at(table) is None
    assert warehouse.written_at(BASE.sibling("customer_v_gone")) is None


def test_the_size_of_a_table_counts_what_is_being_streamed(cloud: FakeBigQuery, warehouse: BaseWarehouse) -> None:
    table = BASE.sibling("customer_v_abc")
    cloud.change("customer_v_abc", lambda stored: stored.update(numRows="90", numBytes="9000"))
    found = warehouse.table_size(table)
    assert found is not None
    assert (found.rows, found.size) == (90, 9_000)
    buffer = {"estimatedRows": "10", "estimatedBytes": "500", "oldestEntryTime": "1767323045000"}
    cloud.change("customer_v_abc", lambda stored: stored.update(streamingBuffer=buffer))
    found = warehouse.table_size(table)
    assert found is not None
    assert (found.rows, found.size) == (100, 9_500)
    assert warehouse.table_size(BASE.sibling("customer_v_gone")) is None


@pytest.mark.parametrize(
    ("partitions", "expires"),
    [
        ({"type": "DAY", "field": "_landed_at", "expirationMs": "7776000000"}, True),
        ({"type": "DAY", "field": "_landed_at"}, False),
    ],
)
def test_the_size_of_a_table_tells_whether_its_partitions_expire(
    cloud: FakeBigQuery, warehouse: BaseWarehouse, partitions: dict[str, str], expires: bool
) -> None:
    cloud.change("customer_v_abc", lambda stored: stored.update(numRows="90", numBytes="9000", timePartitioning=partitions))
    found = warehouse.table_size(BASE.sibling("customer_v_abc"))
    assert found is not None
    assert found.expires == expires


def test_only_a_temporary_table_expires(cloud: FakeBigQuery, warehouse: BaseWarehouse) -> None:
    before = datetime.now(UTC)
    for name in ("onefold_tmp_keys_1", "customer_onefold_tmp_"):
        warehouse.create_table(BASE.sibling(name), [Column("id", parse_type("INT64"))])
    expiry = int(cloud.resource("onefold_tmp_keys_1")["expirationTime"]) / 1000
    assert timedelta(hours=23) < datetime.fromtimestamp(expiry, UTC) - before < timedelta(hours=25)
    assert cloud.resource("customer_onefold_tmp_").get("expirationTime") is None


def test_a_clone_does_not_count_as_a_table(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.create_table("customer_v_clone", "id INT64")
    clone = VIEW.sibling("customer_v_clone")
    assert warehouse.has_table(clone)
    cloud.change("customer_v_clone", lambda table: table.update(cloneDefinition={"cloneTime": "2024-01-01T00:00:00.000Z"}))
    assert not warehouse.has_table(clone)


def test_an_error_on_a_later_page_of_a_list_raises_try_again(cloud: FakeBigQuery, warehouse: Warehouse) -> None:
    cloud.create_table("customer_v_def", "id INT64")
    cloud.tables_per_page = 1

    def break_second_page(request: Request) -> None:
        if request.kind == "list" and cloud.log.count(request) == 1:
            cloud.after = lambda _: None
            cloud.fail("list", 503, "backendError")

    cloud.after = break_second_page
    with pytest.raises(TryAgain):
        warehouse.list_views("shop")


@pytest.mark.parametrize("type_", TYPES.values(), ids=TYPES)
def test_a_column_of_every_type_becomes_a_field_of_that_type(type_: str) -> None:
    field = onefold.adapters.bigquery.schema.rest_field(Column("x", parse_type(type_)))
    described = onefold.adapters.bigquery.schema.type_string(SchemaField.from_api_repr(field.to_api_repr()))
    assert parse_type(described) == parse_type(type_)
