"""The shredder: a record becomes rows of tables, or one bad row with every reason; unknown entities may be set apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from onefold.core.errors import InvalidName
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.bad_entity import BadEntity, parse_bad_entity
from onefold.events.shred.bad_rows import FIRST_KEY, BadEvent, BadRow, EventProblem, original_of, reasons_of
from onefold.events.shred.duplicates import DUPLICATE, with_id
from onefold.events.shred.enriched import EnrichedJsonReader, EnrichedTsvReader
from onefold.events.shred.entities import UNSTRUCT
from onefold.events.shred.entity import Entity, Row
from onefold.events.shred.event import EntityData, Event, EventKey, root_maker
from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.self_describing import SelfDescribingReader
from onefold.events.shred.unknown import UNKNOWN_KINDS, UNKNOWN_TABLE
from onefold.events.shred.unknown_rows import UnknownRows
from onefold.events.shred.values import DoesNotFit


class Shredded(NamedTuple):
    """What a record becomes: rows and entities that are set apart, or a bad row; never both.

    Attributes:
        rows: the rows, each with the place of its table in the plan.
        bad: the bad row of an event.
        apart: the bad rows of entities; those of an event are loaded later, and the event now.
        is_event: False for an entity that an earlier run has set apart, whose event is loaded.
        kept: why the schemas of entities are unknown whose JSON is among the rows.
        key: what makes the record one event with others, under its own id; None where it has to be read from the record.
    """

    rows: Sequence[tuple[int, Row]]
    bad: BadRow | None
    apart: Sequence[BadEntity] = ()
    is_event: bool = True
    kept: Sequence[EventProblem] = ()
    key: EventKey | None = None


class Shredder:
    """Shreds records by a plan. One for each worker process: schemas are compiled when the first event has them."""

    def __init__(self, plan: ShredPlan, *, keyed: bool = False) -> None:
        """Prepare the readers and rows of a plan; with the keys of events, where a reader has their fields at hand."""
        self._plan = plan
        self._is_wide = plan.is_wide
        self._read = reader_of(plan, keyed=keyed).read
        self._make_root = root_maker(plan.form.format)
        self._unknown_rows = UnknownRows(plan.form, plan.run)
        self._unknown_table = plan.unknown_table
        self._entities: dict[str, Entity] = {}
        self._recovery: dict[str, Entity] = {}
        self._names = {schema.key.path.rpartition("/")[0] for schema in plan.schemas.values()}

    def shred(self, record: str, new_id: str | None = None) -> Shredded:
        """Return the rows of a record; a bad row of an earlier run is read by its original, or by its entity.

        Args:
            record: one line of input, without its end.
            new_id: the id that the event gets, since another event has its own; None where it keeps its own.
        """
        original = record
        if record.startswith(FIRST_KEY):
            original = original_of(record)
            if entity := parse_bad_entity(original):
                return self._shred_entity(entity, plain="\\" not in original)
        try:
            return self._rows(self._read(original) if new_id is None else self._renamed(original, new_id))
        except BadEvent as error:
            return Shredded((), BadRow(error.found[0].kind, reasons_of(error.found), original))

    def _renamed(self, record: str, new_id: str) -> Event:
        """Return the event of a record under another id, with a context that names its own.

        Raises:
            BadEvent: the record is no event.
        """
        original = self._read(record)
        context = EntityData(DUPLICATE, {"originalEventId": original.root.id}, "contexts[duplicate]")
        event = self._read(with_id(record, self._plan.input, new_id))
        return event._replace(entities=(*event.entities, context), plain=False, key=original.key)

    def _shred_entity(self, bad: BadEntity, *, plain: bool) -> Shredded:
        """Return the row of an entity whose event was loaded without it; it is set apart again where it has none."""
        event = bad.event(self._make_root, plain=plain)
        if self._plan.is_wide:
            problem = EventProblem(
                "no_table", "wide columns are of the row of an event, which was loaded: shred it with tables"
            )
            return Shredded((), None, (BadEntity.of(event, bad.entity, [problem], kept=bad.kept),), is_event=False)
        try:
            return self._rows(event, keep=not bad.kept)._replace(is_event=False)
        except BadEvent as error:
            return Shredded((), None, (BadEntity.of(event, bad.entity, error.found, kept=bad.kept),), is_event=False)

    def _rows(self, event: Event, *, keep: bool = True) -> Shredded:
        """Return the rows of an event.

        Args:
            event: the event.
            keep: whether the table of unknown entities may get rows of it.

        Raises:
            BadEvent: the event is bad as a whole.
        """
        rows: list[tuple[int, Row]] = [] if event.row is None else [(0, event.row)]
        problems = [*event.problems]
        unknown: list[tuple[EntityData, EventProblem]] = []
        for one in event.entities:
            entity = self._entities.get(one.uri) or self._compiled(one.uri)
            if isinstance(entity, EventProblem):
                problems.append(entity)
                unknown.append((one, entity))
                continue
            try:
                if entity.is_valid(one.data):
                    rows.append((self._place(entity, one), entity.row(event, one.data)))
                    continue
                unexplained = EventProblem("invalid", f"{one.uri}: the data is not valid")
            except DoesNotFit as error:
                if row := self._recovered(one.uri, event, one.data):
                    rows.append(row)
                    continue
                unexplained = EventProblem("does_not_fit", f"{one.uri}: {error}")
            # An entity without a row has a reason in any case, so that no event loses an entity in silence.
            problems += list(entity.problems(one.data)) or [unexplained]
        if not problems:
            return Shredded(rows, None, key=event.key)
        if self._plan.unknown == "bad_event" or any(problem.kind not in UNKNOWN_KINDS for problem in problems):
            raise BadEvent(problems)
        apart = [bad for one, problem in unknown if (bad := self._apart(event, one, problem, rows, keep=keep))]
        if apart and event.row is None:  # the entity is all that there is of the event
            raise BadEvent([EventProblem(bad.kind, reason) for bad in apart for reason in bad.reasons])
        places = {bad.entity.place for bad in apart}
        kept = [problem for one, problem in unknown if one.place not in places]
        return Shredded(rows, None, apart, kept=kept, key=event.key)

    def _place(self, entity: Entity, data: EntityData) -> int:
        """Return the place of the rows of an entity: with wide columns, that of contexts is the next one."""
        is_context = self._is_wide and not data.place.startswith(UNSTRUCT)
        return entity.table + is_context

    def _apart(
        self, event: Event, entity: EntityData, problem: EventProblem, rows: list[tuple[int, Row]], *, keep: bool
    ) -> BadEntity | None:
        """Return the bad row of an unknown entity; None where its JSON is added to the rows.

        Args:
            event: the event that it is in.
            entity: the entity.
            problem: why its schema is unknown or unusable.
            rows: where the row of its JSON is added.
            keep: whether it may have such a row.
        """
        problems = [problem]
        if self._unknown_table is not None and keep:
            try:
                rows.append((self._unknown_table, self._unknown_rows.row(event, entity)))
                return None
            except DoesNotFit as error:
                problems.append(EventProblem("does_not_fit", f"{UNKNOWN_TABLE}: {error}"))
        return BadEntity.of(event, entity, problems)

    def _compiled(self, uri: str) -> Entity | EventProblem:
        schema = self._plan.schemas.get(uri)
        if schema is None:
            return self._unknown(uri)
        if schema.table is None:
            return EventProblem("no_table", f"{uri}: {schema.problem}")
        entity = self._entities[uri] = Entity(schema, schema.table, self._plan.tables[schema.table], self._plan.form)
        return entity

    def _recovered(self, uri: str, event: Event, data: Any) -> tuple[int, Row] | None:
        """Return the row of data that does not fit into an adopted table in the recovery table of its version.

        None where such data is a bad row, or does not fit there either.
        """
        schema = self._plan.schemas[uri]
        if schema.recovery is None:
            return None
        entity = self._recovery.get(uri)
        if entity is None:
            entity = Entity(schema, schema.recovery, self._plan.tables[schema.recovery], self._plan.form)
            self._recovery[uri] = entity
        try:
            return entity.table, entity.row(event, data)
        except DoesNotFit:
            return None  # its reasons are those of the adopted table

    def _unknown(self, uri: str) -> EventProblem:
        try:
            key = SchemaKey.parse(uri)
        except InvalidName as error:
            return EventProblem("invalid", str(error))
        if reason := self._plan.unusable.get(uri):
            text = f"the registry has {uri}, which cannot be used: {reason}; then shred the bad row again"
            return EventProblem("unknown_schema", text)
        if key.path.rpartition("/")[0] in self._names:
            return EventProblem(
                "newer_version", f"the registry had no {uri} at the start of the run: shred the bad row again"
            )
        return EventProblem("unknown_schema", f"the registry has no schema {uri}: add it, then shred the bad row again")


class EventReader(Protocol):
    """Reads records of one form."""

    def read(self, record: str) -> Event:
        """Return the event of a record; raises BadEvent for what is not an event."""


def reader_of(plan: ShredPlan, *, keyed: bool = False) -> EventReader:
    """Return the reader of a plan's input form.

    Args:
        plan: of the run.
        keyed: whether the reader gives events their keys, if it can do so at little cost.
    """
    if plan.input == "self-describing":
        return SelfDescribingReader(plan.form.format, plan.started_at)
    reader = EnrichedTsvReader if plan.input == "enriched-tsv" else EnrichedJsonReader
    return reader(plan.form, plan.tables[0], keyed=keyed)
