"""The shredder: a record becomes rows of tables, or one bad row with every reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from onefold.core.errors import InvalidName
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.bad_rows import BadEvent, BadRow, EventProblem, original_of
from onefold.events.shred.enriched import EnrichedJsonReader, EnrichedTsvReader
from onefold.events.shred.entity import Entity, Row
from onefold.events.shred.event import Event
from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.self_describing import SelfDescribingReader
from onefold.events.shred.values import DoesNotFit


class Shredded(NamedTuple):
    """What a record becomes: rows, each with the place of its table in the plan, or a bad row; never both."""

    rows: Sequence[tuple[int, Row]]
    bad: BadRow | None


class Shredder:
    """Shreds records by a plan. One for each worker process: schemas are compiled when the first event has them."""

    def __init__(self, plan: ShredPlan) -> None:
        self._plan = plan
        self._read = reader_of(plan).read
        self._entities: dict[str, Entity] = {}
        self._names = {schema.key.path.rpartition("/")[0] for schema in plan.schemas.values()}

    def shred(self, record: str) -> Shredded:
        """Return the rows of a record; a bad row of an earlier run is read by its original.

        Args:
            record: one line of input, without its end.
        """
        original = original_of(record)
        try:
            return Shredded(self._rows(self._read(original)), None)
        except BadEvent as error:
            reasons = tuple(dict.fromkeys(problem.reason for problem in error.found))
            return Shredded((), BadRow(error.found[0].kind, reasons, original))

    def _rows(self, event: Event) -> list[tuple[int, Row]]:
        rows: list[tuple[int, Row]] = [] if event.row is None else [(0, event.row)]
        problems = list(event.problems)
        for uri, data in event.entities:
            entity = self._entities.get(uri) or self._compiled(uri, problems)
            if entity is None:
                continue
            try:
                if entity.is_valid(data):
                    rows.append((entity.table, entity.row(event, data)))
                    continue
                unexplained = EventProblem("invalid", f"{uri}: the data is not valid")
            except DoesNotFit as error:
                unexplained = EventProblem("does_not_fit", f"{uri}: {error}")
            # An entity without a row has a reason in any case, so that no event loses an entity in silence.
            problems += list(entity.problems(data)) or [unexplained]
        if problems:
            raise BadEvent(problems)
        return rows

    def _compiled(self, uri: str, problems: list[EventProblem]) -> Entity | None:
        schema = self._plan.schemas.get(uri)
        if schema is None:
            problems.append(self._unknown(uri))
            return None
        if schema.table is None:
            problems.append(EventProblem("no_table", f"{uri}: {schema.problem}"))
            return None
        entity = Entity(schema, schema.table, self._plan.tables[schema.table], self._plan.format)
        self._entities[uri] = entity
        return entity

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


def reader_of(plan: ShredPlan) -> EventReader:
    """Return the reader of a plan's input form."""
    if plan.input == "self-describing":
        return SelfDescribingReader(plan.format, plan.started_at)
    reader = EnrichedTsvReader if plan.input == "enriched-tsv" else EnrichedJsonReader
    return reader(plan.format, plan.tables[0])
