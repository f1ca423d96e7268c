"""The rows of a versioned table, made of captured records: the source's columns, and columns that describe the change."""

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
from onefold.core.text import shortened, shown_list
from onefold.messages.change_records import ChangeMessage
from onefold.ports.rows import Row
from onefold.schema.columns import Column, Schema

# Columns of the table, and the fields of the record's metadata that they hold.
TENANT_COLUMNS = {SOURCE_NAME: "source", DATABASE_NAME: "database_name"}
# Fields of the record's metadata that the message has, too.
_NAMES = ("table_name", "table_version")


class RowBuilder:
    """Builds the rows of one message for the table of its version."""

    def __init__(self, message: ChangeMessage, columns: Sequence[Column], landed_at: datetime) -> None:
        """Look up the columns that the sink sets.

        Args:
            message: the message that holds the records.
            columns: the columns of the table.
            landed_at: the time of landing of all rows.

        Raises:
            SchemaConflict: the table lacks a column that capture would have made.
        """
        added = (*TENANT_COLUMNS, LANDED_AT, METADATA)
        schema = Schema(columns)
        missing = [name for name in added if not schema.has(name)]
        if missing:
            raise SchemaConflict(
                f"{message.dataset}.{message.versioned_table}: expected a table that capture made, got one without "
                f"{shown_list(missing)}: rename the table, or capture into another dataset"
            )
        self._fields = tuple(field.name for field in metadata_of(columns).fields)
        self._needed = frozenset({*TENANT_COLUMNS.values(), *_NAMES, *self._fields} - UNUSED_BY_CAPTURE.keys())
        self._added = frozenset(added)
        self._message = message
        self._landed_at = landed_at.isoformat(" ", "microseconds")

    def row(self, record: Any) -> Row:
        """Return the row of one record. Whether its values fit their columns is checked when the row is written.

        Raises:
            InvalidRecord: everything that is wrong with the record itself.
        """
        problems = list(self._problems(record))
        if problems:
            raise InvalidRecord(problems)
        metadata = record["metadata"]
        return {
            **record["data"],
            **{column: metadata[name] for column, name in TENANT_COLUMNS.items()},
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
        if metadata.keys() != self._needed:
            if missing := sorted(self._needed - metadata.keys()):
                yield f"metadata lacks {shown_list(missing)}"
            unknown = sorted(metadata.keys() - self._needed)
            yield from (f"metadata: {shortened(name)} has no field in the table" for name in unknown)
        # The key and the position of a row are made of these fields, so they are never NULL.
        for name in (*TENANT_COLUMNS.values(), "change_sequence_number"):
            if name in metadata and not isinstance(metadata[name], str):
                yield f"metadata: {name} is not a text"
        if "change_type" in metadata and metadata["change_type"] not in CHANGE_TYPES:
            yield f"metadata: expected a change_type of {', '.join(CHANGE_TYPES)}, got another value"
        for name, named in zip(_NAMES, (self._message.table, self._message.version), strict=True):
            if name in metadata and metadata[name] != named:
                yield f"metadata: {name} is not that of the message, {named}"
