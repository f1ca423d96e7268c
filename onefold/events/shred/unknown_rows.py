"""Rows of the table of unknown entities: the JSON of each, as it is in the event."""

from __future__ import annotations

from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.csv_values import TAB, csv_field
from onefold.events.shred.entity import Row, ancestors, own_columns
from onefold.events.shred.event import EntityData, Event
from onefold.events.shred.row_format import RowFormat
from onefold.events.shred.unknown import unknown_columns
from onefold.events.shred.values import json_text


class UnknownRows:
    """Makes rows of the table of unknown entities."""

    def __init__(self, form: RowFormat, run: str) -> None:
        """Choose the conversions.

        Args:
            form: how the rows are written.
            run: the address of the folder of the run.
        """
        self._is_csv = form.is_csv
        self._run = run
        self._converters = [form.converter(type_) for _, type_ in unknown_columns(form.warehouse)]

    def row(self, event: Event, entity: EntityData) -> Row:
        """Return the row of an entity.

        Raises:
            DoesNotFit: a column cannot hold its value, as a JSON text of more than 60,000 bytes in Redshift.
        """
        key, texts = SchemaKey.parse(entity.uri), (entity.uri, entity.place, self._run, json_text(entity.data))
        values = [convert(text) for convert, text in zip(self._converters, texts, strict=True)]
        if self._is_csv:
            return TAB.join((*own_columns(key), event.root.fields, *map(csv_field, ancestors(key)), *values))
        return (*own_columns(key), *event.root.fields, *ancestors(key), *values)
