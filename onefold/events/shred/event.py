"""An event: what its rows have in common, its own row and its entities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from onefold.core.shred_options import FileFormat
from onefold.events.shred.bad_rows import EventProblem
from onefold.events.shred.csv_values import TAB, csv_field
from onefold.events.shred.event_fields import EVENT_ID
from onefold.events.shred.parquet_values import micros
from onefold.events.shred.values import shown


class EventKey(NamedTuple):
    """What makes two records one event: its id, and a fingerprint of its content."""

    id: str
    fingerprint: str


class EntityData(NamedTuple):
    """Self-describing JSON in an event.

    Attributes:
        uri: its schema, as the event has it.
        data: its data.
        place: where it is in the event: `contexts[2]` is the third one of the field `contexts`.
    """

    uri: str
    data: Any
    place: str


class Root(NamedTuple):
    """What the entities of an event have of it.

    Attributes:
        id: the id of the event.
        time: its collector time in UTC, without a zone.
        fields: both as the format has them: `root_id` and `root_tstamp` of a line, or two values.
    """

    id: str
    time: datetime
    fields: Any


class Event(NamedTuple):
    """An event.

    Attributes:
        root: what its entities have of it.
        row: its own row of `events`; None where it has none.
        entities: its entities.
        plain: whether no text of the data has a character that makes quotes or an escape of CSV necessary.
        problems: why the event is bad.
        app_id: the app that it is from; None where it does not say so.
        key: what makes it one event with others, where the reader was asked for it and has read it with the fields.
    """

    root: Root
    row: Any
    entities: Sequence[EntityData]
    plain: bool
    problems: Sequence[EventProblem] = ()
    app_id: str | None = None
    key: EventKey | None = None


MakeRoot = Callable[[str, datetime], Root]


def root_maker(format_: FileFormat) -> MakeRoot:
    r"""Return the function that makes the root of an id and a time in UTC.

    Examples:
        >>> root_maker("csv")("e1", datetime(2026, 11, 23)).fields, root_maker("parquet")("e1", datetime(1970, 1, 2)).fields
        ('e1\t2026-11-23 00:00:00', ('e1', 86400000000))
    """
    is_csv = format_ == "csv"
    time_of: Callable[[datetime], Any] = (lambda time: time.isoformat(" ")) if is_csv else micros
    last, written = datetime.min, time_of(datetime.min)

    def make(id_: str, time: datetime) -> Root:
        nonlocal last, written
        if time is not last:  # events without a time of their own all have one
            last, written = time, time_of(time)
        return Root(id_, time, f"{csv_field(id_)}{TAB}{written}" if is_csv else (id_, written))

    return make


_ID_BYTES = 36


def check_id(id_: Any) -> list[EventProblem]:
    """Return why a value cannot be the id of an event: an empty list where it can.

    Examples:
        >>> check_id("c6ef3124-b53a-4b13-a233-0088f79dcbcb"), check_id(5)[0].reason
        ([], 'event_id: expected 1 to 36 ASCII characters without spaces, got 5')
    """
    if type(id_) is str and id_.isascii() and 0 < len(id_) <= _ID_BYTES and id_.isprintable() and " " not in id_:
        return []
    rule = f"expected 1 to {_ID_BYTES} ASCII characters without spaces"
    return [EventProblem("does_not_fit", f"{EVENT_ID}: {rule}, got {shown(id_)}")]
