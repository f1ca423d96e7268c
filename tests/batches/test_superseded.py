"""A request that is older than the last successful start of the same job does nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from support.batches import REQUEST, SETTINGS, MemoryBatches

from onefold.batches.launch import LaunchedBatch, launch
from onefold.batches.request import BatchRequest
from onefold.core.errors import TryAgain
from onefold.ports.batches import BatchState

MINUTE = timedelta(minutes=1)
ALL = BatchRequest("reconcile", "shop")


@pytest.fixture
def batches() -> MemoryBatches:
    return MemoryBatches()


def deliver(
    batches: MemoryBatches, message: str, published: datetime | None, request: BatchRequest = REQUEST
) -> LaunchedBatch:
    return launch(batches, request, message, SETTINGS, published)


def ended(batches: MemoryBatches, state: BatchState, request: BatchRequest = REQUEST) -> tuple[str, datetime]:
    """A batch of another message that has ended, and when it was created."""
    id_ = deliver(batches, "other", None, request).batch.id
    batches.enter(id_, state)
    created = batches.kept[id_].created
    assert created
    return id_, created


@pytest.mark.parametrize("request_", [REQUEST, ALL])
def test_a_request_that_was_published_before_a_successful_start_creates_nothing(
    batches: MemoryBatches, request_: BatchRequest
) -> None:
    id_, created = ended(batches, BatchState.SUCCEEDED, request_)
    launched = deliver(batches, "late", created - MINUTE, request_)
    assert (launched.batch.id, launched.created, launched.superseded) == (id_, False, True)
    assert len(batches.created) == 1


@pytest.mark.parametrize("later", [timedelta(0), MINUTE])
def test_a_request_that_was_published_at_the_start_or_after_it_is_carried_out(
    batches: MemoryBatches, later: timedelta
) -> None:
    _, created = ended(batches, BatchState.SUCCEEDED)
    launched = deliver(batches, "new", created + later)
    assert (launched.created, launched.superseded) == (True, False)


@pytest.mark.parametrize("state", [BatchState.FAILED, BatchState.CANCELLED])
def test_a_start_without_success_does_not_count(batches: MemoryBatches, state: BatchState) -> None:
    _, created = ended(batches, state)
    assert deliver(batches, "late", created - MINUTE).created


@pytest.mark.parametrize(
    "other",
    [
        BatchRequest("reconcile", "shop", "customer", ("--keys=id", "--mode=rebuild")),
        BatchRequest("reconcile", "shop", "order", ("--keys=id",)),
        BatchRequest("compare", "shop", "customer", ("--keys=id", "--right=bigquery:shop.truth")),
        ALL,
    ],
)
def test_a_job_that_has_done_other_work_does_not_count(batches: MemoryBatches, other: BatchRequest) -> None:
    _, created = ended(batches, BatchState.SUCCEEDED, other)
    assert deliver(batches, "late", created - MINUTE).created


@pytest.mark.parametrize(("done", "asked"), [("day", "15m"), ("15m", "day"), ("full", "day")])
def test_a_pull_of_another_window_does_not_count(batches: MemoryBatches, done: str, asked: str) -> None:
    settings = replace(SETTINGS, datasets=frozenset({"shop_crm"}))

    def pull(message: str, window: str, published: datetime | None) -> LaunchedBatch:
        arguments = ("--source=shop", "--database=crm", f"--window={window}")
        return launch(batches, BatchRequest("pull", "shop_crm", None, arguments), message, settings, published)

    first = pull("first", done, None).batch.id
    batches.enter(first, BatchState.SUCCEEDED)
    created = batches.kept[first].created
    assert created
    second = pull("second", asked, created - MINUTE)
    assert second.created
    batches.enter(second.batch.id, BatchState.SUCCEEDED)
    assert pull("third", asked, created - MINUTE).superseded


def test_a_request_without_a_time_is_always_carried_out(batches: MemoryBatches) -> None:
    ended(batches, BatchState.SUCCEEDED)
    assert deliver(batches, "new", None).created


def test_a_request_waits_for_a_running_batch_and_is_done_when_that_succeeds(batches: MemoryBatches) -> None:
    published = datetime.now(UTC) - MINUTE
    running = deliver(batches, "other", None).batch.id
    with pytest.raises(TryAgain, match=running):
        deliver(batches, "late", published)
    batches.enter(running, BatchState.SUCCEEDED)
    assert deliver(batches, "late", published).superseded


def test_after_its_own_batch_failed_a_request_is_still_superseded(batches: MemoryBatches) -> None:
    published = datetime.now(UTC) - MINUTE
    own = deliver(batches, "late", published).batch.id
    batches.enter(own, BatchState.FAILED)
    ended(batches, BatchState.SUCCEEDED)
    launched = deliver(batches, "late", published)
    assert (launched.superseded, launched.attempt) == (True, 2)
