"""Counts of bad rows by reason, schema, app and day."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from onefold.core.text import cut
from onefold.events.shred.bad_reasons import SCHEMA_URI, pattern_of
from onefold.events.shred.event_fields import APP_ID, EVENT_FIELDS, EVENT_ID, EVENT_TIME

_NUMBERS = {name: number for number, (name, _) in enumerate(EVENT_FIELDS)}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
UNREADABLE = "the line is no bad row of the shredder"


class BadGroup(NamedTuple):
    """What bad rows of one count have in common.

    Attributes:
        kind: the kind of the first reason.
        reason: the first reason without its values.
        schema: the schema that it names; None where it names none.
        app: the app of the events; None where they do not say so.
        day: the day of the events' collector time, or of the run where they have none.
        what: `event` or `entity`.
    """

    kind: str
    reason: str
    schema: str | None
    app: str | None
    day: str
    what: str


class BadExample(NamedTuple):
    """The first bad row of a count: its file, its line there from 1, its event's id, and its first reason as it is."""

    file: str
    line: int
    event_id: str | None
    reason: str


@dataclass
class BadCount:
    """The number of bad rows of a group, and one of them."""

    example: BadExample
    rows: int = 0


def count_bad_rows(lines: Iterable[str], file: str, run_day: str, counts: dict[BadGroup, BadCount]) -> None:
    """Add the bad rows of a file to the counts of their groups.

    Args:
        lines: the lines of the file.
        file: its address.
        run_day: the day of the run, for events without a time.
        counts: the counts by group.
    """
    for number, line in enumerate(lines, 1):
        if line:
            group, id_, reason = _read(line, run_day)
            count = counts.setdefault(group, BadCount(BadExample(file, number, id_, reason)))
            count.rows += 1


def most_frequent_first(counts: Mapping[BadGroup, BadCount]) -> list[tuple[BadGroup, BadCount]]:
    """Return counts with the greatest first; equal ones by their groups, the newest day first."""
    return sorted(counts.items(), key=lambda one: (-one[1].rows, one[0].kind, one[0].reason, str(one[0])))


def as_dict(group: BadGroup, count: BadCount) -> dict[str, Any]:
    """Return a count for programs."""
    return {**group._asdict(), "rows": count.rows, "example": count.example._asdict()}


def _read(line: str, run_day: str) -> tuple[BadGroup, str | None, str]:
    """Return the group of a bad row, the id of its event and its first reason."""
    try:
        found = json.loads(line)
        kind, reason = str(found["kind"]), str(found["reasons"][0])
        entity = found.get("entity")
        event = _event(str(found["original"])) if entity is None else dict(entity)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return BadGroup("unreadable", UNREADABLE, None, None, run_day, "event"), None, UNREADABLE
    names = (APP_ID, EVENT_ID, EVENT_TIME) if entity is None else (APP_ID, "root_id", "root_tstamp")
    app, id_, time = (cut(value) if isinstance(value := event.get(name), str) and value else None for name in names)
    day = time[:10] if time and _DAY.match(time) else run_day
    pattern = pattern_of(reason)
    named = re.search(SCHEMA_URI, pattern)
    schema = entity.get("schema") if entity else named[0] if named else None
    what = "event" if entity is None else "entity"
    return BadGroup(kind, pattern, schema, app, day, what), id_, reason


def _event(original: str) -> Mapping[str, Any]:
    """Return the fields of an event, in whichever form it is; none where it is no event."""
    if original.startswith("{"):
        try:
            return dict(json.loads(original))
        except (ValueError, RecursionError):
            return {}
    fields = original.split("\t")
    return {name: fields[number] for name in (APP_ID, EVENT_ID, EVENT_TIME) if (number := _NUMBERS[name]) < len(fields) > 1}
