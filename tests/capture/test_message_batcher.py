"""Records are packed into messages that no topic refuses, and that the sink understands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_gcs import ObjectStore

from onefold.adapters.gcs import GcsObjects
from onefold.capture.large_rows import LargeRowsFolder, NoLargeRows, large_rows_at, object_name
from onefold.capture.message_batcher import MessageBuilder
from onefold.core.errors import InvalidInput, Rejected
from onefold.messages.change_records import (
    MAX_MESSAGE_BYTES,
    encode_record,
    message_head,
    parse_change_message,
    reference_message,
)

HEAD = message_head("shop", "customer", "5b6ffe5fb")


def packed(records: list[Any], limit: int) -> list[bytes]:
    """All records in order, in as few messages as that allows."""
    messages, builder = [], MessageBuilder(HEAD, limit)
    for record in map(encode_record, records):
        if not builder.has_room(record):
            messages.append(builder.data())
            builder = MessageBuilder(HEAD, limit)
        builder.add(record)
    return [*messages, builder.data()]


@given(st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=20)), min_size=1), st.integers(200, 2_000))
def test_every_record_is_in_one_message_in_order_and_none_is_too_large(records: list[Any], limit: int) -> None:
    messages = packed(records, limit)
    assert [record for message in messages for record in json.loads(message)["records"]] == records
    assert all(len(message) <= limit for message in messages if len(json.loads(message)["records"]) > 1)


def test_a_message_knows_its_size_to_the_byte() -> None:
    builder = MessageBuilder(HEAD)
    for text in ("a", "größe", "日"):
        builder.add(encode_record({"x": text}))
        assert builder.size == len(builder.data())


@pytest.mark.parametrize(("spare", "takes"), [(0, True), (1, False)])
def test_a_message_may_have_exactly_the_limit(spare: int, takes: bool) -> None:
    builder = MessageBuilder(HEAD, 500)
    builder.add(b"{}")
    assert builder.has_room(b"x" * (500 - builder.size - 1 + spare)) == takes


def test_the_first_record_always_has_room_and_may_be_too_large() -> None:
    builder = MessageBuilder(HEAD)
    record = encode_record({"x": "y" * MAX_MESSAGE_BYTES})
    assert builder.has_room(record)
    builder.add(record)
    assert builder.too_large


def test_the_sink_reads_what_is_packed() -> None:
    (data,) = packed([{"data": {"id": 1}}], MAX_MESSAGE_BYTES)
    message = parse_change_message(data)
    assert (message.dataset, message.versioned_table) == ("shop", "customer_v_5b6ffe5fb")
    assert message.records == ({"data": {"id": 1}},)
    referring = parse_change_message(reference_message(HEAD, "gs://bucket/large/ö.json"))
    assert (referring.records, referring.records_at) == ((), "gs://bucket/large/ö.json")


def record(**metadata: str) -> dict[str, Any]:
    known = {
        "source": "shop-db", "database_name": "customer1", "table_name": "customer", "table_version": "5b6ffe5fb",
        "change_sequence_number": "1/FF/1000/0",
    }  # fmt: skip
    return {"data": {}, "metadata": {**known, **metadata}}


def test_a_large_row_always_has_the_same_name() -> None:
    assert object_name(record(), b"x") == object_name(record(), b"x")
    assert object_name(record(), b"x").startswith("customer_v_5b6ffe5fb/shop-db/customer1/1-FF-1000-0-")


def test_two_rows_of_one_position_have_two_names() -> None:
    assert object_name(record(), b"x") != object_name(record(), b"y")


@pytest.mark.parametrize("name", ["a/b", "..", ".", "größe", "a%2Fb", "a b"])
def test_no_name_of_a_database_leads_out_of_its_folder(name: str) -> None:
    folder, source, database, _ = object_name(record(database_name=name), b"x").split("/")
    assert (folder, source) == ("customer_v_5b6ffe5fb", "shop-db")
    assert database not in ("", ".", "..")


def test_large_rows_are_written_to_a_folder(tmp_path: Any) -> None:
    rows = large_rows_at(str(tmp_path), GcsObjects())
    assert isinstance(rows, LargeRowsFolder)
    assert rows.put("a/b.json", b"1") == (tmp_path / "a" / "b.json").as_uri()
    assert large_rows_at(tmp_path.as_uri(), GcsObjects()).put("a/b.json", b"2")
    assert (tmp_path / "a" / "b.json").read_bytes() == b"2"


def test_without_a_folder_large_rows_end_the_process_with_what_to_do() -> None:
    assert isinstance(large_rows_at(None, GcsObjects()), NoLargeRows)
    with pytest.raises(Rejected, match="--bucket gs://BUCKET/FOLDER"):
        large_rows_at(None, GcsObjects()).put("a", b"x")


def test_an_invalid_address_is_refused() -> None:
    with pytest.raises(InvalidInput, match="write gs://BUCKET/FOLDER"):
        large_rows_at("gs://A/b", GcsObjects())


def test_objects_are_written_below_their_folder(object_store: ObjectStore) -> None:
    rows = large_rows_at("gs://bucket/a/b/", GcsObjects())
    assert rows.put("größe/x y.json", b"1") == "gs://bucket/a/b/größe/x y.json"
    assert list(object_store.objects) == ["bucket/a/b/größe/x y.json"]
    assert GcsObjects().read("gs://bucket/a/b/größe/x y.json") == b"1"
