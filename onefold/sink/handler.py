"""Handles messages of captured rows: appends the rows to their versioned tables, and dead-letters rows that do not fit.

A row is appended at least once; duplicates disappear when rows are merged. A message may have rows of many tables: those of
a table that fails become a message of their own, and all others land.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from onefold.core.errors import (
    InvalidMessage,
    InvalidRecord,
    InvalidSettings,
    OnefoldError,
    Postponed,
    Rejected,
    TryAgain,
)
from onefold.messages.change_records import (
    TOPIC,
    ChangeMessage,
    ChangeMessages,
    change_message,
    encode_record,
    message_of_tables,
    parse_change_messages,
    parse_stored_message,
)
from onefold.messages.consumer import MessageLog, attribute_value, consume, dead_letters
from onefold.messages.envelope import Delivery
from onefold.ports.objects import ObjectReader
from onefold.ports.publisher import Message, Publisher
from onefold.ports.rows import RowWriter
from onefold.settings.environment import Settings
from onefold.sink.appends import LandingResult, append_messages
from onefold.sink.landed_log import log_landed


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
        messages = parse_change_messages(delivery.data, self.settings.names_in)
        message_log.fields |= {"dataset": messages.dataset, **_version(messages)}
        self._check_allowed(messages)
        landed = append_messages([self._stored(one) for one in messages.tables], self.landing, self.now())
        _check_divided(messages, landed)
        # Before the letters: rows that come twice disappear when they are merged, and letters that come twice do not.
        self._publish(self.settings.topic_change_records or TOPIC, list(_again(landed)))
        letters = [one for table in landed for one in _letters_of(table, delivery.id)]
        self._publish(self.settings.topic_dead_letter, [*letters, *_unnamed_letters(messages, delivery.id)])
        log_landed(message_log, messages, landed)

    def _check_allowed(self, messages: ChangeMessages) -> None:
        problems = []
        if self.settings.datasets is not None and messages.dataset not in self.settings.datasets:
            problems.append(f"dataset {messages.dataset} is not among ONEFOLD_DATASETS: add it there")
        folder = self.settings.large_records
        addresses = [one.records_at for one in messages.tables if one.records_at]
        if any(not folder or not address.startswith(f"{folder}/") for address in addresses):
            problems.append(f"`records_at` is not in the folder of ONEFOLD_LARGE_RECORDS ({folder or 'none is set'})")
        if problems:
            raise InvalidMessage(problems)

    def _stored(self, message: ChangeMessage) -> ChangeMessage:
        """Return a message with its records, which are read where they are in an object."""
        return parse_stored_message(self.objects.read(message.records_at), message) if message.records_at else message

    def _publish(self, topic: str | None, messages: list[Message]) -> None:
        """Publish what would be lost when the message is acknowledged.

        Raises:
            TryAgain: the topic refuses, or an error that may pass: the whole message is delivered again.
        """
        if topic and messages:
            _RetryingPublisher(self.publisher).publish(topic, messages)


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
    """A publisher whose errors have the message delivered again.

    Once the message is acknowledged, a refused row exists nowhere but in the dead letters, and a row that is tried again
    nowhere but in its own message.
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
            raise TryAgain(f"rows that do not fit or did not land could not be published to {topic}: {error}") from error


def _check_divided(messages: ChangeMessages, landed: Sequence[LandingResult]) -> None:
    """Check that what is left of a message is less than the message.

    Raises:
        TryAgain: no table has taken rows, and all were postponed, or none was: the whole message is delivered again.
        Rejected: no table can ever take rows.
    """
    errors = [one.error for one in landed if one.error]
    if messages.unnamed or len(errors) < len(landed):
        return
    if len({isinstance(error, Postponed) for error in errors}) == 1:
        error = next((error for error in errors if isinstance(error, TryAgain)), errors[0])
        raise error


def _again(landed: Sequence[LandingResult]) -> Iterator[Message]:
    """Yield messages of the rows that are to be tried again: of each table with an error of its own, and of all others."""
    own = [one.message for one in landed if isinstance(one.error, TryAgain) and not isinstance(one.error, Postponed)]
    yield from map(_alone, own)
    postponed = [one.message for one in landed if isinstance(one.error, Postponed)]
    if len(postponed) == 1:
        yield _alone(postponed[0])
    elif postponed:
        records = (encode_record(record) for message in postponed for record in message.records)
        yield Message(message_of_tables(postponed[0].dataset, records))


def _version(messages: ChangeMessages) -> dict[str, str]:
    """Return the fields of the log that name the version, for a message about one only."""
    is_one = len(messages.tables) == 1 and not messages.unnamed
    return {"table": messages.tables[0].table, "version": messages.tables[0].version} if is_one else {}


def _alone(message: ChangeMessage, records: Sequence[Any] | None = None) -> Message:
    """Return a message with the rows of one table, or with some of them."""
    kept = message.records if records is None else records
    return Message(change_message(message.dataset, message.table, message.version, kept))


def _letters_of(landed: LandingResult, identifier: str | None) -> Iterator[Message]:
    """Yield the dead letters of a table: each refused record, or all records of a table that can never take them.

    Each is a message that can be sent again once the problem is fixed.
    """
    if isinstance(landed.error, TryAgain):
        return
    if landed.error:
        yield from _letters(_alone(landed.message), str(landed.error), type(landed.error), identifier)
    for index, reason in sorted(landed.refused.items()):
        record = _alone(landed.message, [landed.message.records[index]])
        yield from _letters(record, reason, InvalidRecord, identifier)


def _unnamed_letters(messages: ChangeMessages, identifier: str | None) -> Iterator[Message]:
    for record, reason in messages.unnamed:
        message = Message(json.dumps({"dataset": messages.dataset, "records": [record]}).encode())
        yield from _letters(message, reason, InvalidRecord, identifier)


def _letters(message: Message, reason: str, kind: type[OnefoldError], identifier: str | None) -> list[Message]:
    return dead_letters(Delivery(message.data, identifier), {"reason": attribute_value(reason), "kind": kind.__name__})
