"""The columns of a key: a table has them, and BigQuery can group rows by them. All problems are named at once."""

from __future__ import annotations

import pytest

from onefold.changelog.key_columns import check_change_table, key_problems
from onefold.changelog.metadata import METADATA, METADATA_FIELDS, metadata_type
from onefold.core.errors import SchemaConflict
from onefold.schema.columns import Column
from onefold.schema.types import parse_type

METADATA_COLUMN = Column(METADATA, metadata_type(METADATA_FIELDS))


def table(**types: str) -> list[Column]:
    return [*(Column(name, parse_type(type_)) for name, type_ in types.items()), METADATA_COLUMN]


def test_a_table_with_metadata_and_its_key_has_a_latest_row_of_each_key() -> None:
    check_change_table("shop.t", table(id="INT64", Region="STRING"), ["ID", "region"])


def test_all_problems_of_a_table_and_its_key_are_named_at_once() -> None:
    with pytest.raises(SchemaConflict) as refused:
        check_change_table("shop.t", table(id="INT64", price="FLOAT64")[:2], ["no", "price"])
    assert refused.value.problems == (
        f"shop.t is no change table: it has no column {METADATA} of type STRUCT; it has id, price: name a change table",
        "shop.t has no column no for the key; it has id, price",
        "shop.t: the key price is FLOAT64, which has no equality to group rows by",
    )


def test_a_key_has_columns() -> None:
    assert list(key_problems("shop.t", table(id="INT64"), [])) == ["shop.t: name the columns of the key"]


@pytest.mark.parametrize("name", [METADATA, "_landed_at"])
def test_what_is_not_of_the_source_is_no_key(name: str) -> None:
    columns = [*table(id="INT64"), Column("_landed_at", parse_type("TIMESTAMP"))]
    assert list(key_problems("shop.t", columns, [name])) == [f"shop.t has no column {name} for the key; it has id"]


@pytest.mark.parametrize("type_", ["STRING", "BYTES", "BOOL", "NUMERIC", "BIGNUMERIC", "DATE", "TIMESTAMP", "INTERVAL"])
def test_types_with_equality_can_be_a_key(type_: str) -> None:
    assert list(key_problems("shop.t", table(key=type_), ["key"])) == []


@pytest.mark.parametrize("type_", ["FLOAT64", "GEOGRAPHY", "JSON", "ARRAY<STRING>", "STRUCT<a INT64>", "RANGE<DATE>"])
def test_types_without_equality_cannot_be_a_key(type_: str) -> None:
    assert list(key_problems("shop.t", table(key=type_), ["key"])) == [
        f"shop.t: the key key is {type_}, which has no equality to group rows by"
    ]
