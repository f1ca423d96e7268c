"""Entities that are set apart from their events: bad rows of their own, of which a later run loads the entity only.

The event and its other entities are loaded by the run that sets the entity apart. So the bad row does not have the event,
but all that a row of the entity has of it. A file of bad rows is read by one run, as each file is, so an entity is loaded
once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from onefold.events.shred.bad_rows import FIRST_KEY, BadEvent, EventProblem, Kind, reasons_of
from onefold.events.shred.entities import read_text
from onefold.events.shred.event import EntityData, Event, MakeRoot, check_id
from onefold.events.shred.values import DoesNotFit, json_text, utc_time

_FIELDS = frozenset({"kind", "reasons", "entity"})
_ENTITY = frozenset({"root_id", "root_tstamp", "app_id", "place", "schema", "data", "kept"})


class BadEntity(NamedTuple):
    """An entity that is set apart.

    Attributes:
        kind: the kind of the first reason.
        reasons: every reason.
        root_id: the id of the event.
        root_tstamp: the collector time of the event in UTC, without a zone.
        app_id: the app that the event is from; None where it does not say so.
        entity: its schema, its data and its place in the event.
        kept: whether the table of unknown entities has its JSON already.
    """

    kind: Kind
    reasons: tuple[str, ...]
    root_id: str
    root_tstamp: datetime
    app_id: str | None
    entity: EntityData
    kept: bool = False

    @classmethod
    def of(cls, event: Event, entity: EntityData, problems: Sequence[EventProblem], *, kept: bool = False) -> BadEntity:
        """Return the bad row of an entity.

        Args:
            event: the event that it is in.
            entity: the entity.
            problems: why it is not a row, at least one.
            kept: whether the table of unknown entities has its JSON already.
        """
        root = event.root
        return cls(problems[0].kind, reasons_of(problems), root.id, root.time, event.app_id, entity, kept)

    def to_json(self) -> str:
        """Return the bad row as one line of JSON, without a line break; numbers of the data keep their digits.

        Examples:
            >>> entity = EntityData("iglu:com.acme/user/jsonschema/1-0-0", {"id": 5}, "contexts[0]")
            >>> reasons = ("the registry has no schema",)
            >>> line = BadEntity("unknown_schema", reasons, "e1", datetime(2026, 11, 23), "shop", entity).to_json()
            >>> print(line[line.index('"entity"') :])
            "entity":{"root_id":"e1","root_tstamp":"2026-11-23T00:00:00Z","app_id":"shop","place":"contexts[0]",\
"schema":"iglu:com.acme/user/jsonschema/1-0-0","data":{"id":5},"kept":false}}
        """
        entity = {
            "root_id": self.root_id,
            "root_tstamp": f"{self.root_tstamp.isoformat()}Z",
            "app_id": self.app_id,
            "place": self.entity.place,
            "schema": self.entity.uri,
            "data": self.entity.data,
            "kept": self.kept,
        }
        return json_text({"kind": self.kind, "reasons": list(self.reasons), "entity": entity})

    def event(self, make_root: MakeRoot, *, plain: bool) -> Event:
        """Return an event with this entity, and without a row of its own: the earlier run has written that.

        Args:
            make_root: makes the columns that the row of the entity has of the event.
            plain: whether no text of the data has a character that makes quotes or an escape of CSV necessary.
        """
        return Event(make_root(self.root_id, self.root_tstamp), None, (self.entity,), plain, (), self.app_id)


def parse_bad_entity(record: str) -> BadEntity | None:
    """Return the entity that a line of bad rows has; None for any other record.

    Examples:
        >>> entity = EntityData("iglu:com.acme/user/jsonschema/1-0-0", {"id": 5}, "contexts[0]")
        >>> bad = BadEntity("unknown_schema", ("unknown",), "e1", datetime(2026, 11, 23), None, entity)
        >>> parse_bad_entity(bad.to_json()) == bad, parse_bad_entity("an event")
        (True, None)
    """
    if not record.startswith(FIRST_KEY):
        return None
    try:
        found = read_text(record, "the record")
        if not isinstance(found, dict) or found.keys() != _FIELDS or not isinstance(found["entity"], dict):
            return None
        return _parsed(found, found["entity"])
    except (BadEvent, DoesNotFit):
        return None


def _parsed(found: Mapping[str, Any], entity: Mapping[str, Any]) -> BadEntity | None:
    """Return the entity of a line; None where a value is of another type.

    Raises:
        DoesNotFit: the time is not a time.
    """
    if entity.keys() != _ENTITY or check_id(entity["root_id"]) or type(entity["kept"]) is not bool:
        return None
    texts = (entity["schema"], entity["place"], "" if entity["app_id"] is None else entity["app_id"])
    if not all(isinstance(text, str) for text in texts):
        return None
    time, reasons = utc_time(entity["root_tstamp"]), tuple(map(str, found["reasons"]))
    data = EntityData(entity["schema"], entity["data"], entity["place"])
    return BadEntity(found["kind"], reasons, entity["root_id"], time, entity["app_id"], data, entity["kept"])
