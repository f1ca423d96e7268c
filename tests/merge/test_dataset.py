"""The tables of a dataset that a merge of all tables works on: those with rows that no merge has read."""

from __future__ import annotations

from typing import Any, cast

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.merge_shop import CUSTOMER, LONG_AGO, Shop, another_shop, soon
from support.told_warehouse import ToldWarehouse

from onefold.core.errors import NotFound
from onefold.core.united_names import UnitedNames, UnitedTable
from onefold.merge.dataset import Candidate, find_candidates, outcome_counts
from onefold.merge.need import read_need
from onefold.ports.warehouse import BaseWarehouse
from onefold.schema.plain_table import PlainTable
from onefold.schema.table_rules import TableRules
from onefold.schema.versions import Version
from onefold.settings.environment import Settings

ROW = change("INSERT", "1", id=1, name="a")


def candidate(shop: Shop) -> Candidate:
    (found,) = find_candidates(shop.warehouse, shop.dataset.name, shop.settings, shop.name)
    return found


def is_due(shop: Shop, settings: Settings | None = None) -> bool:
    return read_need(shop.warehouse, candidate(shop), settings or shop.settings).state == "due"


def test_tables_are_found_by_base_name_with_their_versions(dataset: EmulatedDataset) -> None:
    one, other = another_shop(dataset), another_shop(dataset)
    for version in ("1a", "2b"):
        one.create(version, CUSTOMER)
    other.create("1a", CUSTOMER)
    other.merge()
    found = {found.table.table: [*found.changes] for found in find_candidates(one.warehouse, dataset.name, one.settings)}
    assert (found[one.name], found[other.name]) == (["1a", "2b"], ["1a"])
    assert not any(name.endswith(("_base", "_merges")) for name in found)


def test_a_pattern_selects_base_names_as_a_shell_does_and_with_case(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("1a", CUSTOMER)

    def names(match: str) -> list[str]:
        return [found.table.table for found in find_candidates(shop.warehouse, dataset.name, shop.settings, match)]

    assert names(f"{shop.name[:-1]}[{shop.name[-1]}]") == [shop.name]
    for other in (shop.name.upper(), shop.name[:-1], f"{shop.name}_v_*"):
        with pytest.raises(NotFound, match="no versioned tables whose base name matches"):
            names(other)


def test_a_table_is_due_until_it_is_merged_and_again_when_a_row_lands(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("1a", CUSTOMER)
    shop.land("1a", ROW, at=LONG_AGO)
    assert is_due(shop)
    shop.merge()
    assert not is_due(shop)
    shop.land("1a", ROW, at=soon())
    assert is_due(shop)


def test_a_new_version_makes_its_table_due_also_without_a_row(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("1a", CUSTOMER)
    shop.merge()
    assert not is_due(shop)
    shop.create("2b", CUSTOMER)
    assert is_due(shop)


def test_rows_of_one_version_make_the_table_due_and_those_of_a_retired_one_do_not(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    for version in ("1a", "2b"):
        shop.create(version, CUSTOMER)
    shop.merge()
    shop.land("1a", ROW, at=soon())
    assert is_due(shop)
    retired = Settings(rules=TableRules(overlap_minutes=0, retired=frozenset({"1a"})))
    assert not is_due(shop, retired)


def test_a_table_whose_base_was_made_anew_is_due_whatever_the_log_says_of_the_former_one(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("1a", CUSTOMER)
    shop.merge()
    shop.dataset.run(f"DROP TABLE {dataset.quoted(f'{shop.name}_base')}")
    assert is_due(shop)


def test_a_table_that_does_not_tell_when_it_was_written_is_always_due(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("1a", {"id": "INT64", "name": "STRING"})
    shop.merge()
    assert is_due(shop)


def candidates(*tables: str, match: str | None = None, **settings: Any) -> dict[str, dict[str, str]]:
    warehouse = cast(
        "BaseWarehouse", ToldWarehouse(labels={table: {} for table in tables}, versions=settings.pop("versions", ()))
    )
    found = find_candidates(warehouse, "shop", Settings(**settings), match)
    return {str(one.table): {version: str(id_) for version, id_ in one.changes.items()} for one in found}


def test_tables_have_their_versions_and_a_change_table_of_the_very_name_comes_before_them() -> None:
    found = candidates("orders_v_2b", "customer_v_1a", "orders_v_1a", "customer", "customer_base", "notes")
    assert found == {
        "my-project.shop.customer": {"": "my-project.shop.customer"},
        "my-project.shop.orders": {"1a": "my-project.shop.orders_v_1a", "2b": "my-project.shop.orders_v_2b"},
    }
    assert [*found] == sorted(found)
    assert [*candidates("orders_v_2b", "customer_v_1a", match="o*")] == ["my-project.shop.orders"]


def test_plain_and_united_tables_are_among_them() -> None:
    plain = {"shop.events": PlainTable("changes", "shop__onefold")}
    assert candidates("events", "notes", plain=plain) == {"my-project.shop.events": {"": "my-project.shop.events"}}
    united = UnitedNames(tables={"orders": UnitedTable("tenant_*", "orders", into="shop")})
    found = candidates(
        names=united, versions=tuple(Version(one, (), table="orders", dataset=one) for one in ("tenant_1", "tenant_2"))
    )
    assert found == {
        "my-project.shop.orders": {"tenant_1": "my-project.tenant_1.orders", "tenant_2": "my-project.tenant_2.orders"}
    }
    assert [*candidates("a_v_1", match="orders", names=united)] == ["my-project.shop.orders"]
    with pytest.raises(NotFound, match="'o'"):
        candidates(match="o", names=united)


NAMED = "named as BASE_v_VERSION, where VERSION has 1 to 64 of the digits 0 to 9 and a to f, as in customer_v_0123abcdef"


@pytest.mark.parametrize(
    ("match", "which"),
    [
        (None, NAMED),
        ("or?", "whose base name matches 'or?'"),
    ],
)
def test_a_dataset_without_such_a_table_is_an_error_that_says_what_to_do(match: str | None, which: str) -> None:
    with pytest.raises(NotFound) as raised:
        candidates("notes", match=match)
    assert str(raised.value) == (
        f"dataset my-project.shop has no versioned tables {which}, and no table with datastream_metadata.change_type: "
        "correct its name, or declare the `keys` of its tables in onefold.yaml"
    )


def test_people_read_how_many_tables_have_each_outcome() -> None:
    assert outcome_counts(["failed", "waiting", "up_to_date", *["merged"] * 1_200]) == (  # type: ignore[list-item]
        "1,200 merged, 1 up to date, 1 waiting, 0 skipped, 1 failed"
    )
    assert outcome_counts([]) == "0 merged, 0 up to date, 0 skipped, 0 failed"
