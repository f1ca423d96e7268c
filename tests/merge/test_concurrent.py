"""Merges at once: what one does a second time does no harm, whoever is first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.merge_shop import CUSTOMER, another_shop

from onefold.core.errors import TryAgain
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, EmulatedWarehouse, emulator_client

CHANGES = [
    change("INSERT", "1", id=1, name="a"),
    change("INSERT", "2", id=2, name="b"),
    change("UPDATE-INSERT", "3", id=1, name="c"),
    change("DELETE", "4", id=2, name="b"),
]


def test_two_merges_at_once_end_as_one(dataset: EmulatedDataset) -> None:
    shop = another_shop(dataset)
    shop.create("1a", CUSTOMER)
    shop.land("1a", *CHANGES)

    def merge_until_done(_: int) -> int:
        """As a message that is delivered again where it met another one."""
        tries = 0
        while True:
            tries += 1
            try:
                shop.merge(warehouse=EmulatedWarehouse(emulator_client(DEFAULT_PROJECT)))
                return tries
            except TryAgain:
                assert tries < 20

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(merge_until_done, range(2)))
    assert shop.people_see() == shop.expected("id", "name")
    assert [(row["id"], row["_deleted"]) for row in shop.base()] == [(1, False), (2, True)]
    assert [row["finished_as"] for row in shop.log()].count("merge") == 2
