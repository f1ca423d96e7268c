"""What lands of a captured record: the source's columns, and those that say where, when and how the row changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from onefold.changelog.metadata import (
    CHANGE_TYPES,
    DATABASE_NAME,
    LANDED_AT,
    METADATA,
    SOURCE_NAME,
    UNUSED_BY_CAPTURE,
    metadata_of,
)
from onefold.core.errors import InvalidRecord, SchemaConflict
from onefold.core.text import shortened
from onefold.messages.change_records import ChangeMessage
from onefold.ports.rows import Row
from onefold.schema.columns import Column, Schema

# A column of the table, and what of the record's metadata it holds.
PLACES = {SOURCE_NAME: "source", DATABASE_NAME: "database_name"}
# Of the record's metadata, what the message says, too.
_NAMES = ("table_name", "table_version")


class RowBuilder:
    """The rows that a version's table takes."""

    def __init__(self, message: ChangeMessage, columns: Sequence[Column], landed_at: datetime) -> None:
        """Raises SchemaConflict where the table is none of capture's."""
        added = (*PLACES, LANDED_AT, METADATA)
        schema = Schema(columns)
        missing = [name for name in added if not schema.has(name)]
        if missing:
            raise SchemaConflict(
                f"{message.dataset}.{message.versioned_table} has no column {', '.join(missing)}: it was not made by capture"
            )
        self._fields = tuple(field.name for field in metadata_of(columns).fields)
        self._wanted = frozenset({*PLACES.values(), *_NAMES, *self._fields} - UNUSED_BY_CAPTURE.keys())
        self._added = frozenset(added)
        self._message = message
        self._landed_at = landed_at.isoformat(" ", "microseconds")

    def row(self, record: Any) -> Row:
        """The row of one record; whether its values fit their columns is for whoever writes it.

        Raises:
            InvalidRecord: all that is wrong with the record itself.
        """
        problems = list(self._problems(record))
        if problems:
            raise InvalidRecord(problems)
        metadata = record["metadata"]
        return {
            **record["data"],
            **{column: metadata[name] for column, name in PLACES.items()},
            LANDED_AT: self._landed_at,
            METADATA: {
                name: UNUSED_BY_CAPTURE[name] if name in UNUSED_BY_CAPTURE else metadata[name] for name in self._fields
            },
        }

    def _problems(self, record: Any) -> Iterator[str]:
        if not isinstance(record, dict) or record.keys() != {"data", "metadata"}:
            yield "a record is an object of `data` and `metadata`"
            return
        if isinstance(record["data"], dict):
            yield from (f"data: the sink itself sets {name}" for name in record["data"] if name in self._added)
        else:
            yield "`data` is not an object"
        if isinstance(record["metadata"], dict):
            yield from self._metadata_problems(record["metadata"])
        else:
            yield "`metadata` is not an object"

    def _metadata_problems(self, metadata: Mapping[str, Any]) -> Iterator[str]:
        if metadata.keys() != self._wanted:
            if missing := sorted(self._wanted - metadata.keys()):
                yield f"metadata lacks {', '.join(missing)}"
            unknown = sorted(metadata.keys() - self._wanted)
            yield from (f"metadata: {shortened(name)} has no field in the table" for name in unknown)
        # What a row's key and position are made of is never NULL.
        for name in (*PLACES.values(), "change_sequence_number"):
            if name in metadata and not isinstance(metadata[name], str):
                yield f"metadata: {name} is not a text"
        if "change_type" in metadata and metadata["change_type"] not in CHANGE_TYPES:
            yield f"metadata: change_type is none of {', '.join(CHANGE_TYPES)}"
        for name, named in zip(_NAMES, (self._message.table, self._message.version), strict=True):
            if name in metadata and metadata[name] != named:
                yield f"metadata: {name} is not that of the message, {named}"
