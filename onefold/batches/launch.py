"""A message asks for a Spark job: the batch for it is found, or created, and the message is done with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from onefold.batches.allow_list import AllowList
from onefold.batches.batch import MAX_ATTEMPTS, batch_link, meaning, plan_batch, table_labels
from onefold.batches.request import BatchRequest, parse_batch_request
from onefold.core.errors import InvalidMessage, Rejected, TryAgain
from onefold.core.retry import Backoff
from onefold.messages.consumer import MessageLog, consume
from onefold.messages.envelope import Delivery
from onefold.ports.batches import Batch, Batches, BatchExists, StoredBatch
from onefold.ports.publisher import Publisher
from onefold.settings.environment import Settings

POLLING = Backoff(first=0.2, longest=10.0, factor=1.5)
"""Seconds between two looks at a batch that runs."""
PATIENCE = 20
"""Looks in a row that may fail before following a batch is given up; the batch itself goes on."""


@dataclass(frozen=True)
class LaunchedBatch:
    """A message's batch; `created` is False where it was there already."""

    batch: StoredBatch
    created: bool
    attempt: int = 1


@dataclass(frozen=True)
class BatchHandler:
    """Handles the messages of the topic `batch-requests`."""

    settings: Settings
    batches: Batches
    publisher: Publisher

    def handle(self, body: bytes) -> None:
        """Handle the body of one request.

        Raises:
            TryAgain: trouble that may pass, or a batch for the table that runs.
        """
        consume(body, self._handle, self.batches, self.publisher, self.settings.topic_dead_letter)

    def _handle(self, delivery: Delivery, told: MessageLog) -> None:
        request = parse_batch_request(delivery.data)
        told.fields |= {"job": request.job, "dataset": request.dataset, "table": request.table}
        if not delivery.id:
            raise InvalidMessage("the message has no messageId, by which another delivery of it would be known")
        launched = launch(self.batches, request, delivery.id, self.settings)
        batch = launched.batch
        told.log(
            "NOTICE" if launched.created else "INFO",
            f"{request.dataset}.{request.table}: batch {batch.id} "
            + ("created" if launched.created else "is there already"),
            "launched",
            batch=batch.id,
            created=launched.created,
            attempt=launched.attempt,
            state=batch.state.value,
            link=batch_link(self.batches.project, self.batches.region, batch.id),
        )


def launch(batches: Batches, request: BatchRequest, message_id: str, settings: Settings) -> LaunchedBatch:
    """The batch for a message: created once, however often the message comes.

    Raises:
        InvalidMessage: the arguments are wrong, or name what may not be read or written; nothing was created.
        Rejected: Dataproc refuses the batch, or it has failed too often.
        TryAgain: trouble that may pass, or another message's batch for the table runs.
    """
    places = AllowList(batches.project, settings.datasets, settings.batch)
    planned = plan_batch(request, message_id, settings.batch, places)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        batch = planned.attempt(attempt)
        found, created = batches.get(batch.id), False
        if found is None:
            _check_free(batches, request, planned.id)
            found, created = _create(batches, batch)
        what = meaning(found.state)
        if what == "attach":
            return LaunchedBatch(found, created, attempt)
        if what == "wait":
            raise TryAgain(f"batch {found.id} is {found.state.value}; what the message asks for waits for its end")
    raise Rejected(f"all {MAX_ATTEMPTS} batches of this message failed, the last one is {planned.attempt(MAX_ATTEMPTS).id}")


def _create(batches: Batches, batch: Batch) -> tuple[StoredBatch, bool]:
    """The batch and whether we made it; another delivery of the message, at the same time, may have been faster."""
    try:
        return batches.create(batch), True
    except BatchExists:
        found = batches.get(batch.id)
        if found is None:
            raise
        return found, False


def _check_free(batches: Batches, request: BatchRequest, planned: str) -> None:
    """An economy, no guarantee: two batches at once give the same table, and cost twice."""
    others = [batch.id for batch in batches.active(table_labels(request)) if not batch.id.startswith(planned)]
    if others:
        raise TryAgain(f"batch {others[0]} for {request.dataset}.{request.table} has not ended; this one is for later")


def follow(
    batches: Batches, id_: str, tell: Callable[[StoredBatch], None], sleep: Callable[[float], None] = time.sleep
) -> StoredBatch:
    """The batch when it has ended; each state on the way is told."""
    pauses, failures = POLLING.pauses(), 0
    while True:
        try:
            batch, failures = _known(batches.get(id_), id_), 0
        except TryAgain:
            failures += 1
            if failures >= PATIENCE:
                raise
        else:
            tell(batch)
            if batch.state.ended:
                return batch
        sleep(next(pauses))


def _known(batch: StoredBatch | None, id_: str) -> StoredBatch:
    if batch is None:
        raise Rejected(f"batch {id_} is gone: somebody has deleted it")
    return batch
