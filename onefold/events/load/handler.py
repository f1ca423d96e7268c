"""Handles the messages of the topic `shredded-runs`: a run is finished, so every run that is not loaded yet is loaded."""

from __future__ import annotations

from dataclasses import dataclass

from onefold.core.errors import NotFound, OnefoldError, Rejected, TryAgain
from onefold.core.text import counted
from onefold.events.load.load import Loader
from onefold.events.load.report import EventTableReport, RunReport
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
                log_report(report, message_log)
                waiting += [error for error in report.errors if isinstance(error, TryAgain)]
        except NotFound as error:
            raise Rejected(f"{error}: create the dataset of the events, or have Terraform create it") from error
        if waiting:
            raise TryAgain("; ".join(map(str, waiting)))


def log_report(report: RunReport, message_log: MessageLog) -> None:
    """Log what became of a run and of its tables."""
    for table in report.tables:
        _log_table(report.run, table, message_log)
    if report.error and not isinstance(report.error, TryAgain):
        text = f"{report.run} is refused: {report.error}"
        message_log.log("CRITICAL", text, "run_refused", run=report.run, reason=str(report.error))
    if report.state == "loaded":
        rows = sum(table.rows for table in report.tables)
        message_log.log(
            "NOTICE",
            f"{report.run}: {counted(rows, 'row')} of {counted(len(report.tables), 'table')} loaded",
            "run_loaded",
            run=report.run,
            rows=rows,
            tables=len(report.tables),
            bad=report.bad,
        )


def _log_table(run: str, table: EventTableReport, message_log: MessageLog) -> None:
    fields = {"run": run, "table": table.table, "rows": table.rows}
    if table.is_new_recovery:
        text = f"{table.table}: a version of the schema does not fit into the table of its model, and has this table"
        message_log.log("CRITICAL", text, "recovery_table", **fields)
    if table.error and not isinstance(table.error, TryAgain):
        text = f"{table.table}: {counted(table.rows, 'row')} of {run} are not loaded: {table.error}"
        message_log.log("CRITICAL", text, "table_not_loaded", **fields, reason=str(table.error))
    elif table.state == "loaded":
        message_log.log(
            "NOTICE" if table.action != "none" else "INFO",
            f"{table.table}: {counted(table.rows, 'row')} loaded",
            "shredded_rows_loaded",
            **fields,
            action=table.action,
            added=list(table.added) or None,
            job=table.job or None,
        )
