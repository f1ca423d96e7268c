"""Rows of many tables by one connection: no table waits for the answer to another one, or fails because of its error."""

from __future__ import annotations

import threading
from typing import Any

import grpc
import pytest
from support.capture import eventually
from support.sink import Shop

import onefold.adapters.bigquery.append_connections
from onefold.adapters.bigquery.storage_write import StorageTableWriter
from onefold.core.errors import Postponed, Rejected, TryAgain
from onefold.core.names import TableId


def many(shop: Shop, *names: str) -> list[StorageTableWriter]:
    """Return tables of a column `id`, which BigQuery and its metadata know."""
    for name in names:
        shop.create(f"{name}_v_1", {"id": "INT64"})
    found = [shop.landing.open(TableId("my-project", "shop", f"{name}_v_1")) for name in names]
    return [table for table in found if table]


def rows_of(shop: Shop, name: str) -> list[int]:
    return [row["id"] for row in shop.api.rows[f"shop.{name}_v_1"]]


def test_many_tables_of_a_dataset_share_a_connection(shop: Shop) -> None:
    one, two = many(shop, "one", "two")
    for number in range(3):
        assert shop.landing.append_each([(one, [{"id": number}]), (two, [{"id": number}])]) == [{}, {}]
    assert one.append([{"id": 3}]) == {}
    assert (rows_of(shop, "one"), rows_of(shop, "two")) == ([0, 1, 2, 3], [0, 1, 2])
    assert shop.api.connections == 1


def test_each_request_names_its_table_and_describes_its_rows_where_the_table_changed(shop: Shop) -> None:
    one, two = many(shop, "one", "two")
    for table in (one, one, two, two, one):
        table.append([{"id": 1}])
    assert [request.write_stream.split("/")[5] for request in shop.api.requests] == [
        "one_v_1", "one_v_1", "two_v_1", "two_v_1", "one_v_1",
    ]  # fmt: skip
    described = [bool(request.proto_rows.writer_schema.proto_descriptor.field) for request in shop.api.requests]
    assert described == [True, False, True, False, True]


def test_all_requests_are_sent_before_the_first_answer(shop: Shop) -> None:
    """Else a message with rows of 200 tables would take 200 times as long as one with rows of one."""
    tables = many(shop, "one", "two", "three")
    held = threading.Event()
    shop.api.before_answer = lambda: held.wait(60)
    outcomes: list[Any] = []
    thread = threading.Thread(target=lambda: outcomes.extend(shop.landing.append_each([(t, [{"id": 1}]) for t in tables])))
    thread.start()
    eventually(lambda: len(shop.api.received) == 3)
    assert outcomes == []
    held.set()
    thread.join()
    assert outcomes == [{}, {}, {}]


@pytest.mark.parametrize("in_band", [False, True], ids=["ends the connection", "in an answer"])
@pytest.mark.parametrize("bad", [0, 1, 2])
def test_an_error_of_one_table_does_not_concern_the_others(shop: Shop, bad: int, in_band: bool) -> None:
    names = ["one", "two", "three"]
    tables = many(shop, *names)
    if in_band:
        shop.api.create(f"shop.{names[bad]}_v_1", {"other": "INT64"})
    else:
        del shop.api.tables[f"shop.{names[bad]}_v_1"]
    outcomes = shop.landing.append_each([(table, [{"id": 1}]) for table in tables])
    assert isinstance(outcomes[bad], TryAgain)
    assert [outcome for index, outcome in enumerate(outcomes) if index != bad] == [{}, {}]
    assert [rows_of(shop, name) for index, name in enumerate(names) if index != bad] == [[1], [1]]
    reopened = shop.landing.open(tables[bad].id)
    assert reopened is not tables[bad], "its columns are read again"


def test_invalid_rows_of_one_table_are_returned_and_the_others_of_all_tables_are_written(shop: Shop) -> None:
    one, two = many(shop, "one", "two")
    shop.api.refuse = lambda row: "too large" if row["id"] == 7 else None
    outcomes = shop.landing.append_each([(one, [{"id": 6}, {"id": 7}, {"id": "x"}]), (two, [{"id": 8}])])
    assert outcomes == [{1: "BigQuery: too large", 2: "column id: expected a whole number of 64 bits"}, {}]
    assert (rows_of(shop, "one"), rows_of(shop, "two")) == ([6], [8])


def test_a_connection_that_ended_for_a_reason_of_its_own_is_no_error_of_a_table(shop: Shop) -> None:
    tables = many(shop, "one", "two", "three")
    shop.api.hang_up = True  # after each answer
    assert shop.landing.append_each([(table, [{"id": 1}]) for table in tables]) == [{}, {}, {}]


def test_where_connections_end_again_and_again_the_rest_is_left_to_another_delivery(shop: Shop) -> None:
    tables = many(shop, *(f"t{number}" for number in range(40)))
    for _ in range(100):
        shop.api.problems.put(grpc.StatusCode.INVALID_ARGUMENT)
    outcomes = shop.landing.append_each([(table, [{"id": 1}]) for table in tables])
    assert {type(outcome) for outcome in outcomes} == {Postponed, Rejected}
    assert sum(type(outcome) is Rejected for outcome in outcomes) <= 3, "only that of a request which was alone is final"
    assert shop.api.connections < 10


def test_where_nothing_answers_no_table_waits_longer_than_the_others(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.adapters.bigquery.append_connections, "_TIMEOUT", 0.05)
    shop.api.silent.set()
    outcomes = shop.landing.append_each([(table, [{"id": 1}]) for table in many(shop, "one", "two", "three")])
    assert [type(outcome) for outcome in outcomes] == [Postponed] * 3
    assert shop.api.connections == 1
