"""Lines of self-describing JSON, each of them an event of its own."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

from onefold.core.shred_options import FileFormat
from onefold.events.shred.bad_rows import BadEvent, EventProblem
from onefold.events.shred.entities import KEYS, entity_problems, read_text
from onefold.events.shred.event import EntityData, Event, check_id, root_maker
from onefold.events.shred.event_fields import EVENT_ID, EVENT_TIME
from onefold.events.shred.values import DoesNotFit, utc_time

RECORD = "record"
"""The place of the entity of a self-describing line: it is the whole record."""
_OTHERS = frozenset({EVENT_ID, EVENT_TIME})


class SelfDescribingReader:
    """Reads a line as an event with one entity and without a row of `events`."""

    def __init__(self, format_: FileFormat, started_at: datetime | None) -> None:
        """Keep the time of events that do not say their own.

        Args:
            format_: the format of the rows.
            started_at: the time with its zone; None where each event has to say its own.
        """
        self._time = started_at and started_at.astimezone(UTC).replace(tzinfo=None)
        self._root = root_maker(format_)

    def read(self, record: str) -> Event:
        """Return the event of a line.

        Raises:
            BadEvent: the line is not self-describing JSON, or its id or time is not valid.
        """
        found = read_text(record, "the record")
        if self._time and type(found) is dict and found.keys() == KEYS and type(found["schema"]) is str:
            root = self._root(_digest_id(record), self._time)  # as most lines are
        elif problems := list(entity_problems(found, "the record", _OTHERS)):
            raise BadEvent(problems)
        else:
            root = self._root(*self._own(found, record))
        return Event(root, None, (EntityData(found["schema"], found["data"], RECORD),), "\\" not in record)

    def _own(self, found: dict[str, Any], record: str) -> tuple[str, datetime]:
        """Return the id and the time of an event.

        Raises:
            BadEvent: one of them is missing or not valid.
        """
        problems: list[EventProblem] = []
        id_, time = found.get(EVENT_ID), self._time
        if id_ is None:
            id_ = _digest_id(record)
        else:
            problems += check_id(id_)
        if found.get(EVENT_TIME) is not None:
            try:
                time = utc_time(found[EVENT_TIME])
            except DoesNotFit as error:
                problems.append(EventProblem("does_not_fit", f"{EVENT_TIME}: {error}"))
        elif time is None:
            problems.append(EventProblem("invalid", f"{EVENT_TIME} is missing"))
        if problems or time is None:
            raise BadEvent(problems)
        return id_, time


def _digest_id(record: str) -> str:
    """Return an id in the form of a UUID that is the same for the same record (RFC 9562, version 8)."""
    digest = hashlib.sha256(record.encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"
