"""The filters of ListBatches: what the stand-in for Dataproc selects, and what it refuses."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from google.cloud import dataproc_v1

from onefold_lab.dataproc_filter import parse_filter

PARENT = "projects/local/locations/europe-west1"
State = dataproc_v1.Batch.State
FILTERED = dataproc_v1.Batch(
    name=f"{PARENT}/batches/one",
    state=State.RUNNING,
    labels={"table": "customer"},
    create_time=datetime(2026, 1, 2, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("state = RUNNING", True),
        ("state = PENDING", False),
        ("state != PENDING", True),
        ('state = RUNNING and labels.table = "customer"', True),
        ("labels.table=customer", True),
        ("labels.other=customer", False),
        ('(state = PENDING OR state = RUNNING) AND labels.table = "order"', False),
        ("state = PENDING OR state = RUNNING AND labels.table = order", False),
        ('create_time > "2026-01-01T23:59:59.999999Z"', True),
        ('create_time > "2026-01-02T00:00:00Z"', False),
        ('create_time >= "2026-01-02T01:00:00+01:00" AND state = RUNNING', True),
        ('create_time < "2026-01-02T00:00:00Z" OR create_time = "2026-01-02T00:00:00Z"', True),
        ('create_time <= "2026-01-01T00:00:00Z"', False),
        ('create_time != "2026-01-02T00:00:00Z"', False),
        ("batch_id = one AND (labels.table = order OR (state = RUNNING))", True),
    ],
)
def test_a_filter_selects_the_batches_that_the_api_would_select(text: str, matches: bool) -> None:
    assert parse_filter(text)(FILTERED) is matches


@pytest.mark.parametrize(
    "text",
    [
        "state",
        "(state = RUNNING",
        "state = RUNNING)",
        "create_time < 1",
        "create_time < 2026-01-01",
        "state < 1",
        "a = b",
        "#",
    ],
)
def test_an_unsupported_filter_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Invalid isoformat"):
        parse_filter(text)
