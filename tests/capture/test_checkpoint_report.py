"""What a checkpoint tells about its capture, as docs/reference/capture-status.md specifies it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.capture_checkpoint import FULL, POSITION

from onefold.capture.checkpoint import Checkpoint
from onefold.capture.checkpoint_json import from_json, to_json
from onefold.capture.checkpoint_report import CheckpointReport
from onefold.capture.quarantine import Quarantined, TableProblem
from onefold.mysql.catalog import TableName

NOON = 1_700_000_000
ENTRY = Quarantined(TableProblem(TableName("shop", "t"), "grant", "SELECT is missing", "run: GRANT ..."), POSITION)


def saved(as_of: int | None, saved_at: int | None, **changes: Any) -> Checkpoint:
    return replace(FULL, reached=replace(FULL.reached, as_of=as_of), saved_at=saved_at, **changes)


def report_of(checkpoint: Checkpoint, now: int = NOON, max_lag: int = 300) -> CheckpointReport:
    return CheckpointReport(checkpoint, now, max_lag)


def test_the_lag_is_that_of_the_time_when_the_checkpoint_was_saved() -> None:
    report = report_of(saved(NOON - 40, NOON - 33))
    assert (report.lag_seconds, report.saved_seconds_ago, report.problems) == (7, 33, ())
    assert report.to_json()["captured_until"] == "2023-11-14T22:12:40Z"
    assert report.to_json()["saved_at"] == "2023-11-14T22:12:47Z"


@pytest.mark.parametrize(
    ("as_of", "saved_at", "problem"),
    [
        (NOON - 300, NOON - 300, None),
        (NOON - 300, NOON - 1, None),
        (NOON - 301, NOON - 1, "301 s behind the source, more than 300 s"),
        (NOON - 301, NOON - 300, "301 s behind the source"),
        (NOON - 5_000, NOON - 301, "no process has saved the checkpoint for 301 s"),
        (None, NOON - 1, "the lag is unknown"),
        (None, None, "the lag is unknown"),
    ],
)
def test_data_that_is_out_of_date_is_a_problem(as_of: int | None, saved_at: int | None, problem: str | None) -> None:
    problems = report_of(saved(as_of, saved_at)).problems
    assert len(problems) == (problem is not None)
    assert (problem or "") in "".join(problems)


def test_a_table_in_quarantine_is_a_problem_until_it_has_left() -> None:
    checkpoint = saved(NOON, NOON, quarantine=(ENTRY, replace(ENTRY, until=POSITION)))
    report = report_of(checkpoint)
    assert report.problems == ("shop.t is in quarantine (grant): SELECT is missing; run: GRANT ...",)
    assert report.to_json()["quarantine"] == [
        {"database": "shop", "table": "t", "kind": "grant", "reason": "SELECT is missing", "remedy": "run: GRANT ..."}
    ]
    assert report.to_json()["ok"] is False


def test_the_report_has_the_position_and_the_copies() -> None:
    found = report_of(saved(NOON, NOON)).to_json()
    assert (found["file"], found["offset"], found["epoch"], found["gtids"]) == ("mysql-bin.000007", 1234, 3, "0-1-5,1-2-7")
    assert found["copies_waiting"] == ["shop.a", "shop.b"]
    assert found["copies_running"] == [{"table": "shop.customer", "rows": 20_000}]
    assert (found["delete_scans"], found["ok"], found["problems"]) == (["shop.order"], True, [])


def test_the_times_of_a_checkpoint_are_read_as_they_were_written_and_are_no_news() -> None:
    checkpoint = saved(NOON - 1, NOON)
    assert from_json(to_json(checkpoint)) == checkpoint
    assert checkpoint.without_times() == FULL
