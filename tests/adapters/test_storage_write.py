"""Rows by the Storage Write API: the requests that a server gets, and the outcome of its answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import grpc
import pytest
from google.cloud.bigquery_storage_v1 import types
from google.rpc import code_pb2
from support.fake_write_api import failed
from support.sink import COLUMNS, Shop
from support.turns import at_once

import onefold.adapters.bigquery.append_connections
import onefold.adapters.bigquery.pipelined_appends
from onefold.adapters.bigquery.storage_write import StorageTableWriter
from onefold.core.errors import OnefoldError, Postponed, Rejected, TryAgain
from onefold.core.names import TableId
from onefold.schema.columns import Column
from onefold.schema.types import parse_type

ID = TableId("my-project", "shop", "customer_v_abc")
DATASETS = ("one", "two", "three")


@pytest.fixture
def table(shop: Shop) -> StorageTableWriter:
    return opened(shop)


def opened(shop: Shop) -> StorageTableWriter:
    table = shop.landing.open(ID)
    assert table
    return table


def numbers(shop: Shop) -> list[int]:
    return sorted(row["id"] for row in shop.rows)


def test_all_rows_of_a_message_go_in_one_request(shop: Shop, table: StorageTableWriter) -> None:
    assert table.append([{"id": number, "name": f"n{number}"} for number in range(3_000)]) == {}
    assert numbers(shop) == list(range(3_000))
    (request,) = shop.api.requests
    assert request.write_stream == "projects/my-project/datasets/shop/tables/customer_v_abc/streams/_default"
    assert shop.api.routed == [
        "write_stream=projects%2Fmy-project%2Fdatasets%2Fshop%2Ftables%2Fcustomer_v_abc%2Fstreams%2F_default"
    ]


def test_a_column_without_a_value_is_null(shop: Shop, table: StorageTableWriter) -> None:
    table.append([{"id": 1, "name": None}, {"id": 2, "name": ""}])
    assert [row["name"] for row in shop.rows] == [None, ""]
    assert shop.rows[0] == {**dict.fromkeys(COLUMNS), "id": 1}


def test_one_connection_serves_many_messages_in_turn(shop: Shop) -> None:
    for number in range(20):
        assert opened(shop).append([{"id": number}]) == {}
    assert shop.api.connections == 1
    described = [bool(request.proto_rows.writer_schema.proto_descriptor.field) for request in shop.api.requests]
    assert described == [True] + [False] * 19
    assert shop.landing.calls == 20 + 1  # the columns are read once


def test_messages_at_the_same_time_have_connections_of_their_own(shop: Shop) -> None:
    def work(first: int) -> None:
        for number in range(first, first + 50):
            opened(shop).append([{"id": number}])

    at_once(*(partial(work, first) for first in (0, 50, 100, 150)))
    assert numbers(shop) == list(range(200))
    assert shop.api.connections <= 4


def test_idle_connections_are_bounded(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.append_connections, "MAX_IDLE", 2)
    columns = (Column("id", parse_type("INT64")),)
    tables = [StorageTableWriter(TableId("my-project", name, "t_v_1"), columns, shop.landing) for name in DATASETS]
    for name in DATASETS:
        shop.api.create(f"{name}.t_v_1", {"id": "INT64"})
    for table in [*tables, *tables]:
        assert table.append([{"id": 1}]) == {}
    assert shop.api.connections == 6
    assert [len(shop.api.rows[f"{name}.t_v_1"]) for name in DATASETS] == [2, 2, 2]


# Invalid rows.


def test_invalid_rows_are_returned_and_all_others_are_written(shop: Shop, table: StorageTableWriter) -> None:
    refused = table.append([{"id": 1}, {"id": "x"}, {"id": 3, "other": 1}, {"id": 4}])
    assert refused.keys() == {1, 2}
    assert refused[1] == "column id: expected a whole number of 64 bits"
    assert refused[2] == "column 'other': the table has no column of that name"
    assert numbers(shop) == [1, 4]


def test_rows_that_only_bigquery_refuses_are_returned_by_index_and_all_others_are_written(
    shop: Shop,
    table: StorageTableWriter,
) -> None:
    shop.api.refuse = lambda row: "Field name: maximum length 3" if len(row["name"]) > 3 else None
    rows: list[dict[str, Any]] = [{"id": number, "name": "long" if number % 3 == 0 else "ok"} for number in range(10)]
    rows[1] = {"id": "x", "name": "ok"}
    refused = table.append(rows)
    assert sorted(refused) == [0, 1, 3, 6, 9]
    assert refused[6] == "BigQuery: Field name: maximum length 3"
    assert numbers(shop) == [2, 4, 5, 7, 8]


def test_rows_are_sent_until_no_row_error_comes_back(shop: Shop, table: StorageTableWriter) -> None:
    for index in (0, 0, 2):
        answer = failed(code_pb2.INVALID_ARGUMENT, "Errors found while processing rows.")
        answer.row_errors = [types.RowError(index=index, code="FIELDS_ERROR", message="no")]
        shop.api.problems.put(answer)
    assert sorted(table.append([{"id": number} for number in range(6)])) == [0, 1, 4]
    assert numbers(shop) == [2, 3, 5]


def test_a_message_without_a_valid_row_sends_nothing(shop: Shop, table: StorageTableWriter) -> None:
    assert table.append([{"id": "x"}, {"id": None, "born": "never"}]).keys() == {0, 1}
    assert shop.api.requests == []


def test_large_rows_go_in_several_requests_and_a_row_that_is_too_large_is_returned(
    shop: Shop,
    table: StorageTableWriter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.pipelined_appends, "MAX_ROWS", 1_000)
    refused = table.append([{"id": number, "name": "x" * size} for number, size in enumerate((10, 900, 400, 400, 2_000, 5))])
    assert list(refused) == [4]
    assert "2005 bytes" in refused[4]
    assert [len(request.proto_rows.rows.serialized_rows) for request in shop.api.requests] == [2, 3]
    assert numbers(shop) == [0, 1, 2, 3, 5]


def test_the_largest_row_that_is_sent_is_one_that_bigquery_takes(shop: Shop, table: StorageTableWriter) -> None:
    size = onefold.adapters.bigquery.pipelined_appends.MAX_ROWS - 20
    assert table.append([{"id": 1, "name": "x" * size}, {"id": 2, "name": "y" * size}]) == {}
    assert [len(row["name"]) for row in shop.rows] == [size, size]


# Errors.


@pytest.mark.parametrize("in_band", [False, True], ids=["ends the connection", "in an answer"])
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.UNAVAILABLE, Postponed),
        (grpc.StatusCode.INTERNAL, Postponed),
        (grpc.StatusCode.ABORTED, Postponed),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, Postponed),
        (grpc.StatusCode.DEADLINE_EXCEEDED, Postponed),
        (grpc.StatusCode.PERMISSION_DENIED, TryAgain),
        (grpc.StatusCode.UNAUTHENTICATED, Postponed),
        (grpc.StatusCode.NOT_FOUND, TryAgain),
        (grpc.StatusCode.FAILED_PRECONDITION, TryAgain),
        (grpc.StatusCode.INVALID_ARGUMENT, Rejected),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_transient_error_raises_try_again_and_a_refusal_raises_rejected(
    shop: Shop,
    table: StorageTableWriter,
    code: grpc.StatusCode,
    kind: type[OnefoldError],
    in_band: bool,
) -> None:
    shop.api.problems.put(failed(code.value[0], "as it was told to") if in_band else code)
    with pytest.raises(kind, match=f"shop.customer_v_abc: {code.name}: as it was told to") as caught:
        table.append([{"id": 1}])
    assert type(caught.value) is kind
    assert shop.rows == []
    assert opened(shop).append([{"id": 1}]) == {}
    assert numbers(shop) == [1]


def test_a_connection_that_ended_while_it_was_idle_is_replaced(shop: Shop, table: StorageTableWriter) -> None:
    shop.api.hang_up = True
    for number in range(3):
        assert table.append([{"id": number}]) == {}
    assert numbers(shop) == [0, 1, 2]


def test_a_table_that_was_dropped_is_read_again(shop: Shop, table: StorageTableWriter) -> None:
    table.append([{"id": 1}])
    columns = shop.api.tables.pop("shop.customer_v_abc")
    with pytest.raises(TryAgain, match="NOT_FOUND"):
        table.append([{"id": 2}])
    shop.api.tables["shop.customer_v_abc"] = columns
    assert opened(shop) is not table
    assert opened(shop).append([{"id": 2}]) == {}
    assert numbers(shop) == [1, 2]


def test_a_table_that_was_replaced_with_other_columns_is_read_again(shop: Shop, table: StorageTableWriter) -> None:
    table.append([{"id": 1}])
    shop.create("customer_v_abc", {"id": "INT64", "email": "STRING"})
    with pytest.raises(TryAgain, match="no column"):
        table.append([{"id": 2, "name": "Ada"}])
    assert opened(shop).append([{"id": 3, "email": "a@b"}]) == {}
    assert shop.rows == [{"id": 3, "email": "a@b"}]


def test_a_silent_server_is_given_up_after_a_time(
    shop: Shop,
    table: StorageTableWriter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.append_connections, "_TIMEOUT", 0.05)
    shop.api.silent.set()
    with pytest.raises(TryAgain, match="CANCELLED"):
        table.append([{"id": 1}])
    assert shop.api.connections == 1
    shop.api.silent.clear()
    assert opened(shop).append([{"id": 1}]) == {}


def test_a_server_that_does_not_exist_raises_try_again(shop: Shop, table: StorageTableWriter) -> None:
    shop.api.stop()
    with pytest.raises(TryAgain, match="UNAVAILABLE"):
        table.append([{"id": 1}])


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Check that the threads of ended connections have ended, too."""
    yield
    for thread in threading.enumerate():
        if "consume_request_iterator" in thread.name:
            thread.join(300)
            assert not thread.is_alive()
