"""A message's batch is created once, however often the message comes, and not while another message's batch runs."""

from __future__ import annotations

import pytest
from support.batches import REQUEST, SETTINGS, MemoryBatches

from onefold.batches.batch import MAX_ATTEMPTS
from onefold.batches.launch import PATIENCE, LaunchedBatch, follow, launch
from onefold.batches.request import BatchRequest
from onefold.core.errors import InvalidMessage, Rejected, TryAgain
from onefold.ports.batches import Batch, BatchState, StoredBatch


@pytest.fixture
def batches() -> MemoryBatches:
    return MemoryBatches()


def deliver(batches: MemoryBatches, message: str = "1", request: BatchRequest = REQUEST) -> LaunchedBatch:
    return launch(batches, request, message, SETTINGS)


def test_a_message_creates_a_batch(batches: MemoryBatches) -> None:
    launched = deliver(batches)
    (created,) = batches.created
    assert (launched.created, launched.attempt, launched.batch.id) == (True, 1, created.id)
    assert created.arguments == (
        "--keys=id",
        "--changes=bigquery:shop.customer",
        "--base=bigquery:shop.customer_base",
    )


@pytest.mark.parametrize("state", [BatchState.PENDING, BatchState.RUNNING, BatchState.SUCCEEDED])
def test_a_redelivery_attaches_to_a_batch_that_will_do_or_has_done_it(batches: MemoryBatches, state: BatchState) -> None:
    first = deliver(batches)
    batches.enter(first.batch.id, state)
    again = deliver(batches)
    assert (again.batch.id, again.batch.state, again.created) == (first.batch.id, state, False)
    assert len(batches.created) == 1


@pytest.mark.parametrize("state", [BatchState.FAILED, BatchState.CANCELLED])
def test_a_redelivery_creates_another_batch_where_the_last_one_came_to_nothing(
    batches: MemoryBatches, state: BatchState
) -> None:
    first = deliver(batches).batch.id
    batches.enter(first, state)
    second = deliver(batches)
    assert (second.batch.id, second.created, second.attempt) == (f"{first}-2", True, 2)
    batches.enter(second.batch.id, state)
    assert deliver(batches).batch.id == f"{first}-3"
    assert deliver(batches).batch.id == f"{first}-3"
    assert len(batches.created) == 3


@pytest.mark.parametrize("state", [BatchState.CANCELLING, BatchState.UNKNOWN])
def test_a_redelivery_waits_for_a_batch_whose_end_is_open(batches: MemoryBatches, state: BatchState) -> None:
    batches.enter(deliver(batches).batch.id, state)
    with pytest.raises(TryAgain, match=state.value):
        deliver(batches)
    assert len(batches.created) == 1


def test_a_message_whose_batches_fail_again_and_again_is_dead_lettered(batches: MemoryBatches) -> None:
    for _ in range(MAX_ATTEMPTS):
        batches.enter(deliver(batches).batch.id, BatchState.FAILED)
    with pytest.raises(Rejected, match="all 9 batches of this message failed"):
        deliver(batches)
    assert len(batches.created) == MAX_ATTEMPTS


@pytest.mark.parametrize("failed", [0, 1])
def test_of_two_deliveries_at_once_one_creates_and_the_other_attaches(batches: MemoryBatches, failed: int) -> None:
    for _ in range(failed):
        batches.enter(deliver(batches).batch.id, BatchState.FAILED)
    batches.rival = lambda batch: batches.enter(batch.id, BatchState.RUNNING)
    launched = deliver(batches)
    assert (launched.created, launched.batch.state, launched.attempt) == (False, BatchState.RUNNING, failed + 1)
    assert len(batches.kept) == failed + 1


def test_where_the_faster_delivery_has_failed_already_the_other_tries_again(batches: MemoryBatches) -> None:
    def rival(batch: Batch) -> None:
        batches.rival = None
        batches.enter(batch.id, BatchState.FAILED)

    batches.rival = rival
    launched = deliver(batches)
    assert (launched.created, launched.attempt) == (True, 2)


# Batches of other messages.


@pytest.mark.parametrize("state", [BatchState.PENDING, BatchState.RUNNING])
def test_a_message_comes_later_while_a_batch_for_its_table_runs(batches: MemoryBatches, state: BatchState) -> None:
    first = deliver(batches, "1").batch.id
    batches.kept[first] = StoredBatch(first, state, labels=batches.created[0].labels)
    with pytest.raises(TryAgain, match=f"batch {first} for shop.customer has not ended"):
        deliver(batches, "2")
    batches.enter(first, BatchState.SUCCEEDED)
    assert deliver(batches, "2").created


def test_batches_for_other_tables_run_beside_each_other(batches: MemoryBatches) -> None:
    deliver(batches, "1")
    assert deliver(batches, "2", BatchRequest("reconcile", "shop", "order", ("--keys=id",))).created
    assert deliver(batches, "3", BatchRequest("reconcile", "shop", "customer_vip", ("--keys=id",))).created


def test_nothing_is_asked_or_created_where_the_arguments_are_wrong(batches: MemoryBatches) -> None:
    for words in (("--mode=x",), ("--keys=id", "--changes=bigquery:crm.x"), ("--keys=id", "--frm=x")):
        with pytest.raises(InvalidMessage):
            deliver(batches, request=BatchRequest("reconcile", "shop", "customer", words))
    assert batches.calls == 0


# Following a batch.


class Passing(MemoryBatches):
    """A batch that is in another state at each look; an error is raised."""

    def __init__(self, *seen: BatchState | Exception | None) -> None:
        super().__init__()
        self.seen = list(seen)

    def get(self, id_: str) -> StoredBatch | None:
        now = self.seen.pop(0)
        if isinstance(now, Exception):
            raise now
        return StoredBatch(id_, now, "its message") if now else None


@pytest.mark.parametrize("end", [BatchState.SUCCEEDED, BatchState.FAILED, BatchState.CANCELLED])
def test_a_batch_is_followed_to_its_end(end: BatchState) -> None:
    reported: list[BatchState] = []
    pauses: list[float] = []
    passing = Passing(BatchState.PENDING, TryAgain("503"), BatchState.RUNNING, BatchState.CANCELLING, end)
    found = follow(passing, "b", lambda batch: reported.append(batch.state), pauses.append)
    assert (found.state, found.message) == (end, "its message")
    assert reported == [BatchState.PENDING, BatchState.RUNNING, BatchState.CANCELLING, end]
    assert len(pauses) == 4
    assert pauses == sorted(pauses)


def test_following_ends_where_dataproc_does_not_answer_any_more() -> None:
    with pytest.raises(TryAgain, match="503"):
        follow(Passing(*[TryAgain("503")] * PATIENCE), "b", lambda _: None, lambda _: None)


def test_following_ends_where_the_batch_is_gone() -> None:
    with pytest.raises(Rejected, match="batch b is gone"):
        follow(Passing(BatchState.PENDING, None), "b", lambda _: None, lambda _: None)
