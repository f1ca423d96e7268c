"""Self-describing JSON in events: texts that are read exactly, and the entities in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onefold.core.text import shortened, shown_list
from onefold.events.shred.bad_rows import BadEvent, EventProblem
from onefold.events.shred.event import EntityData
from onefold.events.shred.json_reader import HALF_A_PAIR, Unreadable, read_json
from onefold.events.shred.values import shown

UNSTRUCT = "unstruct_event"
"""The field with the self-describing event."""
KEYS = frozenset({"schema", "data"})
"""The keys of self-describing JSON."""
_NUL = "a text has a NUL character, which no warehouse holds: remove it"


def read_text(text: str, place: str) -> Any:
    """Return the value of a JSON text.

    Args:
        text: the text.
        place: what the text is, for reasons.

    Raises:
        BadEvent: the text is not JSON, or has characters that no column holds.
    """
    try:
        value = read_json(text)
    except Unreadable as error:
        raise BadEvent([EventProblem("unreadable", f"{place}: {error}")]) from None
    if "\\u0000" in text and _has_nul(value):
        raise BadEvent([EventProblem("does_not_fit", f"{place}: {_NUL}")])
    return value


def check_characters(record: str) -> None:
    """Check the characters of a record that is not JSON.

    Raises:
        BadEvent: the record has a character that no column holds.
    """
    if "\0" in record:
        raise BadEvent([EventProblem("does_not_fit", _NUL)])
    try:
        record.encode()
    except UnicodeEncodeError:
        raise BadEvent([EventProblem("unreadable", f"the record: {HALF_A_PAIR}")]) from None


def _has_nul(value: Any) -> bool:
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += [*inner, *inner.values()]
        elif isinstance(inner, list):
            waiting += inner
        elif isinstance(inner, str) and "\0" in inner:
            return True
    return False


def entities_of(name: str, value: Any, problems: list[EventProblem]) -> list[EntityData]:
    """Return the entities of a field.

    Args:
        name: the name of the field.
        value: self-describing JSON, as a text or as a value: of one entity in unstruct_event, of a list of them elsewhere.
        problems: where problems are added.
    """
    try:
        outer = read_text(value, name) if isinstance(value, str) else value
    except BadEvent as error:
        problems += error.found
        return []
    inner = outer.get("data") if isinstance(outer, dict) and isinstance(outer.get("schema"), str) else None
    if name == UNSTRUCT:
        inner = [inner] if isinstance(inner, dict) else None
    if not isinstance(inner, list):
        what = "one entity" if name == UNSTRUCT else "a list of entities"
        problems.append(EventProblem("unreadable", f"{name}: expected self-describing JSON of {what}, got {shown(outer)}"))
        return []
    return _checked(name, inner, problems)


def _checked(name: str, entities: list[Any], problems: list[EventProblem]) -> list[EntityData]:
    found: list[EntityData] = []
    for number, entity in enumerate(entities):
        place = f"{name}[{number}]"
        wrong = list(entity_problems(entity, place))
        problems += wrong
        if not wrong:
            found.append(EntityData(entity["schema"], entity["data"], place))
    return found


def entity_problems(entity: Any, place: str, others: frozenset[str] = frozenset()) -> Iterator[EventProblem]:
    """Yield why a value is not self-describing JSON.

    Args:
        entity: the value.
        place: what the value is, for reasons.
        others: the keys that it may have besides schema and data.
    """
    if not isinstance(entity, dict) or not isinstance(entity.get("schema"), str) or "data" not in entity:
        yield EventProblem("unreadable", f"{place}: expected an object with schema and data, got {shown(entity)}")
    elif unknown := entity.keys() - KEYS - others:
        known, names = shown_list(sorted(KEYS | others)), shown_list(map(shortened, sorted(unknown)))
        yield EventProblem("unreadable", f"{place}: expected {known} only, got {names}")
