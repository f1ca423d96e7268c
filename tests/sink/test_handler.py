"""The function `sink_records` as functions-framework serves it: what lands, and which records are dead-lettered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.fake_gcs import ObjectStore
from support.fuzz_messages import EVENT_HEADERS
from support.in_memory import event_body, push_body
from support.sink import ADA, LANDED_ADA, NOW, SETTINGS, Shop, client, lines, message, post, record, shop, stored  # noqa: F401
from werkzeug.test import Client

from onefold.adapters.gcs import GcsObjects
from onefold.core.errors import Rejected, TryAgain

# What lands.


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (push_body(message(ADA)), EVENT_HEADERS),
        (event_body(message(ADA)), {"Content-Type": "application/cloudevents+json"}),
        (push_body(message(ADA)), {"Content-Type": "application/x-www-form-urlencoded"}),
    ],
    ids=["binary event", "structured event", "push called a form"],
)
def test_every_form_of_a_message_lands(client: Client, shop: Shop, body: bytes, headers: dict[str, str]) -> None:  # noqa: F811
    answer = client.post("/", data=body, headers=headers)
    assert (answer.status_code, answer.data) == (204, b"")
    (row,) = shop.rows
    assert LANDED_ADA.items() <= row.items()
    assert (str(row["price"]), row["born"].year) == ("0.50", 1815)
    assert row["_landed_at"] == NOW
    assert row["datastream_metadata"] == {
        "uuid": None,
        "source_timestamp": 1_700_000_000_000,
        "change_sequence_number": "1/FF/1000/0",
        "change_type": "INSERT",
        "sort_keys": [],
        "ingestion_method": "BINLOG",
        "primary_key": ["id"],
    }


def test_all_rows_of_a_message_land_at_the_same_time(client: Client, shop: Shop) -> None:  # noqa: F811
    post(client, message(*(record({"id": number}) for number in range(1_000))))
    assert [row["id"] for row in shop.rows] == list(range(1_000))
    assert {row["_landed_at"] for row in shop.rows} == {NOW}
    assert len(shop.api.requests) == 1


def test_a_record_without_all_columns_lands_with_null_in_the_others(client: Client, shop: Shop) -> None:  # noqa: F811
    """A deletion that is known from a key alone has no more."""
    post(client, message(record({"id": 7}, change_type="DELETE", primary_key=["id"])))
    (row,) = shop.rows
    assert (row["id"], row["name"], row["datastream_metadata"]["change_type"]) == (7, None, "DELETE")


def test_one_line_says_what_landed(client: Client, lines: Callable[[], list[dict[str, Any]]]) -> None:  # noqa: F811
    post(client, message(ADA, ADA))
    (line,) = lines()
    assert line.pop("milliseconds") >= 0
    assert line == {
        "severity": "INFO",
        "message": "shop.customer_v_abc: 2 rows landed",
        "event": "landed",
        "message_id": "1234",
        "dataset": "shop",
        "table": "customer",
        "version": "abc",
        "rows": 2,
        "refused": 0,
        "calls": 2,
    }


# Records that are too large for a message.


def test_a_record_in_the_bucket_lands(client: Client, shop: Shop) -> None:  # noqa: F811
    address = "gs://bucket/records/customer_v_abc/shop-db/größe 1/1-FF-1000-0.json"
    shop.objects.kept[address] = message(record({"id": 1, "name": "x" * 2_000_000}))
    assert post(client, stored(address)) == 204
    assert [len(row["name"]) for row in shop.rows] == [2_000_000]


def test_a_record_that_is_gone_is_a_dead_letter_at_once_where_the_account_may_list(
    shop: Shop,  # noqa: F811
    object_store: ObjectStore,
) -> None:
    sink = replace(shop.sink, settings=replace(SETTINGS, large_records="gs://bucket/records"), objects=GcsObjects())
    gone = push_body(stored("gs://bucket/records/1.json"))
    object_store.lacks = {"storage.objects.list"}
    with pytest.raises(TryAgain):
        sink.handle(gone)
    object_store.lacks = set()
    sink.handle(gone)
    (letter,) = shop.letters
    assert "gs://bucket/records/1.json: there is no such object, or no longer" in letter.attributes["reason"]


@pytest.mark.parametrize(
    "address",
    [
        "gs://other/records/1.json", "gs://bucket/recordsx/1.json", "gs://bucket/1.json", "gs://bucket/records",
        "gs://bucket/records/", "gs://bucket/records/../checkpoint.json", "gs://bucket/records/./x", "gs://bucket/records//x",
        "https://bucket/records/1.json", "file:///etc/passwd", "file://bucket/records/1.json", "gs:///bucket/records/1.json",
        "gs://bucket/records/a\nb", "gs://bucket/records/" + "a" * 2_000,
        "", 1, None, ["gs://bucket/records/1.json"],
    ],
)  # fmt: skip
def test_no_object_outside_its_folder_is_read(client: Client, shop: Shop, address: Any) -> None:  # noqa: F811
    assert post(client, stored(address)) == 204
    assert shop.objects.read_addresses == []
    assert "records_at" in shop.letters[0].attributes["reason"]


@pytest.mark.parametrize("name", ["../secret", "%2e%2e/secret", "a/%2E%2E/%2e%2e/secret", "./secret", "%2Fsecret"])
def test_no_file_outside_its_folder_is_read(shop: Shop, tmp_path: Path, name: str) -> None:  # noqa: F811
    (tmp_path / "records").mkdir()
    (tmp_path / "secret").write_bytes(message(ADA))
    settings = replace(SETTINGS, large_records=(tmp_path / "records").as_uri())
    replace(shop.sink, settings=settings, objects=GcsObjects()).handle(push_body(stored(f"{settings.large_records}/{name}")))
    assert shop.rows == []
    assert len(shop.letters) == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "not JSON"),
        (message(ADA, version="def"), "does not hold records of shop.customer_v_abc"),
        (message(ADA, dataset="crm"), "does not hold records of shop.customer_v_abc"),
        (stored("gs://bucket/records/2.json"), "does not hold records of shop.customer_v_abc"),
        (None, "there is no such object"),
    ],
)
def test_a_message_whose_object_is_not_a_message_is_dead_lettered(
    client: Client,  # noqa: F811
    shop: Shop,  # noqa: F811
    content: bytes | None,
    reason: str,
) -> None:
    address = "gs://bucket/records/1.json"
    if content is not None:
        shop.objects.kept[address] = content
    assert post(client, stored(address)) == 204
    (letter,) = shop.letters
    assert reason in letter.attributes["reason"]
    assert letter.data == stored(address)
    assert shop.rows == []


# Records that do not fit.

INVALID_RECORDS: list[tuple[Any, str]] = [
    (record({"id": "seven"}), "column id: expected a whole number of 64 bits"),
    (record({"id": 7, "born": "1815-13-01"}), "column born: there is no such date"),
    (record({"id": 7, "price": "1" + "0" * 29}), "column price: expected a number with up to 29 digits"),
    (record({"id": 7, "nickname": "A"}), "column 'nickname': the table has no column of that name"),
    (record({"id": 7, "_landed_at": "2024-01-01 00:00:00Z"}), "data: the sink itself sets _landed_at"),
    (record({"id": 7, "source_name": "other"}), "data: the sink itself sets source_name"),
    (record({"id": 7}, change_type="UPSERT"), "metadata: expected a change_type of INSERT"),
    (record({"id": 7}, change_type=["INSERT"]), "metadata: expected a change_type of INSERT"),
    (record({"id": 7}, table_version="def"), "metadata: table_version is not that of the message, abc"),
    (record({"id": 7}, source=None), "metadata: source is not a text"),
    (record({"id": 7}, change_sequence_number=5), "metadata: change_sequence_number is not a text"),
    (record({"id": 7}, source_timestamp="now"), "column source_timestamp: expected a whole number"),
    (record({"id": 7}, shard="3"), "metadata: 'shard' has no field in the table"),
    ({"data": {"id": 7}, "metadata": {}}, "metadata lacks change_sequence_number, change_type, database_name, ingestion"),
    ({"data": {"id": 7}}, "a record is an object of `data` and `metadata`"),
    ({**ADA, "more": 1}, "a record is an object of `data` and `metadata`"),
    ({**ADA, "data": [7]}, "`data` is not an object"),
    ({**ADA, "metadata": None}, "`metadata` is not an object"),
    (7, "a record is an object"),
    (None, "a record is an object"),
]


@pytest.mark.parametrize(("invalid", "reason"), INVALID_RECORDS, ids=[reason[:40] for _, reason in INVALID_RECORDS])
def test_a_record_that_does_not_fit_is_dead_lettered_whole_and_the_others_land(
    client: Client,  # noqa: F811
    shop: Shop,  # noqa: F811
    invalid: Any,
    reason: str,
) -> None:
    assert post(client, message(ADA, invalid, ADA)) == 204
    assert [row["id"] for row in shop.rows] == [7, 7]
    (letter,) = shop.letters
    assert reason in letter.attributes["reason"]
    assert (letter.attributes["kind"], letter.attributes["message_id"]) == ("InvalidRecord", "1234")
    assert json.loads(letter.data)["records"] == [invalid]


def test_a_record_that_only_bigquery_refuses_is_dead_lettered_in_the_same_way(client: Client, shop: Shop) -> None:  # noqa: F811
    shop.api.refuse = lambda row: "Field name: too long" if row["name"] == "long" else None
    assert (
        post(client, message(record({"id": 1, "name": "long"}), record({"id": "x"}), record({"id": 3, "name": "a"}))) == 204
    )
    assert [row["id"] for row in shop.rows] == [3]
    assert [letter.attributes["reason"] for letter in shop.letters] == [
        "BigQuery: Field name: too long",
        "column id: expected a whole number of 64 bits",
    ]


def test_a_dead_letter_lands_when_it_is_sent_again_after_the_problem_was_mended(client: Client, shop: Shop) -> None:  # noqa: F811
    shop.api.refuse = lambda _: "not yet"
    post(client, message(ADA))
    assert shop.rows == []
    shop.api.refuse = lambda _: None
    assert post(client, shop.letters[0].data) == 204
    assert [row["id"] for row in shop.rows] == [7]


def test_a_record_that_is_too_large_for_a_dead_letter_is_kept_in_parts(client: Client, shop: Shop) -> None:  # noqa: F811
    address = "gs://bucket/records/1.json"
    shop.objects.kept[address] = message(record({"id": "x", "name": "y" * 10_000_000}))
    assert post(client, stored(address)) == 204
    assert [letter.attributes["part"] for letter in shop.letters] == ["1/2", "2/2"]
    whole = b"".join(letter.data for letter in shop.letters)
    assert whole == shop.objects.kept[address]
    assert {letter.attributes["sha256"] for letter in shop.letters} == {hashlib.sha256(whole).hexdigest()}


def test_the_log_says_how_many_do_not_fit_and_why(client: Client, lines: Callable[[], list[dict[str, Any]]]) -> None:  # noqa: F811
    post(client, message(ADA, *(record({"id": "seven"}) for _ in range(10))))
    (line,) = lines()
    assert (line["severity"], line["event"], line["rows"], line["refused"]) == ("ERROR", "landed", 1, 10)
    assert line["message"] == "shop.customer_v_abc: 1 rows landed, 10 do not fit and are dead-lettered"
    assert line["reasons"] == ["column id: expected a whole number of 64 bits"]
    assert "seven" not in json.dumps(line)


@pytest.mark.parametrize("error", [TryAgain("503"), Rejected("there is no such topic")])
def test_no_message_is_acknowledged_while_dead_letters_cannot_be_published(
    client: Client,  # noqa: F811
    shop: Shop,  # noqa: F811
    error: Exception,
) -> None:
    for data in (message(record({"id": "x"})), b"rubbish"):
        shop.publisher.errors["dead-letter"] = error
        assert post(client, data) == 500
        shop.publisher.errors.clear()
        assert post(client, data) == 204
    assert len(shop.letters) == 2
