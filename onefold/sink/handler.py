"""Handles messages of captured rows: appends the rows to the versioned table, and dead-letters rows that do not fit.

A row is appended at least once; duplicates disappear when rows are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from onefold.core.errors import InvalidMessage, InvalidRecord, InvalidSettings, Rejected, TryAgain
from onefold.core.names import TableId
from onefold.messages.change_records import ChangeMessage, change_message, parse_change_message, parse_stored_message
from onefold.messages.consumer import MessageLog, attribute_value, consume, dead_letters
from onefold.messages.envelope import Delivery
from onefold.ports.objects import ObjectReader
from onefold.ports.publisher import Message, Publisher
from onefold.ports.rows import Row, RowErrors, RowWriter, TableWriter
from onefold.settings.environment import Settings
from onefold.sink.rows import RowBuilder

# A log line holds the first reasons why rows of a message were refused. The dead letters hold the reason for each row.
_MAX_LOGGED_REASONS = 5


@dataclass(frozen=True)
class RecordHandler:
    """Handles the messages of the topic `change-records`."""

    settings: Settings
    landing: RowWriter
    objects: ObjectReader
    publisher: Publisher
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def handle(self, body: bytes) -> str | None:
        """Handle the body of one request.

        Raises:
            TryAgain: an error that may pass, or the table does not exist yet.
        """
        return consume(body, self._handle, self.landing, _RetryingPublisher(self.publisher), self.settings.topic_dead_letter)

    def _handle(self, delivery: Delivery, message_log: MessageLog) -> None:
        message = parse_change_message(delivery.data, self.settings.names_in)
        message_log.fields |= {"dataset": message.dataset, "table": message.table, "version": message.version}
        self._check_allowed(message)
        if message.records_at:
            message = parse_stored_message(self.objects.read(message.records_at), message)
        id_ = TableId(self.landing.project, message.dataset, message.versioned_table)
        table = self.landing.open(id_)
        if table is None:
            raise TryAgain(f"expected a table {id_}, got none yet: its rows are delivered again until capture has made it")
        refused = self._land(message, table)
        self._keep(message, refused, delivery.id)
        _log_rows(message_log, id_, len(message.records), refused)

    def _check_allowed(self, message: ChangeMessage) -> None:
        problems = []
        if self.settings.datasets is not None and message.dataset not in self.settings.datasets:
            problems.append(f"dataset {message.dataset} is not among ONEFOLD_DATASETS: add it there")
        folder = self.settings.large_records
        if message.records_at and not (folder and message.records_at.startswith(f"{folder}/")):
            problems.append(f"`records_at` is not in the folder of ONEFOLD_LARGE_RECORDS ({folder or 'none is set'})")
        if problems:
            raise InvalidMessage(problems)

    def _land(self, message: ChangeMessage, table: TableWriter) -> RowErrors:
        """Append the records of a message; return the reason for each index of a record that was refused."""
        builder = RowBuilder(message, table.columns, self.now())
        rows: dict[int, Row] = {}
        refused: RowErrors = {}
        for index, record in enumerate(message.records):
            try:
                rows[index] = builder.row(record)
            except InvalidRecord as error:
                refused[index] = str(error)
        # `append` numbers the rows that it was given, which are not all records of the message.
        indexes = list(rows)
        unfit = table.append(list(rows.values())) if rows else {}
        return refused | {indexes[number]: reason for number, reason in unfit.items()}

    def _keep(self, message: ChangeMessage, refused: RowErrors, identifier: str | None) -> None:
        """Dead-letter each refused record, as a message that can be sent again once the problem is fixed."""
        letters = [
            letter
            for index, reason in sorted(refused.items())
            for letter in _letters(message, message.records[index], reason, identifier)
        ]
        if letters and self.settings.topic_dead_letter:
            _RetryingPublisher(self.publisher).publish(self.settings.topic_dead_letter, letters)


def check_sink_settings(settings: Settings) -> Settings:
    """Return the settings if the sink can work with them.

    Raises:
        InvalidSettings: there is no topic for rows that do not fit, so they would be lost.
    """
    if not settings.topic_dead_letter:
        raise InvalidSettings("ONEFOLD_TOPIC_DEAD_LETTER is not set: rows that do not fit their table would be lost")
    return settings


@dataclass(frozen=True)
class _RetryingPublisher:
    """A publisher of dead letters whose errors have the message delivered again.

    Once the message is acknowledged, a refused row exists nowhere but in the dead letters.
    """

    publisher: Publisher

    def publish(self, topic: str, messages: Iterable[Message]) -> list[str]:
        """Publish messages.

        Raises:
            TryAgain: the topic refuses them, or an error that may pass.
        """
        try:
            return self.publisher.publish(topic, messages)
        except Rejected as error:
            raise TryAgain(f"rows that do not fit could not be dead-lettered: {error}") from error


def _letters(message: ChangeMessage, record: Any, reason: str, identifier: str | None) -> list[Message]:
    data = change_message(message.dataset, message.table, message.version, [record])
    return dead_letters(Delivery(data, identifier), {"reason": attribute_value(reason), "kind": InvalidRecord.__name__})


def _log_rows(message_log: MessageLog, id_: TableId, records: int, refused: RowErrors) -> None:
    text = f"{id_.dataset}.{id_.table}: {records - len(refused)} rows landed"
    message_log.log(
        "ERROR" if refused else "INFO",
        f"{text}, {len(refused)} do not fit and are dead-lettered" if refused else text,
        "landed",
        rows=records - len(refused),
        refused=len(refused),
        reasons=list(dict.fromkeys(refused.values()))[:_MAX_LOGGED_REASONS] or None,
    )
