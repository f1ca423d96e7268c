"""One version of a schema in a worker: its validator, and the rows of its table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import jsonschema_rs

from onefold.core.text import cut
from onefold.events.registry.columns import ENVELOPE
from onefold.events.registry.json_text import pointer
from onefold.events.registry.schema_key import SchemaKey, snake
from onefold.events.registry.validator import validator_of
from onefold.events.shred.bad_rows import EventProblem
from onefold.events.shred.counts import EVENTS
from onefold.events.shred.csv_values import TAB, csv_field
from onefold.events.shred.event import Event
from onefold.events.shred.flat_rows import FlatRows
from onefold.events.shred.parquet_rows import ParquetRows
from onefold.events.shred.plan import PlannedSchema, PlannedTable
from onefold.events.shred.row_format import RowFormat
from onefold.events.shred.values import json_text

_MOST_SHOWN = 200
_PLAIN_NAME = re.compile(r"[\w.$ -]+")
_WITHOUT_KEYS = frozenset({
    "additionalItems", "anyOf", "enum", "exclusiveMaximum", "exclusiveMinimum", "falseSchema", "format", "maxItems",
    "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "not",
    "oneOf", "pattern", "required", "type", "uniqueItems",
})  # fmt: skip
"""The keywords whose messages have keys of data within values of JSON only."""

Row = str | tuple[Any, ...]
"""A row: a line of CSV without its end, or the values of the columns for Parquet."""


class Entity:
    """A version of a schema: its data is valid and becomes a row, or has problems.

    Attributes:
        table: the place of its table in the plan.
        is_valid: tells whether data is valid.
        row: returns the row of an event's valid data; raises DoesNotFit.
    """

    def __init__(self, schema: PlannedSchema, place: int, table: PlannedTable, form: RowFormat) -> None:
        """Compile the schema.

        Args:
            schema: the version of the schema.
            place: the place of its table in the plan.
            table: its table.
            form: how the rows are written.
        """
        document, others = json.loads(schema.text), {uri: json.loads(text) for uri, text in schema.others.items()}
        columns = table.columns[len(ENVELOPE) :]
        self._key = schema.key
        self._documents = (document, *others.values())
        self._validator = validator_of(document, others)
        self._rows: FlatRows | ParquetRows
        self.table = place
        self.is_valid = self._validator.is_valid
        self.row: Callable[[Event, Any], Row]
        if form.is_flat:
            self._rows = flat = FlatRows(form, document, columns, table.paths, table.required)
            self.row = self._lines(flat) if form.is_csv else self._values(lambda data: flat.fields(data, plain=True))
        else:
            self._rows = nested = ParquetRows(document, columns, table.sources)
            self.row = self._values(nested.values)

    def _lines(self, rows: FlatRows) -> Callable[[Event, Any], Row]:
        before = TAB.join((*own_columns(self._key), ""))
        after = TAB.join(("", *map(csv_field, ancestors(self._key))))

        def line(event: Event, data: Any) -> str:
            return TAB.join([f"{before}{event.root.fields}{after}", *rows.fields(data, event.plain)])

        return line

    def _values(self, values_of: Callable[[Any], Sequence[Any]]) -> Callable[[Event, Any], Row]:
        before, after = own_columns(self._key), ancestors(self._key)

        def values(event: Event, data: Any) -> tuple[Any, ...]:
            return (*before, *event.root.fields, *after, *values_of(data))

        return values

    def problems(self, data: Any) -> Iterator[EventProblem]:
        """Yield why data is not a row."""
        invalid = False
        for error in self._validator.iter_errors(data):
            invalid = True
            place = "".join(map(self._step, error.instance_path))
            yield EventProblem("invalid", f"{self._key}: {place or 'the data'}: {cut(_message(error), _MOST_SHOWN)}")
        if not invalid:
            for problem in self._rows.problems(data):
                yield EventProblem("does_not_fit", f"{self._key}: {problem}")

    def _step(self, step: str | int) -> str:
        """Return a step to a value. A key that the event has made up is a text in quotes, as any other value of it."""
        is_own = isinstance(step, int) or (step in self._properties and _PLAIN_NAME.fullmatch(step))
        return pointer(step) if is_own else f"/{json_text(step)}"

    @cached_property
    def _properties(self) -> frozenset[str]:
        """The names of all properties that the schema, and those to which it refers, define at any place."""
        found: set[str] = set()
        waiting: list[Any] = list(self._documents)
        while waiting:
            inner = waiting.pop()
            if isinstance(inner, dict):
                properties = inner.get("properties")
                found |= properties.keys() if isinstance(properties, dict) else set()
            waiting += inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
        return frozenset(found)


def _message(error: jsonschema_rs.ValidationError) -> str:
    """Return what is wrong with a value: all that is of the event is in quotes, or a number."""
    if error.kind.name in _WITHOUT_KEYS:
        return error.message
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        return f"Additional properties are not allowed: {', '.join(map(json_text, error.kind.unexpected))}"
    return f"{error.kind.name}: {json_text(error.message)}"


def own_columns(key: SchemaKey) -> tuple[str, str, str, str]:
    """Return the columns of the envelope before those of the event: what says of which schema a row is."""
    return key.vendor, key.name, key.format, str(key.version)


def ancestors(key: SchemaKey) -> tuple[str, str, str]:
    """Return the columns of the envelope after those of the event: what a row belongs to."""
    return EVENTS, json_text([EVENTS, snake(key.name)]), EVENTS
