"""The shredder: a record becomes rows of tables, or one bad row with every reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from onefold.core.errors import InvalidName
from onefold.registry.schema_key import SchemaKey, snake
from onefold.shred.bad_rows import BadEvent, BadRow, Problem, original_of
from onefold.shred.csv_values import TAB, csv_field
from onefold.shred.entity import Entity
from onefold.shred.input_forms import Event, reader_of
from onefold.shred.manifest import EVENTS
from onefold.shred.parquet_values import micros
from onefold.shred.plan import PlannedSchema, ShredPlan
from onefold.shred.values import DoesNotFit, json_text

Row = str | tuple[Any, ...]
"""A row: a line of CSV without its end, or the values of the columns for Parquet."""


class Shredded(NamedTuple):
    """What a record becomes: rows, each with the place of its table in the plan, or a bad row; never both."""

    rows: Sequence[tuple[int, Row]]
    bad: BadRow | None


class Shredder:
    """Shreds records by a plan. One for each worker process: schemas are compiled when the first event has them."""

    def __init__(self, plan: ShredPlan) -> None:
        self._plan = plan
        self._read = reader_of(plan)
        self._entities: dict[str, Entity] = {}
        self._envelopes: dict[str, Callable[[Event, Any], Row]] = {}
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
                    rows.append((entity.table, self._envelopes[uri](event, entity.row(data))))
                    continue
            except DoesNotFit:
                pass
            problems += entity.problems(data)
        if problems:
            raise BadEvent(problems)
        return rows

    def _compiled(self, uri: str, problems: list[Problem]) -> Entity | None:
        schema = self._plan.schemas.get(uri)
        if schema is None:
            problems.append(self._unknown(uri))
            return None
        if schema.table is None:
            problems.append(Problem("no_table", f"{uri}: {schema.problem}"))
            return None
        entity = Entity(schema, schema.table, self._plan.tables[schema.table], self._plan.format)
        self._entities[uri] = entity
        self._envelopes[uri] = (_csv_envelope if self._plan.format == "csv" else _parquet_envelope)(schema)
        return entity

    def _unknown(self, uri: str) -> Problem:
        try:
            key = SchemaKey.parse(uri)
        except InvalidName as error:
            return Problem("invalid", str(error))
        if key.path.rpartition("/")[0] in self._names:
            return Problem("newer_version", f"the registry had no {uri} at the start of the run: shred the bad row again")
        return Problem("unknown_schema", f"the registry has no schema {uri}: add it, then shred the bad row again")


def _own_columns(schema: PlannedSchema) -> tuple[str, str, str, str]:
    key = schema.key
    return key.vendor, key.name, key.format, str(key.version)


def _ancestors(schema: PlannedSchema) -> tuple[str, str, str]:
    return EVENTS, json_text([EVENTS, snake(schema.key.name)]), EVENTS


def _csv_envelope(schema: PlannedSchema) -> Callable[[Event, Any], Row]:
    before = TAB.join(_own_columns(schema))
    after = TAB.join(map(csv_field, _ancestors(schema)))

    def line(event: Event, fields: str) -> str:
        root = f"{before}{TAB}{csv_field(event.id)}{TAB}{event.time.isoformat(' ')}{TAB}{after}"
        return f"{root}{TAB}{fields}" if fields else root

    return line


def _parquet_envelope(schema: PlannedSchema) -> Callable[[Event, Any], Row]:
    before, after = _own_columns(schema), _ancestors(schema)

    def values(event: Event, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*before, event.id, micros(event.time), *after, *row)

    return values
