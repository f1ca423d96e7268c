"""A workload is the same for the same seed, and its log leads to its truth."""

from __future__ import annotations

from typing import Any

import pytest
from changelogs import oracle

from onefold.changelog import METADATA
from onefold.errors import InvalidInput
from onefold.workload import Options, Workload, check_options, make_workload


def all_changes(workload: Workload) -> list[dict[str, Any]]:
    return [row for rows in workload.changes.values() for row in rows]


def test_the_same_options_make_the_same_workload() -> None:
    options = Options(key_changes=0.1, duplicates=0.2, shuffle=True, backfill=True, versions=3)
    assert make_workload(options) == make_workload(options)


def test_another_seed_makes_another_one() -> None:
    assert make_workload(Options(seed=1)).truth != make_workload(Options(seed=2)).truth


def test_every_operation_is_one_change_and_a_change_of_key_is_two() -> None:
    workload = make_workload(Options(key_changes=0.5))
    assert len(all_changes(workload)) == sum(workload.counts.values()) + workload.counts["key change"]
    assert sum(workload.counts.values()) == 1000


def test_duplicates_are_the_same_changes_again() -> None:
    once, twice = make_workload(Options()), make_workload(Options(duplicates=1.0))
    assert [row for row in all_changes(once) for _ in range(2)] == all_changes(twice)


def test_a_backfill_overlaps_the_changes_and_has_no_sequence() -> None:
    rows = [
        row for row in all_changes(make_workload(Options(backfill=True))) if row[METADATA]["change_sequence_number"] is None
    ]
    assert rows
    assert len({row[METADATA]["source_timestamp"] for row in rows}) == 1
    assert len({row[METADATA]["uuid"] for row in rows}) == 1


def test_each_version_after_the_first_brings_a_column() -> None:
    workload = make_workload(Options(versions=3))
    assert [len(rows[0]) for rows in workload.changes.values()] == [4, 5, 6]
    assert all(len(row) == 5 for row in workload.truth)


def test_the_base_is_the_table_at_the_chosen_time() -> None:
    changes = all_changes(make_workload(Options()))
    base = make_workload(Options(base_at=300)).base
    assert base == sorted(oracle(changes[:300], ["id"]), key=lambda row: row["id"])
    assert make_workload(Options(base_at=0)).base == []


@pytest.mark.parametrize("mix", [(40, 40, 20), (100, 0, 0), (34, 33, 33), (10, 10, 80)])
def test_the_log_leads_to_the_truth(mix: tuple[int, int, int]) -> None:
    workload = make_workload(
        Options(mix=mix, key_changes=0.1, duplicates=0.1, shuffle=True, same_second=True, unpadded=True)
    )
    assert sorted(oracle(all_changes(workload), ["id"]), key=lambda row: row["id"]) == workload.truth


def test_everything_that_makes_no_workload_is_told_at_once() -> None:
    with pytest.raises(InvalidInput) as raised:
        check_options(Options(operations=0, mix=(50, 50, 50), key_changes=2, base_at=9))
    assert len(raised.value.faults) == 4
