"""Rows of the table of unknown entities: the JSON of each, as it is in the event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.csv_values import TAB, csv_converter, csv_field
from onefold.events.shred.entity import Row, ancestors, own_columns
from onefold.events.shred.event import EntityData, Event
from onefold.events.shred.parquet_values import parquet_converter
from onefold.events.shred.unknown import unknown_columns
from onefold.events.shred.values import json_text
from onefold.ports.event_tables import FileFormat


class UnknownRows:
    """Makes rows of the table of unknown entities."""

    def __init__(self, format_: FileFormat, run: str) -> None:
        """Choose the conversions.

        Args:
            format_: the format of the rows.
            run: the address of the folder of the run.
        """
        self._is_csv = format_ == "csv"
        self._run = run
        converter: Callable[[str], Callable[[Any], Any]] = csv_converter if self._is_csv else parquet_converter
        self._converters = [converter(type_) for _, type_ in unknown_columns(format_)]

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
