"""The report of a check and its rows in the log: outcomes, numbers, and no value."""

from __future__ import annotations

import json

import pytest

from onefold.check.counts import RowCounts
from onefold.check.report import CheckReport, ChunkCheck, TableCheck
from onefold.compare.findings import DIFFERENT, ONLY_LEFT
from onefold.pull.read.plan import KeyRange

CHUNK = KeyRange("id", 5, 9)
CLEAN = ChunkCheck(CHUNK, 4)
WRONG = ChunkCheck(CHUNK, 4, ((DIFFERENT, 2), (ONLY_LEFT, 1)), ("name",), ("`name` does not match ...",))
FIXED = ChunkCheck(CHUNK, 4, ((DIFFERENT, 2),), ("name",), (), 2, is_fixed=True)


@pytest.mark.parametrize(
    ("check", "outcome"),
    [
        (TableCheck("t", (CLEAN,)), "same"),
        (TableCheck("t", (CLEAN, WRONG)), "different"),
        (TableCheck("t", (CLEAN, FIXED)), "fixed"),
        (TableCheck("t", (FIXED, WRONG)), "different"),
        (TableCheck("t", (FIXED,), RowCounts("time", 1, 2), counts_differ=True), "different"),
        (TableCheck("t", (CLEAN,), RowCounts("time", 1, 2)), "same"),
        (TableCheck("t", (WRONG,), failed=("the log cannot be written",)), "failed"),
        (TableCheck("t", skipped=("it was never loaded",)), "skipped"),
    ],
)
def test_the_outcome_follows_from_chunks_and_counts(check: TableCheck, outcome: str) -> None:
    assert check.outcome == outcome
    assert check.text.startswith(f"t: {outcome}")


def test_the_text_has_numbers_and_columns() -> None:
    check = TableCheck("t", (CLEAN, WRONG), RowCounts("key", 1_000, 999), counts_differ=True, notes=("a note",))
    assert check.text == (
        "t: different; 8 rows in 2 chunks compared; values that do not match: 2; missing in BigQuery: 1; "
        "columns that differ: name; MySQL has 1,000 rows up to the greatest key that was loaded before the padding, "
        "BigQuery 999; a note"
    )
    assert "does not match" not in json.dumps(check.as_dict())


def test_a_report_counts_the_outcomes() -> None:
    report = CheckReport("d", (TableCheck("a", (CLEAN,)), TableCheck("b", (WRONG,)), TableCheck("c", failed=("x",))))
    body = json.loads(report.to_json())
    assert [body[name] for name in ("dataset", "same", "fixed", "different", "skipped", "failed")] == ["d", 1, 0, 1, 0, 1]
    assert report.summary().splitlines()[-1] == "d: 1 same, 0 fixed, 1 different, 0 skipped, 1 failed"
