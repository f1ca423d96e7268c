"""The tables of a dataset that a merge of all tables works on: those with rows that no merge has read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.merge_shop import CUSTOMER, LONG_AGO, Shop, another_shop

from onefold.core.errors import NotFound
from onefold.merge.dataset import Candidate, find_candidates
from onefold.merge.need import read_need
from onefold.schema.table_rules import TableRules
from onefold.settings.environment import Settings

ROW = change("INSERT", "1", id=1, name="a")
SOON = f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%d %H:%M:%S}"


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
    shop.land("1a", ROW, at=SOON)
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
    shop.land("1a", ROW, at=SOON)
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
