"""Keys that only the source declares."""

from __future__ import annotations

import pytest

from onefold.core.names import TableId
from onefold.existing.discover import DatasetTables
from onefold.existing.source_keys import SourceTables, with_source_keys
from onefold.existing.table import ExistingTable
from onefold.schema.columns import Column, Schema
from onefold.schema.types import parse_type

SHOP = SourceTables("Shop", {"Orders": ("ID",), "orders": ("order_id",), "visits": (), "Items": ("order_id", "line")})


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("Orders", "Orders"), ("orders", "orders"), ("items", "Items"), ("shop_items", "Items"), ("SHOP_Items", "Items"),
        ("shop_visits", "visits"), ("other_items", None), ("item", None), ("shop", None),
    ],
)  # fmt: skip
def test_a_table_is_the_copy_of_the_one_with_its_name_with_or_without_the_database(name: str, source: str | None) -> None:
    assert SHOP.source_of(name) == source


@pytest.mark.parametrize(
    ("name", "columns", "declared", "key"),
    [
        ("items", "Order_Id Line note", (), ("Order_Id", "Line")),
        ("items", "order_id note", (), ()),
        ("items", "order_id line note", ("note",), ("note",)),
        ("visits", "id", (), ()),
        ("elsewhere", "id", (), ()),
    ],
)
def test_the_key_of_the_source_counts_where_nothing_else_declares_one(
    name: str, columns: str, declared: tuple[str, ...], key: tuple[str, ...]
) -> None:
    schema = Schema(tuple(Column(column, parse_type("INT64")) for column in columns.split()))
    listed = DatasetTables(TableId("p", "d", ""), {name: ExistingTable(name, schema, declared)})
    assert with_source_keys(listed, SHOP).tables[name].key == key
