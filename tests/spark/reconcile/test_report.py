"""What a job's report says to people: numbers with their nouns, and what was done to the base."""

from __future__ import annotations

import pytest

from onefold.core.text import counted
from onefold.spark.reconcile.report import JobReport


@pytest.mark.parametrize(("number", "reported"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1234, "1,234 rows")])
def test_counts_have_a_singular_and_a_plural(number: int, reported: str) -> None:
    assert counted(number, "row") == reported


def test_the_report_of_a_new_folder_in_the_singular_and_in_the_plural() -> None:
    one = JobReport(1, 1, inserted=1, tombstones=1, repeated=1, disputed=1, base="read", base_rows=1, live=1, rows=2)
    assert one.summary().splitlines() == [
        "1 change of 1 key; a base of 1 row",
        "1 row inserted, 0 updated, 0 deleted; 1 key deleted that had no row",
        "1 key merged before, 0 newer in the base; 1 change of a disputed position, 0 without a sequence",
        "the new base: 1 row, and 1 tombstone",
    ]
    many = JobReport(1000, 300, inserted=99, tombstones=201, rows=300, live=99, window="landed from 2024-01-01")
    assert many.summary().splitlines() == [
        "of the window: landed from 2024-01-01",
        "1,000 changes of 300 keys; no base: an empty one",
        "99 rows inserted, 0 updated, 0 deleted; 201 keys deleted that had no row",
        "0 keys merged before, 0 newer in the base; 0 changes of a disputed position, 0 without a sequence",
        "the new base: 99 rows, and 201 tombstones",
    ]


def test_a_base_in_bigquery_that_was_rebuilt_says_so() -> None:
    report = JobReport(3, 2, updated=2, below_floor=1, base="merged", brought_up="rebuilt")
    assert report.summary().splitlines() == [
        "3 changes of 2 keys, merged into the base; the base was rebuilt from the whole history",
        "0 rows inserted, 2 updated; 1 key below the floor",
        "0 changes of a disputed position, 0 without a sequence",
    ]
    assert '"brought_up": "rebuilt"' in report.to_json()
