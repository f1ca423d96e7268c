"""The views of a dataset as other tools read them: columns, keys, what each reads, and where to see how fresh it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from onefold.changelog.metadata import LANDED_AT, METADATA
from onefold.core.names import TableId
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING, Scalar, Struct

_BY_SOURCE = f"TIMESTAMP_MILLIS({METADATA}.source_timestamp)"
_LOADED_BY_TOOLS = ("_airbyte_extracted_at", "_fivetran_synced", "_PEERDB_SYNCED_AT", "_sdc_batched_at")
_DLT_LOAD = "_dlt_load_id"


@dataclass(frozen=True)
class ExportedView:
    """A view that Onefold keeps.

    Attributes:
        id: its name.
        columns: its columns.
        description: what the view shows as its description.
        descriptions: those of its columns, by name.
        keys: the columns by which each row is unique; empty where no key is known, or the view has a row for each change.
        reads: the tables and views that its text reads, those behind leaf views included.
    """

    id: TableId
    columns: tuple[Column, ...]
    description: str = ""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    reads: tuple[TableId, ...] = ()


@dataclass(frozen=True)
class Product:
    """The views of the tables of one dataset.

    Attributes:
        dataset: the dataset of the tables; the views may be in others.
        views: its views, in the order of their names.
        loaded_at: an expression for the time at which a row came, for each table or view whose rows tell it.
    """

    dataset: str
    views: tuple[ExportedView, ...]
    loaded_at: Mapping[TableId, str] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[TableId, ...]:
        """The views and all that they read, each once, in the order of their names."""
        return tuple(sorted({id_ for view in self.views for id_ in (view.id, *view.reads)}, key=str))


def loaded_at(columns: Sequence[Column]) -> str | None:
    """Return the expression for the time at which a row came; None where the columns do not tell it.

    Datastream writes no time of landing; its rows have the time of the change at the source, in milliseconds. Rows of dlt
    have the second at which their load began, as text.

    Examples:
        >>> [loaded_at([Column(name, Scalar("TIMESTAMP"))]) for name in ("_landed_at", "_fivetran_synced", "id")]
        ['_landed_at', '_fivetran_synced', None]
    """
    schema = Schema(columns)
    for name in (LANDED_AT, *_LOADED_BY_TOOLS):
        if schema.get(name) == Column(name, Scalar("TIMESTAMP")):
            return name
    if schema.get(_DLT_LOAD) == Column(_DLT_LOAD, STRING):
        return f"TIMESTAMP_MICROS(CAST(SAFE_CAST({_DLT_LOAD} AS NUMERIC) * 1000000 AS INT64))"
    metadata = schema.get(METADATA)
    time = metadata.type.get("source_timestamp") if metadata and isinstance(metadata.type, Struct) else None
    return _BY_SOURCE if time and time.type == Scalar("INT64") else None
