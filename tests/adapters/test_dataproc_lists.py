"""Lists of batches: by labels, states and times of creation, from all pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from support.dataproc_stage import BATCH, PARENT, Stage

import onefold.adapters.dataproc
from onefold.ports.batches import BatchState


def test_active_batches_are_listed_by_labels_and_states(stage: Stage) -> None:
    assert stage.batches.active({"onefold_dataset": "shop", "onefold_table": "customer"}) == []
    (request,) = stage.requests
    assert (request.parent, request.filter) == (
        PARENT,
        '(state = PENDING OR state = RUNNING) AND labels.onefold_dataset = "shop" AND labels.onefold_table = "customer"',
    )


def test_batches_that_succeeded_are_listed_by_labels_and_the_time_of_their_creation(stage: Stage) -> None:
    since = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=timezone(timedelta(hours=1)))
    assert stage.batches.succeeded({"onefold_scope": "dataset"}, since) == []
    assert stage.requests[0].filter == (
        '(state = SUCCEEDED) AND labels.onefold_scope = "dataset" AND create_time > "2026-01-02T02:04:05.000678Z"'
    )


def test_a_batch_that_succeeded_is_found_with_its_arguments_if_it_was_created_later(stage: Stage) -> None:
    before = datetime.now(UTC)
    stage.batches.create(BATCH)
    assert stage.batches.succeeded(BATCH.labels, before) == []
    stage.end(BATCH.id)
    (found,) = stage.batches.succeeded(BATCH.labels, before)
    assert (found.id, found.state, found.arguments) == (BATCH.id, BatchState.SUCCEEDED, BATCH.arguments)
    assert found.created
    assert before <= found.created <= datetime.now(UTC)
    assert stage.batches.succeeded(BATCH.labels, found.created) == []


def test_active_batches_come_from_all_pages(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onefold.adapters.dataproc, "_PAGE", 2)
    for number in range(1, 6):
        stage.batches.create(BATCH.attempt(number))
    before = stage.batches.calls
    found = stage.batches.active({"onefold_table": "customer"})
    assert {batch.id for batch in found} == {BATCH.attempt(number).id for number in range(1, 6)}
    assert stage.batches.calls - before == 3
    assert stage.batches.active({"onefold_table": "order"}) == []
