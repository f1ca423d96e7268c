"""The function `sink_records` as functions-framework serves it: messages that are dead-lettered, or delivered again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
import sink_records
from google.rpc import code_pb2
from support.fake_write_api import failed
from support.fuzz_messages import RAW, Fuzzer
from support.in_memory import push_body
from support.sink import ADA, COLUMNS, SETTINGS, TABLE, Shop, client, lines, message, post, record, serve, shop  # noqa: F401
from werkzeug.test import Client

from onefold.core.errors import InvalidMessage, InvalidSettings, TryAgain
from onefold.core.version_labels import LabelledNames
from onefold.messages.change_records import change_message, parse_change_message
from onefold.settings.environment import Settings, load_settings
from onefold.sink.handler import check_sink_settings

# Messages that can never be handled.


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"no json", "the message is not JSON"),
        (b"[]", "the message is not a JSON object"),
        (
            b"{}",
            "names no `dataset`\nthe message has to hold either `records` or `records_at`",
        ),
        (b'{"dataset": "shop", "records_at": "gs://bucket/records/1.json"}', "the message names no `table`"),
        (b'{"dataset": "shop", "records": []}', "`records` is not a list of records"),
        (
            b'{"dataset": "a`b", "records": [1], "rows": []}',
            "dataset 'a`b' is not a valid name: use letters, digits and underscores\n'rows': not known",
        ),
        (message(ADA, dataset="crm"), "dataset crm is not among ONEFOLD_DATASETS: add it there"),
        (message(ADA, dataset="a`b"), "dataset 'a`b' is not a valid name"),
        (message(ADA, table="../x"), "table '../x' is not a valid name"),
        (message(ADA, version="1 OR 1"), "version '1 OR 1' is not a valid name"),
        (message(), "`records` is not a list of records"),
        (b'{"dataset": "shop", "table": {"name": "customer"}, "records": [1]}', "`table` has no `version`"),
        (
            b'{"dataset": "shop", "table": {"name": "c", "version": "a"}, "records": {}}',
            "`records` is not a list of records",
        ),
        (b'{"dataset": "shop", "table": {"name": "c", "version": "a"}, "records": [1], "records_at": "gs://b/c"}', "either"),
        (b'{"dataset": "shop", "table": {"name": "c", "version": "a"}, "records": [1], "rows": []}', "'rows': not known"),
    ],
)
def test_a_message_that_can_never_be_handled_is_dead_lettered_with_all_problems(
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


def test_a_table_that_capture_did_not_create_gets_no_rows(client: Client, shop: Shop) -> None:  # noqa: F811
    shop.create("customer_v_def", {"id": "INT64", "database_name": "STRING"})
    assert post(client, message(ADA, version="def")) == 204
    reason = shop.letters[0].attributes["reason"]
    assert "shop.customer_v_def: expected a table that capture made, got one without source_name" in reason
    assert "_landed_at, datastream_metadata" in reason
    assert shop.api.requests == []


def test_a_message_that_bigquery_refuses_as_a_whole_is_dead_lettered(client: Client, shop: Shop) -> None:  # noqa: F811
    shop.api.problems.put(failed(code_pb2.INVALID_ARGUMENT, "no such form of rows"))
    assert post(client, message(ADA)) == 204
    assert shop.letters[0].data == message(ADA)
    assert "no such form of rows" in shop.letters[0].attributes["reason"]


# Messages that come again.


def test_rows_wait_for_a_table_that_does_not_exist_yet(
    client: Client,  # noqa: F811
    shop: Shop,  # noqa: F811
    lines: Callable[[], list[dict[str, Any]]],  # noqa: F811
) -> None:
    data = message(record({"id": 1}, table_version="ea1"), version="ea1")
    assert post(client, data) == 500
    assert (lines()[0]["event"], lines()) == ("try_again", [])
    shop.create("customer_v_ea1", COLUMNS)
    assert post(client, data) == 204
    assert [row["id"] for row in shop.api.rows["shop.customer_v_ea1"]] == [1]
    assert shop.letters == []


@pytest.mark.parametrize("where", ["BigQuery's metadata", "BigQuery's rows"])
def test_an_error_that_may_pass_is_answered_with_500(client: Client, shop: Shop, where: str) -> None:  # noqa: F811
    if where == "BigQuery's metadata":
        shop.cloud.break_off("get", TryAgain("503"))
    else:
        shop.api.problems.put(grpc.StatusCode.UNAVAILABLE)
    assert post(client, message(ADA)) == 500
    assert post(client, message(ADA)) == 204
    assert len(shop.rows) == 1
    assert shop.letters == []


def test_a_message_that_is_delivered_twice_lands_twice(client: Client, shop: Shop) -> None:  # noqa: F811
    """Where rows are joined one of them falls away: both have the same key and the same position."""
    for _ in range(2):
        assert post(client, message(ADA)) == 204
    assert len(shop.rows) == 2


@pytest.mark.parametrize("seed", range(10))
def test_fuzzed_messages_make_no_error_and_reach_no_other_table(client: Client, shop: Shop, seed: int) -> None:  # noqa: F811
    fuzzer = Fuzzer(seed, message(ADA, ADA))
    for number in range(300):
        body, headers = fuzzer.request()
        answer = client.post("/", data=body, headers=headers)
        # A mutation may leave a message for a version that is not there.
        assert answer.status_code == 204 or b"got none yet" in answer.data, (number, body[:300], headers, answer.data)
    assert shop.objects.read_addresses == []
    assert set(shop.api.rows) == {TABLE}
    assert len(shop.letters) > 100


@pytest.mark.parametrize("seed", range(5))
def test_fuzzed_records_land_or_are_dead_lettered_and_none_is_lost(client: Client, shop: Shop, seed: int) -> None:  # noqa: F811
    fuzzer = Fuzzer(seed, message(ADA))
    sent = 0
    for _ in range(100):
        records = []
        for _ in range(5):
            one = json.loads(json.dumps(ADA))
            part = fuzzer.random.choice([one, one["data"], one["metadata"]])
            part[fuzzer.random.choice([*part, "other"])] = fuzzer.random.choice([fuzzer.name(), None, 5, -1.5, [], {}, True])
            records.append(one)
        assert post(client, message(*records)) == 204
        sent += len(records)
    assert len(shop.rows) + len(shop.letters) == sent
    assert shop.rows
    assert shop.letters


def test_valid_messages_among_invalid_ones_land(client: Client, shop: Shop) -> None:  # noqa: F811
    for body in [*RAW, push_body(message(ADA))]:
        assert client.post("/", data=body).status_code == 204
    assert len(shop.rows) == 1


# Settings.


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("ONEFOLD_")]:
        monkeypatch.delenv(name)
    sink_records.sink.cache_clear()
    yield
    sink_records.sink.cache_clear()


@pytest.mark.usefixtures("no_settings")
def test_without_a_dead_letter_topic_every_message_is_delivered_again(
    lines: Callable[[], list[dict[str, Any]]],  # noqa: F811
) -> None:
    assert serve().post("/", data=push_body(message(ADA))).status_code == 500
    (line,) = lines()
    assert (line["severity"], line["event"], line["kind"]) == ("CRITICAL", "not_ready", "InvalidSettings")
    assert "ONEFOLD_TOPIC_DEAD_LETTER is not set" in line["reason"]


def test_the_folder_of_large_records_is_read_and_checked() -> None:
    assert load_settings({"ONEFOLD_LARGE_RECORDS": "gs://bucket/records/"}).large_records == "gs://bucket/records"
    assert check_sink_settings(SETTINGS) is SETTINGS
    assert load_settings({"ONEFOLD_LARGE_RECORDS": "file:///tmp/records"}).large_records == "file:///tmp/records"
    for folder in ("bucket/records", "file:/tmp", "gs://bucket/../x", "gs://b*/x", "s3://bucket/x"):
        with pytest.raises(InvalidSettings, match="ONEFOLD_LARGE_RECORDS"):
            load_settings({"ONEFOLD_LARGE_RECORDS": folder})
    with pytest.raises(InvalidSettings, match="ONEFOLD_TOPIC_DEAD_LETTER"):
        check_sink_settings(Settings())


def test_rows_for_a_dataset_whose_versions_are_found_by_labels_are_refused() -> None:
    with pytest.raises(InvalidMessage, match="dataset shop finds versions by labels"):
        parse_change_message(change_message("shop", "customer", "abc", [{}]), lambda _: LabelledNames())
