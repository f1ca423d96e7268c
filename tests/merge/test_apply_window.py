"""The changes that a merge reads, and merges that run at the same time."""

from __future__ import annotations

from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.merge_shop import CUSTOMER, LONG_AGO, Shop

from onefold.merge.apply import merge_rows
from onefold.merge.change_query import changes_query
from onefold.merge.plan import log
from onefold.schema.table_rules import TableRules

pytestmark = pytest.mark.heavy


def test_a_merge_returns_and_logs_its_counts(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land(
        "a",
        change("INSERT", "1", id=1, name="a"),
        change("INSERT", "1", id=1, name="a"),
        change("INSERT", "1", id=1, name="another one at that position"),
        change("INSERT", "2", id=2, name="b"),
    )
    counts = shop.merge()
    assert (counts.changes, counts.keys, counts.written, counts.below_floor, counts.disputed) == (4, 2, 2, 0, 1)
    created, merged = shop.log()
    assert (created["finished_as"], created["keys"], created["versions"]) == ("create", '["id"]', "[]")
    assert (merged["finished_as"], merged["versions"], merged["changes"], merged["disputed"]) == ("merge", '["a"]', 4, 1)


def test_a_merge_reads_what_landed_since_the_last_merge_including_late_changes(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "5", id=1, name="five"), at=LONG_AGO)
    assert shop.merge().changes == 1
    shop.land("a", change("INSERT", "1", id=2, name="late"), change("INSERT", "2", id=1, name="late and older"))
    assert shop.merge().changes == 2
    assert [row["name"] for row in shop.people_see()] == ["five", "late"]
    assert shop.merge().changes == 0


def test_changes_that_landed_within_the_overlap_are_read_again(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset, rules=TableRules(overlap_minutes=60))
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1", id=1, name="a"))
    shop.merge()
    again = shop.merge()
    assert (again.changes, again.written) == (1, 0)


def test_a_version_that_no_merge_has_read_is_read_whole(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.merge()
    shop.create("b", CUSTOMER)
    shop.land("b", change("INSERT", "1", id=1, name="copied from elsewhere"), at=LONG_AGO)
    assert shop.merge().changes == 1
    assert shop.people_see() == [{"id": 1, "name": "copied from elsewhere"}]


@pytest.mark.long
def test_a_version_that_was_emptied_and_loaded_again_is_read_whole(dataset: EmulatedDataset) -> None:
    """TRUNCATE, DELETE and a load with WRITE_TRUNCATE keep the table, and the rows of a copy have their times of landing."""
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1", id=1, name="a"), at=LONG_AGO)
    shop.merge()
    dataset.run(f"DELETE FROM {dataset.quoted('customer_v_a')} WHERE TRUE")
    again = [change("INSERT", "1", id=1, name="a"), change("INSERT", "2", id=2, name="from the copy")]
    shop.land("a", *again, at=LONG_AGO)
    before = shop.current()
    assert before == [{"id": 1, "name": "a"}, {"id": 2, "name": "from the copy"}]
    assert shop.merge().changes == 2
    assert shop.people_see() == before == shop.current()
    assert shop.merge().changes == 0


def test_a_change_table_without_versions_is_merged(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    land_changes(dataset, "customer", {"id": "INT64", "name": "STRING"}, [change("INSERT", "1", id=1, name="a")])
    shop.merge()
    assert shop.merge().changes == 1, "nobody knows when its rows landed"
    assert shop.people_see() == [{"id": 1, "name": "a"}]
    assert shop.current() == [{"id": 1, "name": "a"}]


def test_a_slow_merge_with_old_rows_changes_nothing(dataset: EmulatedDataset) -> None:
    """Of two merges at once, the first reads, the second reads more and writes, then the first writes."""
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1", id=1, name="old"), change("INSERT", "2", id=2, name="b"))
    slow = shop.prepare()
    stale = shop.warehouse.fetch(changes_query(slow.changes, slow.base, slow.rules))
    shop.land("a", change("UPDATE-INSERT", "3", id=1, name="new"), change("DELETE", "4", id=2, name=None))
    shop.merge()
    written = merge_rows(shop.warehouse, slow, " UNION ALL ".join(map(_as_query, stale)), slow.versions)
    assert written.written == 0
    shop.merge()
    assert shop.people_see() == shop.expected("id", "name") == [{"id": 1, "name": "new"}]


def test_a_merge_into_a_base_that_was_replaced_during_the_merge_does_not_count(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1", id=1, name="a"), at=LONG_AGO)
    slow = shop.prepare()
    dataset.run(f"DROP TABLE {dataset.quoted('customer_base')}")
    shop.prepare()
    log(shop.warehouse, slow, "merge", slow.versions)
    assert shop.merge().changes == 1
    assert shop.people_see() == [{"id": 1, "name": "a"}]


def _as_query(row: Any) -> str:
    name = "CAST(NULL AS STRING)" if row["name"] is None else f"'{row['name']}'"
    return f"SELECT {row['id']} AS id, {name} AS name, '{row['_position']}' AS _position, {row['_deleted']} AS _deleted"
