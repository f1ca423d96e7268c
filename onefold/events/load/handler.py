"""Handles the messages of the topic `shredded-runs`: a run is finished, so every run that is not loaded yet is loaded."""

from __future__ import annotations

from dataclasses import dataclass

from onefold.core.errors import NotFound, OnefoldError, Rejected, TryAgain
from onefold.events.load.load import Loader
from onefold.events.load.log import log_report
from onefold.events.shred.manifest import MANIFEST
from onefold.messages.consumer import CountsCalls, MessageLog, consume
from onefold.messages.envelope import Delivery
from onefold.messages.finished_run import parse_new_object
from onefold.ports.publisher import Publisher

SECONDS = 420.0
"""How long one message may load. Pub/Sub waits for 540 seconds, and then delivers the message again."""


@dataclass(frozen=True)
class ShreddedHandler:
    """Handles messages.

    Attributes:
        runs: the address of the folder of the runs.
        loader: loads these runs.
        adapter: counts the calls to BigQuery.
        publisher: publishes dead letters.
        topic_dead_letter: for these; None to log their reasons only.
    """

    runs: str
    loader: Loader
    adapter: CountsCalls
    publisher: Publisher
    topic_dead_letter: str | None = None

    def handle(self, body: bytes) -> str | None:
        """Handle the body of one request.

        Raises:
            TryAgain: an error that may pass, or loads still run.
        """
        return consume(body, self._handle, self.adapter, self.publisher, self.topic_dead_letter)

    def _handle(self, delivery: Delivery, message_log: MessageLog) -> None:
        new = parse_new_object(delivery.data)
        if not new.address.startswith(f"{self.runs}/") or not new.address.endswith(f"/{MANIFEST}"):
            message_log.log(
                "INFO", f"nothing to do: {new.address} is no manifest of a run", "other_object", address=new.address
            )
            return
        message_log.fields["address"] = new.address
        waiting: list[OnefoldError] = []
        try:
            for report in self.loader.load():
                log_report(report, message_log.log)
                waiting += [error for error in report.errors if isinstance(error, TryAgain)]
        except NotFound as error:
            raise Rejected(f"{error}: create the dataset of the events, or have Terraform create it") from error
        if waiting:
            raise TryAgain("; ".join(map(str, waiting)))
