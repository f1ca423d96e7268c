"""The forms of input: a record as an event with its time, its row of `events` and its entities."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from onefold.core.text import shortened
from onefold.shred.bad_rows import BadEvent, Problem
from onefold.shred.csv_values import NULL, TAB, csv_converter
from onefold.shred.event_fields import COLUMN_FIELDS, ENTITY_FIELDS, EVENT_FIELDS, EVENT_ID, EVENT_TIME, event_columns
from onefold.shred.json_reader import Unreadable, read_json
from onefold.shred.manifest import Format
from onefold.shred.parquet_values import parquet_converter
from onefold.shred.plan import ShredPlan
from onefold.shred.values import DoesNotFit, shown, utc_time

_ID_BYTES = 36
_FIELD_NUMBERS = {name: number for number, (name, _) in enumerate(EVENT_FIELDS)}
_FIELD_NAMES = frozenset(_FIELD_NUMBERS)
_IGNORED = frozenset({"geo_location"})
"""A field that a published SDK adds to an event; it repeats two others."""
_LOSSY = ("contexts_", "unstruct_event_")


class Event(NamedTuple):
    """An event.

    Attributes:
        id: what the rows of its entities have as `root_id`.
        time: the time in UTC that they have as `root_tstamp`.
        row: its own row of `events`; None where it has none.
        entities: URI and data of each entity.
        problems: why the event is bad.
    """

    id: str
    time: datetime
    row: Any
    entities: Sequence[tuple[str, Any]]
    problems: Sequence[Problem]


def reader_of(plan: ShredPlan) -> Callable[[str], Event]:
    """Return the function that reads the records of a plan's input form; it raises BadEvent for what is not an event."""
    if plan.input == "self-describing":
        return _SelfDescribing(plan.started_at).read
    row = _EventRow(plan.format)
    return _EnrichedTsv(row).read if plan.input == "enriched-tsv" else _EnrichedJson(row).read


class _SelfDescribing:
    """Lines of self-describing JSON, each of them an event of its own."""

    _KEYS = frozenset({"schema", "data", EVENT_ID, EVENT_TIME})

    def __init__(self, started_at: datetime | None) -> None:
        self._time = started_at and started_at.astimezone(UTC).replace(tzinfo=None)

    def read(self, record: str) -> Event:
        found = _parsed(record, "the record")
        if type(found) is not dict:
            raise BadEvent([Problem("unreadable", "expected an object with schema and data")])
        problems = list(_entity_problems(found, "the record", self._KEYS))
        id_ = found.get(EVENT_ID)
        if id_ is None:
            id_ = _digest_id(record)
        time = self._time
        try:
            _check_id(id_)
            time = self._time if found.get(EVENT_TIME) is None else utc_time(found[EVENT_TIME])
        except DoesNotFit as error:
            problems.append(Problem("invalid", str(error)))
        if time is None and not problems:
            problems.append(Problem("invalid", f"{EVENT_TIME} is missing"))
        if problems or time is None:
            raise BadEvent(problems)
        return Event(id_, time, None, ((found["schema"], found["data"]),), ())


def _digest_id(record: str) -> str:
    """Return an id in the form of a UUID that is the same for the same record (RFC 9562, version 8)."""
    digest = hashlib.sha256(record.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"


class _EnrichedTsv:
    """Tab separated lines of 131 fields, where an empty field is NULL."""

    def __init__(self, row: _EventRow) -> None:
        self._row = row
        self._columns = [_FIELD_NUMBERS[name] for name, _ in COLUMN_FIELDS]
        self._entities = [(name, _FIELD_NUMBERS[name]) for name in ENTITY_FIELDS]

    def read(self, record: str) -> Event:
        fields = record.split(TAB)
        if len(fields) != len(EVENT_FIELDS):
            raise BadEvent([Problem("unreadable", f"expected {len(EVENT_FIELDS)} tab separated fields, got {len(fields)}")])
        _check_nul(record)
        problems: list[Problem] = []
        entities: list[tuple[str, Any]] = []
        for name, number in self._entities:
            if fields[number]:
                entities += _entities_of(name, fields[number], problems)
        return self._row.event([fields[number] or None for number in self._columns], entities, problems)


class _EnrichedJson:
    """Objects with the names of the 131 fields, where a field may be missing or null."""

    def __init__(self, row: _EventRow) -> None:
        self._row = row

    def read(self, record: str) -> Event:
        found = _parsed(record, "the record")
        if type(found) is not dict:
            raise BadEvent([Problem("unreadable", "expected an object with the fields of an event")])
        problems = [_unknown_field(name) for name in found.keys() - _FIELD_NAMES - _IGNORED]
        entities: list[tuple[str, Any]] = []
        for name in ENTITY_FIELDS:
            if found.get(name) is not None:
                entities += _entities_of(name, found[name], problems)
        return self._row.event([found.get(name) for name, _ in COLUMN_FIELDS], entities, sorted(problems))


def _unknown_field(name: str) -> Problem:
    if name.startswith(_LOSSY):
        means = "which has no version: use contexts, unstruct_event and derived_contexts with self-describing JSON"
        return Problem("invalid", f"the field {shortened(name)} has data without its schema, {means}")
    return Problem("invalid", f"the field {shortened(name)} is not a field of an enriched event")


class _EventRow:
    """The row of `events`."""

    def __init__(self, format_: Format) -> None:
        make = csv_converter if format_ == "csv" else parquet_converter
        self._is_csv = format_ == "csv"
        self._columns = [
            (name, _from_text(kind, make(type_)))
            for (name, kind), (_, type_) in zip(COLUMN_FIELDS, event_columns(format_), strict=True)
        ]
        names = [name for name, _ in COLUMN_FIELDS]
        self._id, self._time = names.index(EVENT_ID), names.index(EVENT_TIME)

    def event(self, values: Sequence[Any], entities: Sequence[tuple[str, Any]], problems: list[Problem]) -> Event:
        """Return the event of the values of its columns.

        Args:
            values: the value of each column; None is NULL.
            entities: URI and data of each entity.
            problems: what is wrong with the event so far.

        Raises:
            BadEvent: the event has no id or no time, which its entities need.
        """
        row: Any = None
        id_, time = values[self._id], None
        try:
            _check_id(id_)
            time = utc_time(values[self._time]) if values[self._time] is not None else None
            row = self._row(values)
        except DoesNotFit:
            problems += self._problems(values)
        if time is None:
            problems.append(Problem("invalid", f"{EVENT_TIME} is missing or not a time"))
        return Event(id_, time or datetime.min, row, entities, problems)

    def _row(self, values: Sequence[Any]) -> Any:
        if self._is_csv:
            return TAB.join(
                [NULL if value is None else make(value) for value, (_, make) in zip(values, self._columns, strict=True)]
            )
        return tuple(
            [None if value is None else make(value) for value, (_, make) in zip(values, self._columns, strict=True)]
        )

    def _problems(self, values: Sequence[Any]) -> Iterator[Problem]:
        for value, (name, make) in zip(values, self._columns, strict=True):
            try:
                if name == EVENT_ID:
                    _check_id(value)
                if value is not None:
                    make(value)
            except DoesNotFit as error:
                yield Problem("does_not_fit", f"{name}: {error}")


def _from_text(kind: str, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the conversion of a field whose value may be text, as in the tab separated form."""
    if kind == "bool":
        return lambda value: convert(_BOOLEANS.get(value, value) if type(value) is str else value)
    if kind in ("int", "float"):
        return lambda value: convert(_number(value) if type(value) is str else value)
    return convert


_BOOLEANS: Mapping[str, bool] = {"0": False, "1": True}


def _number(text: str) -> Any:
    """Return the number of a text; the text itself where it is not one."""
    try:
        value = read_json(text)
    except Unreadable:
        return text
    return value if type(value) is not bool and not isinstance(value, dict | list | str) else text


def _entities_of(name: str, value: Any, problems: list[Problem]) -> list[tuple[str, Any]]:
    """Return URI and data of the entities of a field.

    Args:
        name: the name of the field.
        value: self-describing JSON, as a text or as an object: of one entity in unstruct_event, of a list of them elsewhere.
        problems: where problems are added.
    """
    try:
        outer = _parsed(value, name) if isinstance(value, str) else value
    except BadEvent as error:
        problems += error.found
        return []
    inner = outer.get("data") if isinstance(outer, dict) and isinstance(outer.get("schema"), str) else None
    expected = dict if name == "unstruct_event" else list
    if not isinstance(inner, expected):
        what = "one entity" if expected is dict else "a list of entities"
        problems.append(Problem("unreadable", f"{name}: expected self-describing JSON of {what}, got {shown(outer)}"))
        return []
    found: list[tuple[str, Any]] = []
    for number, entity in enumerate(inner if isinstance(inner, list) else [inner]):
        wrong = list(_entity_problems(entity, f"{name}[{number}]"))
        problems += wrong
        if not wrong:
            found.append((entity["schema"], entity["data"]))
    return found


_ENTITY = frozenset({"schema", "data"})


def _entity_problems(entity: Any, place: str, allowed: frozenset[str] = _ENTITY) -> Iterator[Problem]:
    if not isinstance(entity, dict) or not isinstance(entity.get("schema"), str) or "data" not in entity:
        yield Problem("unreadable", f"{place}: expected an object with schema and data, got {shown(entity)}")
    elif entity.keys() - allowed:
        names = ", ".join(shortened(name) for name in sorted(entity.keys() - allowed))
        yield Problem("unreadable", f"{place}: expected {', '.join(sorted(allowed))} only, got {names}")


def _check_id(id_: Any) -> None:
    if type(id_) is not str or not id_ or not id_.isascii() or len(id_) > _ID_BYTES or id_ != id_.strip():
        raise DoesNotFit(f"expected an id of 1 to {_ID_BYTES} ASCII characters, got {shown(id_)}")


def _check_nul(record: str) -> None:
    if "\0" in record:
        raise BadEvent([Problem("does_not_fit", "a text has a NUL character, which no warehouse holds")])


def _parsed(text: str, place: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        BadEvent: the text is not JSON, or has characters that no column holds.
    """
    try:
        value = read_json(text)
    except Unreadable as error:
        raise BadEvent([Problem("unreadable", f"{place}: {error}")]) from None
    if "\\u" in text and (wrong := _broken_text(value)):
        raise BadEvent([Problem("does_not_fit", f"{place}: {wrong}")])
    return value


def _broken_text(value: Any) -> str:
    """Return what is wrong with the texts of a value: a NUL character, or half a surrogate pair."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += [*inner, *inner.values()]
        elif isinstance(inner, list):
            waiting += inner
        elif isinstance(inner, str) and ("\0" in inner or any("\ud800" <= one <= "\udfff" for one in inner)):
            return "a text has a NUL character or half a surrogate pair, which no warehouse holds"
    return ""
