"""A merge of a plain change table reads only what is new, whichever way it finds that, and loses no late row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from support.appended_tables import PlainShop
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import Row, change
from support.sweeps import sweep

from onefold.changelog.generator import WorkloadOptions, make_workload
from onefold.changelog.metadata import METADATA
from onefold.merge.reading import Way
from onefold.views.refresh_current import refresh_current

DAY = timedelta(days=1)
HISTORY = 30
WAYS: dict[Way, tuple[timedelta | None, str | None]] = {
    "partition": (7 * DAY, "DAY"),
    "appends": (7 * DAY, None),
    "source_timestamp": (None, None),
}


def at(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def changes(first: int, last: int, time: datetime) -> Sequence[Row]:
    """One change for each sequence; every seventh deletes its key, and has no more than the key."""
    return [
        change("DELETE", f"{number:X}", timestamp=at(time), id=number % 9)
        if number % 7 == 0
        else change("UPDATE-INSERT", f"{number:X}", timestamp=at(time), id=number % 9, name=f"n{number}")
        for number in range(first, last)
    ]


# By the time of the source another test merges, whose rows are late as well.
@pytest.mark.parametrize("way", sweep(["appends", "partition", "source_timestamp"]))
def test_the_rows_that_a_merge_reads_do_not_grow_with_history(dataset: EmulatedDataset, way: Way) -> None:
    shop, now = PlainShop(dataset, *WAYS[way]), datetime.now(UTC)
    shop.land(changes(0, HISTORY, now - 3 * DAY), now - 3 * DAY)
    first = shop.merge()
    assert (first.plan.changes[0].way, first.counts.changes) == ("whole", HISTORY)
    for number in range(2):
        shop.land(changes(HISTORY + number, HISTORY + number + 1, now), None if number else now)
        done = shop.merge()
        assert (done.plan.changes[0].way, done.counts.changes) == (way, number + 1)
        assert shop.base() == shop.expected()
        assert shop.current() == shop.expected()
    if way != "source_timestamp":
        shop.land(changes(HISTORY + 2, HISTORY + 3, now - 9 * DAY), now)
        assert shop.current() == shop.expected(), "a row that is late by days"
        shop.merge()
        assert shop.base() == shop.expected()


def test_rows_that_somebody_loads_into_an_older_partition_are_found_too(dataset: EmulatedDataset) -> None:
    shop, now = PlainShop(dataset, *WAYS["partition"]), datetime.now(UTC)
    shop.land(changes(0, 5, now), now - 5 * DAY)
    shop.merge()
    shop.land(changes(5, 6, now), now)
    assert shop.merge().plan.changes[0].way == "partition"
    shop.land(changes(6, 8, now), now - 3 * DAY)
    assert shop.merge().plan.changes[0].way == "whole"
    assert shop.base() == shop.expected()
    assert shop.current() == shop.expected()


def test_rows_that_come_to_an_older_partition_while_others_go_are_found_too(dataset: EmulatedDataset) -> None:
    shop, now = PlainShop(dataset, *WAYS["partition"]), datetime.now(UTC)
    shop.land(changes(1, 6, now), now - 5 * DAY)
    for _ in range(2):
        shop.merge()
    dataset.run(f"DELETE FROM `{dataset.name}.orders` WHERE id IN (4, 5)")
    shop.land(changes(10, 11, now), now - 3 * DAY)
    assert shop.merge().plan.changes[0].way == "whole"
    assert shop.base() == shop.expected(), "the base keeps the rows that are gone"
    assert shop.merge().plan.changes[0].way == "partition"


def test_a_view_over_a_base_reads_only_the_partitions_that_the_base_may_lack(dataset: EmulatedDataset) -> None:
    shop, now = PlainShop(dataset, *WAYS["partition"]), datetime.now(UTC)
    shop.land(changes(0, 5, now), now)
    shop.merge()
    shop.merge()
    query = refresh_current(shop.warehouse, shop.table, (), shop.settings).query
    assert query.count("r._PARTITIONTIME >= TIMESTAMP") == 1


def test_by_the_time_of_the_source_a_row_that_is_late_by_days_is_in_the_view_at_once_and_in_the_base_within_a_day(
    dataset: EmulatedDataset,
) -> None:
    shop, now = PlainShop(dataset, *WAYS["source_timestamp"]), datetime.now(UTC)
    shop.land(changes(0, 5, now), now)
    shop.merge()
    shop.land(changes(5, 6, now - 9 * DAY), now)
    assert shop.merge().plan.changes[0].way == "source_timestamp"
    assert shop.base() != shop.expected()
    assert shop.current() == shop.expected()
    shop.forget_whole_reads()
    assert shop.merge().plan.changes[0].way == "whole"
    assert shop.base() == shop.expected()


def test_after_the_time_travel_window_the_whole_table_is_read_and_the_view_does_not_mind(dataset: EmulatedDataset) -> None:
    shop, now = PlainShop(dataset, travel=timedelta(minutes=90)), datetime.now(UTC)
    shop.land(changes(0, 5, now), now - 3 * DAY)
    shop.merge()
    shop.land(changes(5, 8, now), now)
    assert shop.current() == shop.expected()
    assert shop.merge().plan.changes[0].way == "whole"
    assert shop.base() == shop.expected()


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_a_workload_of_late_repeated_and_shuffled_changes_gives_the_rows_of_the_source(
    dataset: EmulatedDataset, way: Way
) -> None:
    options = WorkloadOptions(
        operations=400, key_changes=0.2, duplicates=0.1, shuffle=True, same_second=True, backfill=True, every_type=False
    )
    made = make_workload(options)
    (rows,) = made.changes.values()
    shop, now = PlainShop(dataset, *WAYS[way]), datetime.now(UTC)
    size = len(rows) // 4 + 1
    for start in range(0, len(rows), size):
        some = [{name: row[name] for name in ("id", "name", METADATA)} for row in rows[start : start + size]]
        shop.land(some, now)
        shop.merge()
        assert shop.current() == shop.expected()
    shop.forget_whole_reads()
    shop.merge()
    truth = sorted(({"id": row["id"], "name": row["name"]} for row in made.truth), key=lambda row: row["id"])
    assert shop.base() == shop.current() == shop.expected() == truth
