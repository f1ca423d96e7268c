"""Handles messages that ask for a Spark job: finds or creates the batch for a message."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from onefold.batches.allow_list import AllowList
from onefold.batches.batch import MAX_ATTEMPTS, batch_link, label, meaning, plan_batch, subject_labels
from onefold.batches.jobs import FORMER_JOBS, former_name_warning
from onefold.batches.request import BatchRequest, parse_batch_request
from onefold.core.errors import InvalidMessage, Rejected, TryAgain
from onefold.core.retry import Backoff
from onefold.messages.consumer import MessageLog, consume
from onefold.messages.envelope import Delivery
from onefold.ports.batches import Batch, Batches, BatchExists, BatchReader, StoredBatch
from onefold.ports.publisher import Publisher
from onefold.settings.environment import Settings

POLLING = Backoff(first=0.2, longest=10.0, factor=1.5)
"""The pauses between two reads of a running batch's state."""
PATIENCE = 20
"""How many reads in a row may fail before `follow` gives up. The batch itself goes on."""


@dataclass(frozen=True)
class LaunchedBatch:
    """The batch of a message.

    created: False where the batch existed before.
    attempt: the number of the batch among those of the message.
    superseded: True where the batch is that of another message, which did the same work after this message was published.
    """

    batch: StoredBatch
    created: bool
    attempt: int = 1
    superseded: bool = False


@dataclass(frozen=True)
class BatchHandler:
    """Handles the messages of the topic `batch-requests`."""

    settings: Settings
    batches: Batches
    publisher: Publisher

    def handle(self, body: bytes) -> str | None:
        """Handle the body of one request.

        Raises:
            TryAgain: an error that may pass, or another batch for the table runs.
        """
        return consume(body, self._handle, self.batches, self.publisher, self.settings.topic_dead_letter)

    def _handle(self, delivery: Delivery, message_log: MessageLog) -> None:
        request = parse_batch_request(delivery.data)
        subject = {"dataset": request.dataset, "table": request.table}
        message_log.fields |= {"job": request.job, **{name: value for name, value in subject.items() if value}}
        if not delivery.id:
            raise InvalidMessage("the message has no messageId, by which another delivery of it would be known")
        if request.job in FORMER_JOBS:
            message_log.log("WARNING", former_name_warning(request.job), "former_name")
        launched = launch(self.batches, request, delivery.id, self.settings, delivery.published)
        batch = launched.batch
        if launched.superseded:
            text = f"{request.subject}: nothing to do, since batch {batch.id} began after the request was published"
            message_log.log("INFO", text, "superseded", batch=batch.id, created=False, state=batch.state.value)
            return
        message_log.log(
            "NOTICE" if launched.created else "INFO",
            f"{request.subject}: batch {batch.id} {'created' if launched.created else 'is there already'}",
            "launched",
            batch=batch.id,
            created=launched.created,
            attempt=launched.attempt,
            state=batch.state.value,
            link=batch_link(self.batches.project, self.batches.region, batch.id),
        )


def launch(
    batches: Batches, request: BatchRequest, message_id: str, settings: Settings, published: datetime | None = None
) -> LaunchedBatch:
    """Return the batch for a message, which is created once, however often the message is delivered.

    Args:
        batches: where batches run.
        request: what the message asks for.
        message_id: the identifier of the message, the same in each delivery of it.
        settings: those of the installation.
        published: when the message was published. Where the same job began later and succeeded, nothing is created. None
            for a request that is always carried out.

    Raises:
        InvalidMessage: the arguments are wrong, or name what a job may not read or write; nothing was created.
        Rejected: Dataproc refuses the batch, or it has failed too often.
        TryAgain: an error that may pass, or the batch of another message for the table runs.
    """
    planned = planned_batch(batches.project, request, message_id, settings)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        batch = planned.attempt(attempt)
        found, created = batches.get(batch.id), False
        if found is None:
            if published and (done := _done_since(batches, planned, request, published)):
                return LaunchedBatch(done, created=False, attempt=attempt, superseded=True)
            _check_free(batches, request, planned.id)
            found, created = _create(batches, batch)
        what = meaning(found.state)
        if what == "attach":
            return LaunchedBatch(found, created, attempt)
        if what == "wait":
            raise TryAgain(f"batch {found.id} is {found.state.value}; what the message asks for waits for its end")
    raise Rejected(
        f"all {MAX_ATTEMPTS} batches of this message failed: see the log of "
        f"{planned.attempt(MAX_ATTEMPTS).id}, correct the cause, and send the message again"
    )


def planned_batch(project: str, request: BatchRequest, message_id: str, settings: Settings) -> Batch:
    """Return the batch that the first attempt for a message would create.

    Args:
        project: where batches run.
        request: what the message asks for.
        message_id: the identifier of the message.
        settings: those of the installation.

    Raises:
        InvalidMessage: the arguments are wrong, or name what a job may not read or write.
    """
    allowed = AllowList(project, settings.datasets, settings.batch, settings.registry.address)
    return plan_batch(request, message_id, settings.batch, allowed)


def _create(batches: Batches, batch: Batch) -> tuple[StoredBatch, bool]:
    """Return the batch, and whether this call created it: another delivery of the message may have been faster.

    Raises:
        BatchExists: the batch was created by somebody else, and deleted before it could be read.
    """
    try:
        return batches.create(batch), True
    except BatchExists:
        found = batches.get(batch.id)
        if found is None:
            raise
        return found, False


def _done_since(batches: Batches, planned: Batch, request: BatchRequest, published: datetime) -> StoredBatch | None:
    """Return a batch of the same job, with the same arguments, that was created after a time and succeeded.

    A batch with other arguments has done other work: after a merge a rebuild is still to be done.
    """
    labels = {"onefold_job": label(request.job), **subject_labels(request)}
    same = (batch for batch in batches.succeeded(labels, published) if batch.arguments == planned.arguments)
    return next(same, None)


def _check_free(batches: Batches, request: BatchRequest, planned: str) -> None:
    """Check that no other batch for the table, for all tables of the dataset or for the output, runs.

    This saves costs, and is no guarantee: two batches at once give the same table as one.

    Raises:
        TryAgain: another batch runs.
    """
    others = [batch.id for batch in batches.active(subject_labels(request)) if not batch.id.startswith(planned)]
    if others:
        raise TryAgain(f"batch {others[0]} for {request.subject} has not ended; this one is for later")


def follow(
    batches: BatchReader, id_: str, tell: Callable[[StoredBatch], None], sleep: Callable[[float], None] = time.sleep
) -> StoredBatch:
    """Wait until a batch has ended, and return it.

    Args:
        batches: where batches run.
        id_: the identifier of the batch.
        tell: called with the batch after each read of its state.
        sleep: pauses for so many seconds.

    Raises:
        TryAgain: the state could not be read `PATIENCE` times in a row.
        Rejected: somebody has deleted the batch.
    """
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
    """Return the batch.

    Raises:
        Rejected: there is none.
    """
    if batch is None:
        raise Rejected(f"batch {id_} is gone: somebody has deleted it: start it again")
    return batch
