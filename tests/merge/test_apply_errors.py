"""The keys of a base, and tables that a merge refuses."""

from __future__ import annotations

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import METADATA_TYPE
from support.merge_shop import CUSTOMER, Shop

from onefold.changelog.metadata import METADATA
from onefold.core.errors import InvalidInput, NotFound, SchemaConflict
from onefold.schema.table_rules import TableRules


def test_the_keys_come_from_the_settings_or_from_the_base(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset, keys=())
    shop.create("a", CUSTOMER)
    with pytest.raises(InvalidInput, match="--keys"):
        shop.merge()
    shop.rules = TableRules(keys=("ID",))
    shop.merge()
    shop.rules = TableRules()
    shop.merge()
    shop.keys = ("name",)
    with pytest.raises(InvalidInput, match="not those that its base was made with, id"):
        shop.merge()


def test_tables_that_cannot_be_merged_are_named_and_nothing_is_made(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    with pytest.raises(NotFound, match="customer_v_"):
        shop.merge()
    dataset.land("customer_v_a", {"id": "INT64", "_deleted": "BOOL", METADATA: METADATA_TYPE})
    dataset.land("customer_v_b", {"number": "INT64"})
    with pytest.raises(SchemaConflict) as raised:
        shop.merge()
    assert {"customer_v_b is no change table", "customer_v_b has no column id"} <= {
        problem.split(":")[0].split(" for the key")[0].rpartition(".")[2] for problem in raised.value.problems
    }
    assert {item.table_id for item in dataset.client.list_tables(dataset.name)} == {"customer_v_a", "customer_v_b"}


def test_a_table_with_the_name_of_the_base_is_left_alone(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    dataset.land("customer_base", {"id": "INT64"}, "7")
    with pytest.raises(SchemaConflict, match="not written by `onefold merge`"):
        shop.merge()
    assert dataset.rows("customer_base") == [(7,)]
