"""Rows of a versioned table: what each column gets of a captured record, and every problem of a record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from support.sink import ADDED, COLUMNS, NOW, record

from onefold.core.errors import InvalidRecord, SchemaConflict
from onefold.messages.change_records import ChangeMessage
from onefold.schema.columns import Column
from onefold.schema.types import parse_type
from onefold.sink.rows import RowBuilder

MESSAGE = ChangeMessage("shop", "customer", "abc")


def columns(names: Iterable[str] = COLUMNS) -> list[Column]:
    return [Column(name, parse_type({**COLUMNS, **{n.upper(): t for n, t in COLUMNS.items()}}[name])) for name in names]


def problems_of(record_: Any) -> list[str]:
    with pytest.raises(InvalidRecord) as raised:
        RowBuilder(MESSAGE, columns(), NOW).row(record_)
    return list(raised.value.problems)


def test_a_row_has_the_data_the_tenant_the_time_of_landing_and_the_metadata() -> None:
    data = {"id": 7, "name": None}
    assert RowBuilder(MESSAGE, columns(), NOW).row(record(data, change_type="DELETE")) == {
        "id": 7,
        "name": None,
        "source_name": "shop-db",
        "database_name": "customer1",
        "_landed_at": "2024-02-29 03:04:05.678901+00:00",
        "datastream_metadata": {
            "uuid": None,
            "source_timestamp": 1_700_000_000_000,
            "change_sequence_number": "1/FF/1000/0",
            "change_type": "DELETE",
            "sort_keys": [],
            "ingestion_method": "BINLOG",
            "primary_key": ["id"],
        },
    }
    assert data == {"id": 7, "name": None}, "the record is not changed"


@pytest.mark.parametrize("missing", ADDED)
def test_a_table_that_lacks_a_column_of_capture_is_refused_by_name(missing: str) -> None:
    with pytest.raises(
        SchemaConflict, match=rf"shop\.customer_v_abc: expected a table that capture made.* without {missing}"
    ):
        RowBuilder(MESSAGE, columns(name for name in COLUMNS if name != missing), NOW)


def test_the_columns_of_a_table_may_be_spelled_in_any_case() -> None:
    assert RowBuilder(MESSAGE, columns(name.upper() for name in COLUMNS if name != "große"), NOW)


@pytest.mark.parametrize("not_a_record", [None, 1, "x", [], {}, {"data": {}}, {**record({}), "more": 1}])
def test_a_record_is_an_object_of_data_and_metadata(not_a_record: Any) -> None:
    assert problems_of(not_a_record) == ["a record is an object of `data` and `metadata`"]


def test_all_problems_of_a_record_are_in_one_error() -> None:
    bad = record(
        {"_landed_at": "2020-01-01", "datastream_metadata": None},
        change_type="MERGE",
        table_version="def",
        source=None,
        extra=1,
    )
    del bad["metadata"]["source_timestamp"]
    assert problems_of(bad) == [
        "data: the sink itself sets _landed_at",
        "data: the sink itself sets datastream_metadata",
        "metadata lacks source_timestamp",
        "metadata: 'extra' has no field in the table",
        "metadata: source is not a text",
        "metadata: expected a change_type of INSERT, UPDATE-INSERT, DELETE, UPDATE-DELETE, got another value",
        "metadata: table_version is not that of the message, abc",
    ]
    assert problems_of({"data": [], "metadata": 7}) == ["`data` is not an object", "`metadata` is not an object"]


@pytest.mark.parametrize("name", ["source", "database_name", "change_sequence_number"])
@pytest.mark.parametrize("value", [None, 7, ["x"]])
def test_what_the_key_and_the_position_of_a_row_are_made_of_is_text(name: str, value: Any) -> None:
    assert problems_of(record({"id": 1}, **{name: value})) == [f"metadata: {name} is not a text"]
