"""Messages with rows of many tables: those of a table that fails are tried again or dead-lettered alone, all others land."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.rpc import code_pb2
from support.fake_write_api import failed
from support.sink import ADA, COLUMNS, Shop, client, lines, message, post, record, shop  # noqa: F401
from werkzeug.test import Client

from onefold.core.errors import TryAgain
from onefold.core.names import TableId
from onefold.messages.change_records import encode_record, message_of_tables


def row(number: int, table: str = "customer", version: str = "abc") -> dict[str, Any]:
    return record({"id": number}, table_name=table, table_version=version)


def rows_of(*records: Any, dataset: str = "shop") -> bytes:
    """Return a message as capture writes it."""
    return message_of_tables(dataset, map(encode_record, records))


def landed(shop: Shop, table: str) -> list[int]:  # noqa: F811
    return [found["id"] for found in shop.api.rows[f"shop.{table}_v_abc"]]


def published(shop: Shop) -> list[bytes]:  # noqa: F811
    return [found.data for found in shop.publisher.topics.get("change-records", [])]


@pytest.fixture
def orders(shop: Shop) -> None:  # noqa: F811
    shop.create("orders_v_abc", COLUMNS)


@pytest.mark.usefixtures("orders")
def test_rows_of_many_tables_land_in_their_order_by_one_connection(client: Client, shop: Shop) -> None:  # noqa: F811
    assert post(client, rows_of(row(1), row(2, "orders"), row(3), row(4, "orders"), row(5))) == 204
    assert (landed(shop, "customer"), landed(shop, "orders")) == ([1, 3, 5], [2, 4])
    assert (len(shop.api.requests), shop.api.connections) == (2, 1)
    assert {found["_landed_at"] for rows in shop.api.rows.values() for found in rows} == {shop.sink.now()}
    assert shop.letters == []


@pytest.mark.usefixtures("orders")
def test_one_line_says_how_much_landed_in_how_many_tables(
    client: Client,  # noqa: F811
    lines: Callable[[], list[dict[str, Any]]],  # noqa: F811
) -> None:
    post(client, rows_of(row(1), row(2, "orders"), row(3, "orders")))
    (line,) = lines()
    assert (line["event"], line["tables"], line["rows"], line["refused"]) == ("landed", 2, 3, 0)
    assert line["message"] == "shop: 3 rows landed in 2 tables"
    assert "table" not in line


def test_a_message_with_rows_of_one_table_is_logged_as_before(
    client: Client,  # noqa: F811
    lines: Callable[[], list[dict[str, Any]]],  # noqa: F811
) -> None:
    post(client, rows_of(row(1)))
    (line,) = lines()
    assert (line["table"], line["version"], line["message"]) == ("customer", "abc", "shop.customer_v_abc: 1 rows landed")


def test_rows_of_a_table_that_does_not_exist_yet_become_a_message_of_their_own(
    client: Client,  # noqa: F811
    shop: Shop,  # noqa: F811
    lines: Callable[[], list[dict[str, Any]]],  # noqa: F811
) -> None:
    assert post(client, rows_of(row(1), row(2, "orders"), row(3), row(4, "orders"))) == 204
    assert landed(shop, "customer") == [1, 3]
    (again,) = published(shop)
    assert again == message(row(2, "orders"), row(4, "orders"), table="orders")
    assert [(line["event"], line.get("table"), line["rows"]) for line in lines()] == [
        ("try_again", "orders", 2), ("landed", None, 2),
    ]  # fmt: skip
    assert post(client, again) == 500, "from now on Pub/Sub delivers them again, with its pauses"
    assert len(published(shop)) == 1
    shop.create("orders_v_abc", COLUMNS)
    assert post(client, again) == 204
    assert (landed(shop, "customer"), landed(shop, "orders")) == ([1, 3], [2, 4])


def test_rows_of_a_table_that_capture_did_not_make_are_dead_lettered_alone(client: Client, shop: Shop) -> None:  # noqa: F811
    shop.create("orders_v_abc", {"id": "INT64"})
    assert post(client, rows_of(row(1), row(2, "orders"), row(3))) == 204
    assert landed(shop, "customer") == [1, 3]
    (letter,) = shop.letters
    assert letter.data == message(row(2, "orders"), table="orders")
    assert "shop.orders_v_abc: expected a table that capture made" in letter.attributes["reason"]
    assert (letter.attributes["kind"], letter.attributes["message_id"]) == ("SchemaConflict", "1234")
    assert published(shop) == []


@pytest.mark.usefixtures("orders")
def test_rows_that_bigquery_finally_refuses_are_dead_lettered_alone(client: Client, shop: Shop) -> None:  # noqa: F811
    shop.api.problems.put(failed(code_pb2.INVALID_ARGUMENT, "no such form of rows"))
    assert post(client, rows_of(row(1), row(2, "orders"))) == 204
    assert landed(shop, "orders") == [2]
    (letter,) = shop.letters
    assert letter.data == message(row(1))


@pytest.mark.usefixtures("orders")
def test_a_record_that_does_not_fit_is_dead_lettered_with_its_table(client: Client, shop: Shop) -> None:  # noqa: F811
    invalid = record({"id": "seven"}, table_name="orders")
    assert post(client, rows_of(row(1), invalid, row(3, "orders"))) == 204
    assert (landed(shop, "customer"), landed(shop, "orders")) == ([1], [3])
    (letter,) = shop.letters
    assert letter.data == message(invalid, table="orders")


@pytest.mark.parametrize(
    ("invalid", "reason"),
    [
        (7, "expected texts as table_name and table_version"),
        ({"data": {}}, "expected texts as table_name and table_version"),
        ({**ADA, "metadata": None}, "expected texts as table_name and table_version"),
        (record({}, table_name=None), "expected texts as table_name and table_version"),
        (record({}, table_version=7), "expected texts as table_name and table_version"),
        (record({}, table_name="../secret"), "table '../secret' is not a valid name"),
        (record({}, table_version="1 OR 1"), "version '1 OR 1' is not a valid name"),
        (record({}, table_version="xyz"), "is no version xyz of customer"),
    ],
)
def test_a_record_that_names_no_table_is_dead_lettered_and_the_others_land(
    client: Client,  # noqa: F811
    shop: Shop,  # noqa: F811
    invalid: Any,
    reason: str,
) -> None:
    assert post(client, rows_of(ADA, invalid, ADA)) == 204
    assert landed(shop, "customer") == [7, 7]
    (letter,) = shop.letters
    assert reason in letter.attributes["reason"]
    assert json.loads(letter.data) == {"dataset": "shop", "records": [invalid]}
    assert post(client, letter.data) == 204, "sent again, it is a message with a reason again"
    assert [found.attributes["reason"] for found in shop.letters] == [letter.attributes["reason"]] * 2


@pytest.mark.parametrize("missing", [1, 3, 4, 9])
def test_tables_that_are_not_visible_yet_hold_up_no_other_table(client: Client, shop: Shop, missing: int) -> None:  # noqa: F811
    """They come first. Each of them ends the connection, and what is left after some of that is one message."""
    for number in range(missing):
        shop.cloud.land(f"new{number}_v_abc", COLUMNS)  # the metadata have it, and the Storage Write API does not yet
    for number in range(20):
        shop.create(f"old{number}_v_abc", COLUMNS)
    waiting = [rows_of(*(row(n, f"new{n}") for n in range(missing)), *(row(n, f"old{n}") for n in range(20)))]
    alone: list[bytes] = []
    for data in waiting:
        assert post(client, data) == 204
        for again in published(shop):
            (alone if b'"table":' in again else waiting).append(again)
        shop.publisher.topics.pop("change-records", None)
    assert all(landed(shop, f"old{number}") for number in range(20))
    assert len(waiting) <= 1 + missing / 3, "the tables that were postponed stay together"
    assert sorted(json.loads(data)["table"]["name"] for data in alone) == [f"new{number}" for number in range(missing)]
    assert shop.letters == []


def test_while_columns_cannot_be_read_rows_of_known_tables_land_and_the_others_stay_together(
    client: Client,  # noqa: F811
    shop: Shop,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def unreadable(id_: TableId) -> None:
        asked.append(id_.table)
        raise TryAgain("503")

    post(client, rows_of(row(1)))
    monkeypatch.setattr(shop.landing._tables, "read_columns", unreadable)
    assert post(client, rows_of(row(2, "one"), row(3, "two"), row(4))) == 204
    assert landed(shop, "customer") == [1, 4]
    assert published(shop) == [rows_of(row(2, "one"), row(3, "two"))]
    assert asked == ["one_v_abc"], "further reads would take as long"
    assert post(client, rows_of(row(2, "one"), row(3, "two"))) == 500


@pytest.mark.usefixtures("orders")
def test_while_no_table_takes_rows_the_whole_message_is_delivered_again(client: Client, shop: Shop) -> None:  # noqa: F811
    shop.api.problems.put(grpc.StatusCode.UNAVAILABLE)
    for _ in range(2):
        shop.api.problems.put(grpc.StatusCode.UNAVAILABLE)
    data = rows_of(row(1), row(2, "orders"))
    assert post(client, data) == 500
    assert published(shop) == []
    assert post(client, data) == 204
    assert (landed(shop, "customer"), landed(shop, "orders")) == ([1], [2])


def test_while_rows_cannot_be_published_again_the_whole_message_is_delivered_again(client: Client, shop: Shop) -> None:  # noqa: F811
    shop.publisher.errors["change-records"] = TryAgain("503")
    assert post(client, rows_of(row(1), row(2, "orders"))) == 500
    shop.publisher.errors.clear()
    assert post(client, rows_of(row(1), row(2, "orders"))) == 204
    assert published(shop) == [message(row(2, "orders"), table="orders")]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (rows_of(ADA, dataset="crm"), "dataset crm is not among ONEFOLD_DATASETS: add it there"),
        (b'{"dataset": "shop", "records": [], "records_at": "gs://b/c"}', "either"),
        (b'{"dataset": "shop", "records": {}}', "`records` is not a list of records"),
    ],
)
def test_a_message_for_no_dataset_of_this_sink_is_dead_lettered_whole(
    client: Client,  # noqa: F811
    shop: Shop,  # noqa: F811
    data: bytes,
    words: str,
) -> None:
    assert post(client, data) == 204
    (letter,) = shop.letters
    assert letter.data == data
    assert words in letter.attributes["reason"]
    assert shop.landing.calls == 0


@pytest.mark.parametrize("seed", range(10))
def test_whatever_fails_every_record_lands_or_is_kept_somewhere(client: Client, shop: Shop, seed: int) -> None:  # noqa: F811
    """Each record is in its table, in a dead letter or in a message that is delivered again; only landed rows come twice."""
    chance = random.Random(seed)
    names = [f"t{number}" for number in range(30)]
    for name in names:
        if chance.random() < 0.8:
            shop.create(f"{name}_v_abc", {"id": "INT64"} if chance.random() < 0.2 else COLUMNS)
    faults = [*grpc.StatusCode][1:]
    for _ in range(chance.randrange(4)):
        code = chance.choice(faults)
        shop.api.problems.put(chance.choice([code, failed(code.value[0], "as the test wanted")]))
    sent = [row(number, chance.choice(names)) for number in range(200)]
    waiting = [rows_of(*sent)]
    for data in waiting:
        if post(client, data) != 204:
            kept = json.loads(data)
            shop.publisher.topics.setdefault("later", []).extend(kept["records"])
        waiting += published(shop)
        shop.publisher.topics.pop("change-records", None)
    found = Counter(one["id"] for rows in shop.api.rows.values() for one in rows)
    kept = [one for letter in shop.letters for one in json.loads(letter.data)["records"]]
    kept += shop.publisher.topics.get("later", [])
    found.update(one["data"]["id"] for one in kept)
    assert set(found) == set(range(200))
