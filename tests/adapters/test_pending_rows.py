"""Rows by a pending stream: all of them once, or none, whatever fails; and what a load job has to write."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from google.api_core.exceptions import RetryError
from support.columns import columns
from support.fake_pending_streams import FakePendingStreams

from onefold.adapters.bigquery.pending_rows import MAX_ROWS, PendingRows
from onefold.core.errors import TryAgain
from onefold.core.names import TableId

TABLE = TableId("p", "fraud_models", "score_v_abc")
ROW = {"id": 1, "name": "Zoë", "at": "2026-05-03 12:00:00+00:00", "data": "AAE=", "_day": "2026-05-03"}
ERRORS = [None, RetryError("the client's own retries", None)]  # type: ignore[no-untyped-call]
LANDED = {"id": 1, "name": "Zoë", "at": datetime(2026, 5, 3, 12, tzinfo=UTC), "data": b"\x00\x01", "_day": date(2026, 5, 3)}


@pytest.fixture
def fake() -> FakePendingStreams:
    known = {
        "score_v_abc": columns(id="INT64", name="STRING", at="TIMESTAMP", data="BYTES", _day="DATE"),
        "documents": columns(id="INT64", body="JSON"),
    }
    return FakePendingStreams(known)


def test_rows_of_a_file_are_visible_after_the_commit(fake: FakePendingStreams) -> None:
    done = PendingRows(fake, fake).append(TABLE, [ROW, {**ROW, "id": 2, "name": None}])
    assert done is not None
    assert (done.id, done.rows) == ("projects/p/datasets/fraud_models/tables/score_v_abc/streams/0", 2)
    assert fake.rows("score_v_abc") == [LANDED, {**LANDED, "id": 2, "name": None}]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("fault", ["create", "append", "rows", "finalize", "refuse"])
def test_before_the_commit_every_fault_leaves_the_rows_to_a_load_job(
    fake: FakePendingStreams, fault: str, error: Exception | None
) -> None:
    fake.fail, fake.error = fault, error
    assert PendingRows(fake, fake).append(TABLE, [ROW]) is None
    assert fake.rows("score_v_abc") == []


@pytest.mark.parametrize("error", ERRORS)
def test_a_commit_whose_answer_was_lost_is_looked_up(fake: FakePendingStreams, error: Exception | None) -> None:
    fake.fail, fake.after, fake.error = "commit", True, error
    assert PendingRows(fake, fake).append(TABLE, [ROW]) is not None
    assert fake.rows("score_v_abc") == [LANDED]


@pytest.mark.parametrize(("after", "is_lost"), [(False, False), (True, True)])
def test_no_load_job_follows_a_commit_that_may_take_place(fake: FakePendingStreams, after: bool, is_lost: bool) -> None:
    fake.fail, fake.after, fake.is_lost = "commit", after, is_lost
    with pytest.raises(TryAgain, match="the next pull reads them again"):
        PendingRows(fake, fake).append(TABLE, [ROW])


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("score_v_abc", []),
        ("score_v_abc", [{"id": "no number"}]),
        ("score_v_abc", [{"name": "x" * MAX_ROWS}]),
        ("documents", [{"id": 1, "body": {"a": 1.0}}]),
        ("missing", [ROW]),
    ],
)
def test_what_a_load_job_has_to_write_makes_no_stream(fake: FakePendingStreams, table: str, rows: list[Any]) -> None:
    assert PendingRows(fake, fake).append(TABLE.sibling(table), rows) is None
    assert not fake.streams
