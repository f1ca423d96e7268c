"""Purged tombstones and their floor; copies of the source; rows that a batch staged."""

from __future__ import annotations

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.merge_shop import CUSTOMER, LONG_AGO, Shop

from onefold.adapters.bigquery.statements import write_result
from onefold.changelog.position import Position
from onefold.core.errors import NotFound, SchemaConflict, TryAgain
from onefold.core.names import TableId
from onefold.merge.apply import merge_rows, merge_snapshot, purge
from onefold.merge.merge_state import MergeCounts
from onefold.ports.warehouse import WriteResult
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

pytestmark = pytest.mark.heavy

LAST_YEAR = 1_600_000_000_000
FAR_AHEAD = 5_000_000_000_000


def test_a_purge_takes_old_tombstones_and_what_is_replayed_later_does_not_come_back(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    old = [change("INSERT", "1", id=1, name="a"), change("DELETE", "5", timestamp=LAST_YEAR, id=1, name="a")]
    recent = [
        change("DELETE", "6", timestamp=FAR_AHEAD, id=2, name="b"),
        change("DELETE", "7", timestamp=None, id=3, name="c"),
    ]
    shop.land("a", *old, *recent, change("INSERT", "4", id=4, name="d"))
    plan, _ = shop.plan_and_merge()
    assert purge(shop.warehouse, plan, days=30) == 1
    assert [(row["id"], row["_deleted"]) for row in shop.base()] == [(2, True), (3, True), (4, False)]

    shop.land(
        "a", *old, change("INSERT", "3", id=5, name="late, and unknown"), change("UPDATE-INSERT", "4/1", id=4, name="later")
    )
    assert [row["id"] for row in shop.current()] == [4]
    counts = shop.merge()
    assert (counts.written, counts.below_floor) == (1, 2)
    assert [(row["id"], row["name"]) for row in shop.people_see()] == [(4, "later")]

    shop.land("a", change("INSERT", "8", id=1, name="born again"))
    assert [row["id"] for row in shop.current()] == [1, 4]
    shop.merge()
    assert [row["id"] for row in shop.people_see()] == [1, 4]


def test_a_rebuild_brings_tombstones_back_and_keeps_the_floor(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("DELETE", "5", timestamp=LAST_YEAR, id=1, name="a"))
    plan, _ = shop.plan_and_merge()
    purge(shop.warehouse, plan, days=30)
    shop.land("a", change("INSERT", "3", id=2, name="b"), at=LONG_AGO)
    assert shop.base() == []
    shop.merge(rebuild=True)
    assert [(row["id"], row["_deleted"]) for row in shop.base()] == [(1, True)]
    # A purge that began before the rebuild does not go on after it.
    assert purge(shop.warehouse, plan, days=30) == 0
    shop.land("a", change("INSERT", "4", id=3, name="c"), change("INSERT", "6", id=4, name="d"))
    assert (shop.merge().below_floor, [row["id"] for row in shop.people_see()]) == (1, [4])


@pytest.mark.long
def test_a_rebuild_does_not_bring_back_who_was_purged_where_the_deletion_has_expired(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("DELETE", "5", timestamp=LAST_YEAR, id=1, name="a"), at=LONG_AGO)
    shop.land("a", change("INSERT", "3", id=1, name="a"), change("INSERT", "7", id=2, name="b"))
    plan, _ = shop.plan_and_merge()
    assert purge(shop.warehouse, plan, days=30) == 1
    dataset.run(f"DELETE FROM {dataset.quoted('customer_v_a')} WHERE datastream_metadata.change_type = 'DELETE'")
    shop.merge(rebuild=True)
    assert [row["id"] for row in shop.people_see()] == [2]


@pytest.mark.long
def test_a_base_that_was_dropped_is_made_again_without_the_former_one_s_floor(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land(
        "a", change("INSERT", "1", id=1, name="a"), change("DELETE", "5", timestamp=LAST_YEAR, id=2, name="b"), at=LONG_AGO
    )
    plan, _ = shop.plan_and_merge()
    purge(shop.warehouse, plan, days=30)
    dataset.run(f"DROP TABLE {dataset.quoted('customer_base')}")
    shop.merge()
    assert [(row["id"], row["_deleted"]) for row in shop.base()] == [(1, False), (2, True)]


def test_a_copy_of_the_source_comes_before_any_change_or_at_its_place(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", {**CUSTOMER, "born": "DATETIME"})
    copy = TableId(DEFAULT_PROJECT, dataset.name, "copy")
    dataset.land("copy", {"ID": "INT64", "born": "DATE"}, "1, DATE '2020-01-01'", "2, NULL", "NULL, NULL")
    shop.land("a", change("UPDATE-INSERT", None, timestamp=None, id=1, name="changed", born=None))
    shop.land("a", change("DELETE", "5", id=2, name="gone", born=None))

    plan = shop.prepare()
    counts = merge_snapshot(shop.warehouse, plan, copy)
    assert (counts.changes, counts.written) == (3, 3)
    assert [str(row["born"]) for row in shop.people_see()] == ["None", "2020-01-01 00:00:00", "None"]
    (position,) = {row["_position"] for row in shop.base()}
    assert str(Position()) < position < str(Position(tie_break=" !")), "with the time of the copy, below any change"
    shop.merge()
    assert [(row["id"], row["name"]) for row in shop.people_see()] == [(None, None), (1, "changed")]

    plan = shop.prepare()
    assert merge_snapshot(shop.warehouse, plan, copy, at="4").written == 2, (
        "below the deletion, above a change without a position"
    )
    assert merge_snapshot(shop.warehouse, plan, copy, at="4").written == 0
    assert [(row["id"], row["name"]) for row in shop.people_see()] == [(None, None), (1, None)]


def test_a_copy_with_repeated_keys_or_none_at_all_is_refused(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    plan = shop.prepare()
    dataset.land("copy", {"id": "INT64"}, "1", "1", "NULL", "NULL", "2")
    with pytest.raises(SchemaConflict, match="2 keys"):
        merge_snapshot(shop.warehouse, plan, TableId(DEFAULT_PROJECT, dataset.name, "copy"))
    with pytest.raises(NotFound, match="nobody"):
        merge_snapshot(shop.warehouse, plan, TableId(DEFAULT_PROJECT, dataset.name, "nobody"))
    assert shop.base() == []


def test_rows_that_a_batch_staged_are_merged_by_the_same_statement(dataset: EmulatedDataset) -> None:
    """In any columns and types that a query can bring into those of the base; what the batch read need not be read again."""
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    shop.land("a", change("INSERT", "1", id=1, name="a"), at=LONG_AGO)
    plan = shop.prepare()
    dataset.land(
        "staged",
        {"id": "STRING", "name": "STRING", "_position": "STRING", "_deleted": "BOOL"},
        "'1', 'a', '20 x', FALSE",
        "'2', NULL, '20 y', TRUE",
    )
    rows = f"SELECT CAST(id AS INT64) AS id, name, _position, _deleted FROM {dataset.quoted('staged')}"
    counts = merge_rows(shop.warehouse, plan, rows, plan.versions, MergeCounts(changes=7, keys=2, disputed=1))
    assert (counts.changes, counts.keys, counts.written, counts.disputed) == (7, 2, 2, 1)
    assert [(row["id"], row["_deleted"]) for row in shop.base()] == [(1, False), (2, True)]
    assert shop.merge().changes == 0


def test_staged_rows_that_a_replaced_base_may_lack_are_to_be_merged_again(dataset: EmulatedDataset) -> None:
    shop = Shop(dataset)
    shop.create("a", CUSTOMER)
    plan = shop.prepare()
    dataset.run(f"DROP TABLE {dataset.quoted('customer_base')}")
    again = shop.prepare()
    rows = "SELECT 1 AS id, 'a' AS name, '1' AS _position, FALSE AS _deleted"
    with pytest.raises(TryAgain, match="was replaced"):
        merge_rows(shop.warehouse, plan, rows, plan.versions)
    assert merge_rows(shop.warehouse, again, rows, again.versions).written == 0, "they are there, but nobody could know"


def test_the_counts_of_bigquery_are_reported() -> None:
    resource = {
        "jobReference": {"projectId": "p", "jobId": "j"},
        "configuration": {"query": {"query": "MERGE"}},
        "statistics": {"query": {"numDmlAffectedRows": "5", "dmlStats": {"insertedRowCount": "3", "updatedRowCount": "2"}}},
    }
    client = bigquery.Client(project="p", credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
    assert write_result(bigquery.QueryJob.from_api_repr(resource, client)) == WriteResult(5, 3, 2)
    del resource["statistics"]["query"]["dmlStats"]  # type: ignore[index]
    assert write_result(bigquery.QueryJob.from_api_repr(resource, client)) == WriteResult(5, None, None)
