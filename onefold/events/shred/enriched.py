"""Enriched events: lines of 131 tab separated fields, or JSON objects with the names of these fields."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from onefold.core.text import shortened
from onefold.events.shred.bad_rows import BadEvent, EventProblem
from onefold.events.shred.csv_values import TAB
from onefold.events.shred.duplicates import key_of_texts
from onefold.events.shred.entities import check_characters, entities_of, read_text
from onefold.events.shred.event import EntityData, Event, Root, check_id, root_maker
from onefold.events.shred.event_fields import APP_ID, ENTITY_FIELDS, EVENT_FIELDS, EVENT_ID, EVENT_TIME, FORMER_FIELDS
from onefold.events.shred.events_row import EventsRow
from onefold.events.shred.plan import PlannedTable
from onefold.events.shred.row_format import RowFormat
from onefold.events.shred.values import DoesNotFit, shown, utc_time

_NUMBERS = {name: number for number, (name, _) in enumerate(EVENT_FIELDS)}
_APP, _ID, _TIME = _NUMBERS[APP_ID], _NUMBERS[EVENT_ID], _NUMBERS[EVENT_TIME]
_ENTITIES = tuple((name, _NUMBERS[name]) for name in ENTITY_FIELDS)
_IGNORED = frozenset({"geo_location"})
"""A field that a published SDK adds to an event; it repeats two others."""
_WITHOUT_VERSION = ("contexts_", "unstruct_event_")


class _EnrichedReader:
    def __init__(self, form: RowFormat, table: PlannedTable, *, keyed: bool = False) -> None:
        """Prepare the rows of events.

        Args:
            form: how the rows are written.
            table: the table of the events.
            keyed: whether events get their keys, where the fields are at hand that these are made of.
        """
        self._keyed = keyed
        fields = [field for (field,) in table.paths]
        types = {field: type_ for field, (_, type_) in zip(fields, table.columns, strict=True)}
        required = [field for field, (name, _) in zip(fields, table.columns, strict=True) if name in table.required]
        self._rows = EventsRow(form, types, [field for field in required if field not in (EVENT_ID, EVENT_TIME)])
        self._root = root_maker(form.format)

    def _root_of(self, id_: Any, time: Any, problems: list[EventProblem]) -> Root:
        """Return what all rows of an event have in common; anything where a problem is added.

        Args:
            id_: the id of the event; None where it is missing.
            time: its collector time; None where it is missing.
            problems: where problems are added.
        """
        missing = [name for name, value in ((EVENT_ID, id_), (EVENT_TIME, time)) if value is None]
        problems += [EventProblem("invalid", f"{name} is missing") for name in missing]
        if id_ is not None:
            problems += check_id(id_)
        try:
            return self._root(str(id_), utc_time(time))
        except DoesNotFit:  # the column of the same name has the problem, too
            return self._root("", datetime.min)


class EnrichedTsvReader(_EnrichedReader):
    """Reads lines of 131 tab separated fields, or of fewer as earlier releases wrote them; an empty field is NULL."""

    def read(self, record: str) -> Event:
        """Return the event of a line.

        Raises:
            BadEvent: the line has another number of fields, or a character that no column holds.
        """
        fields = record.split(TAB)
        if len(fields) != len(EVENT_FIELDS):
            fields += _missing_fields(len(fields))
        check_characters(record)
        problems: list[EventProblem] = []
        entities: list[EntityData] = []
        key = key_of_texts(fields) if self._keyed and fields[_ID] else None
        for name, number in _ENTITIES:
            if text := fields[number]:
                entities += entities_of(name, text, problems)
                fields[number] = ""
        root = self._root_of(fields[_ID] or None, fields[_TIME] or None, problems)
        row = None
        try:
            row = self._rows.of_texts(fields)
        except DoesNotFit:
            problems += self._rows.problems((number, text) for number, text in enumerate(fields) if text)
        return Event(root, row, entities, "\\" not in record, problems, fields[_APP] or None, key)


def _missing_fields(count: int) -> list[str]:
    """Return the fields that a line of an earlier release lacks, which are the last ones.

    Raises:
        BadEvent: no release wrote lines of so many fields.
    """
    if count not in FORMER_FIELDS:
        former = " or ".join(map(str, FORMER_FIELDS))
        expected = f"expected {len(EVENT_FIELDS)} tab separated fields, or {former} of earlier releases, got {count:,}"
        raise BadEvent([EventProblem("unreadable", expected)])
    return [""] * (len(EVENT_FIELDS) - count)


class EnrichedJsonReader(_EnrichedReader):
    """Reads objects with the names of the 131 fields, where a field may be missing or null."""

    def read(self, record: str) -> Event:
        """Return the event of a line.

        Raises:
            BadEvent: the line is not a JSON object.
        """
        found = read_text(record, "the record")
        if not isinstance(found, dict):
            raise BadEvent(
                [EventProblem("unreadable", f"expected an object with the fields of an event, got {shown(found)}")]
            )
        problems = [_unknown_field(name) for name in found if name not in _NUMBERS and name not in _IGNORED]
        entities: list[EntityData] = []
        for name in ENTITY_FIELDS:
            if (value := found.get(name)) is not None:
                entities += entities_of(name, value, problems)
        root = self._root_of(found.get(EVENT_ID), found.get(EVENT_TIME), problems)
        fields = [(_NUMBERS[name], value) for name, value in found.items() if _is_column(name, value)]
        row = None
        try:
            row = self._rows.of_values(fields)
        except DoesNotFit:
            problems += self._rows.problems(fields)
        return Event(root, row, entities, "\\" not in record, problems, _text(found.get(APP_ID)))


def _is_column(name: str, value: Any) -> bool:
    return value is not None and name in _NUMBERS and name not in ENTITY_FIELDS


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _unknown_field(name: str) -> EventProblem:
    if name.startswith(_WITHOUT_VERSION):
        remedy = "use contexts, unstruct_event and derived_contexts with self-describing JSON"
        return EventProblem("invalid", f"the field {shortened(name)} has data without the version of its schema: {remedy}")
    return EventProblem("invalid", f"the field {shortened(name)} is not a field of an enriched event: remove it")
