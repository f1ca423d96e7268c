"""Handles messages about new files of events: sees to it that a run of the shredder reads them, and that few runs do.

A message is a hint: a run reads every file that no run has taken. So a message is done where a run will read the files, or
has read them: one that has not begun, or one that was created after the message was sent and did not fail. Else a run is
started; where one is at work, the service has it wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from onefold.core.errors import OnefoldError, TryAgain
from onefold.core.log import log
from onefold.messages.queue_batch import Records
from onefold.ports.batches import BatchState, StoredBatch
from onefold.ports.job_runs import JobRuns

SHREDDER = "onefold-shredder"
"""What the job runs are called that read new files, here and in infra/aws."""
_AT_WORK = (BatchState.RUNNING, BatchState.SUCCEEDED)


@dataclass(frozen=True)
class NewFiles:
    """Starts runs.

    Attributes:
        jobs: runs the shredder.
        words: its arguments.
    """

    jobs: JobRuns
    words: Sequence[str]

    def failed(self, records: Records) -> list[str]:
        """See to it that a run reads the files, and return the messages that have to be delivered again.

        A message that does not say when it was sent is one of them, and stops no other one. Of the others, all or none.

        Args:
            records: messages of a queue, of any content.
        """
        sent = {str(record["messageId"]): _sent(record) for record in records}
        times = [time for time in sent.values() if time]
        try:
            if times:
                self._ensure(max(times))
        except OnefoldError as error:
            log("ERROR", f"to be delivered again: {error}", event="job_not_started", reason=str(error))
            return list(sent)
        return [message for message, time in sent.items() if time is None]

    def _ensure(self, sent: datetime) -> None:
        """Start a run where none reads what was there at a time.

        Raises:
            TryAgain: the run that the service answers with may have begun before.
        """
        recent = self.jobs.recent(SHREDDER)
        if found := next((job for job in recent if _reads(job, sent)), None):
            log("INFO", f"{found.id} reads the new files", event="job_found", job=found.id)
            return
        started = self.jobs.start(SHREDDER, self.words, _token(recent, sent))
        job = self.jobs.get(started)
        if job is None or not _reads(job, sent):
            raise TryAgain(f"job {started} may have begun before the files were there; the next delivery looks again")
        log("INFO", f"{started} was started for new files", event="job_started", job=started)


def _reads(job: StoredBatch, sent: datetime) -> bool:
    """Return whether a job reads the files that were there at a time."""
    return job.state is BatchState.PENDING or (job.state in _AT_WORK and job.created is not None and job.created >= sent)


def _token(recent: Sequence[StoredBatch], sent: datetime) -> str:
    """Return the token of the job that follows the newest one: functions that see the same jobs start one together.

    Before the first job, it is that of the hour in which the newest message was sent.
    """
    newest = max(recent, key=lambda job: (job.created or datetime.min.replace(tzinfo=UTC), job.id), default=None)
    return f"after-{newest.id}" if newest else f"first-{sent:%Y-%m-%d-%H}"


def _sent(record: Mapping[str, Any]) -> datetime | None:
    """Return when a message was sent (Amazon SQS, "Message", SentTimestamp: milliseconds since 1970), where it says so."""
    try:
        milliseconds = int(record["attributes"]["SentTimestamp"])
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
        reason = f"expected attributes.SentTimestamp in milliseconds since 1970 ({type(error).__name__})"
        log("ERROR", f"dead-lettered: {reason}", event="put_aside", message_id=record["messageId"], reason=reason)
        return None
