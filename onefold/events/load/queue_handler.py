"""Handles messages of a queue of SQS: a run is finished, so every run that is not loaded yet is loaded.

A message names the manifests of runs, as S3 writes it, or nothing: then it only has the loader look. Where there are
external tables, they follow: they and their views get the runs that were named or loaded, and after a look those of the last
runs that the catalogue does not have. A message whose run is not loaded, or not in all of its external tables, goes back to
the queue, and after some deliveries to the queue of dead letters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from onefold.core.errors import OnefoldError
from onefold.core.log import log
from onefold.events.load.external import ExternalTables
from onefold.events.load.load import Loader
from onefold.events.load.log import log_external, log_report, log_waiting
from onefold.events.shred.manifest import MANIFEST
from onefold.messages.finished_run import parse_s3_objects
from onefold.messages.queue_batch import Records, answer_batch

_LAST_RUNS = 2_000
"""The runs that a look compares with the catalogue of external tables: those of a week, if one ends every five minutes."""


@dataclass(frozen=True)
class QueueHandler:
    """Handles batches of messages.

    Attributes:
        loader: loads the runs.
        now: the time by which the age of runs is known.
        external: brings the external tables to runs; None where there are none.
    """

    loader: Loader
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    external: ExternalTables | None = None

    def handle(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Load all runs that are not loaded, and return the messages that have to be delivered again.

        Args:
            batch: see `answer_batch`.

        Raises:
            Exception: an error in Onefold; the queue delivers all messages again.
        """
        return answer_batch(batch, self._failed)

    def _failed(self, records: Records) -> list[str]:
        runs = {record["messageId"]: _runs_in(record) for record in records}
        try:
            named = {run for some in runs.values() for run in some or ()}
            not_done = self._load(named, looks=set() in runs.values())
        except OnefoldError as error:
            log("ERROR", f"to be delivered again: {error}", event="load_failed", reason=str(error))
            return list(runs)
        return [message for message, some in runs.items() if some is None or some & not_done]

    def _load(self, named: set[str], *, looks: bool) -> set[str]:
        """Load, and return the runs that are not loaded, and those that are not in all of their external tables."""
        reports = []
        for report in self.loader.load():
            log_report(report, log)
            reports.append(report)
        log_waiting(self.loader.waiting(), self.now(), log)
        # Views come after loads, since a view shows the columns that the loaded table had when it was made.
        outside = self._external(named | {report.run for report in reports}, looks=looks)
        return {report.run for report in reports if report.errors} | outside

    def _external(self, runs: set[str], *, looks: bool) -> set[str]:
        """Bring external tables to some runs, and return the runs that have no place in one."""
        failed = set[str]()
        if self.external is None:
            return failed
        if looks:
            runs = runs | self.external.missing(self.external.runs.list()[-_LAST_RUNS:])
        for report in self.external.bring(runs) if runs else ():
            log_external(report, log)
            failed.update(report.runs if report.error else ())
        return failed


def _runs_in(record: Mapping[str, Any]) -> set[str] | None:
    """Return the runs that a message names; None for a message of another form."""
    try:
        return {address.removesuffix(f"/{MANIFEST}") for address in parse_s3_objects(record["body"].encode())}
    except OnefoldError as error:
        log("ERROR", f"dead-lettered: {error}", event="put_aside", message_id=record["messageId"], reason=str(error))
        return None
