"""Change logs as they land, and three facts about each change: the source's columns, the position, whether it deletes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.key_columns import missing_keys
from onefold.changelog.metadata import (
    CHANGE_TYPES,
    DELETIONS,
    LANDED_AT,
    METADATA,
    metadata_problems,
    source_columns,
)
from onefold.changelog.position import LOW, Position
from onefold.core.names import fold_case
from onefold.merge.base_table import DELETED, POSITION
from onefold.merge.change_query import UNKNOWN_TYPE
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING, Scalar, Struct
from onefold.spark.columns import named
from onefold.spark.io.frames import ChangeLog, LandedFrame
from onefold.spark.values.casts import converted
from onefold.spark.values.digest import digest
from onefold.spark.values.position import position

TIMES = ("TIMESTAMP", "DATETIME", "DATE")

_FULL_POSITION = "_onefold_full_position"
"""The position with its digest, in a column of its own while the source's columns are still as they landed."""


@dataclass(frozen=True)
class Part:
    """Changes of one shape: the source's columns as they landed, `_position` (without its digest) and `_deleted`.

    other_columns: further columns of the frame, which stay unchanged.
    """

    frame: DataFrame
    columns: Schema
    other_columns: tuple[str, ...] = ()


class ChangeFormat(Protocol):
    """A format of change logs."""

    def columns(self, log: ChangeLog) -> list[Schema]:
        """Return the source's columns, once for each shape in which rows come."""

    def problems(self, log: ChangeLog, arguments: ReconcileArguments) -> Iterable[str]:
        """Return every error that prevents this version from being read."""

    def parts(self, frame: LandedFrame, arguments: ReconcileArguments, unified: Sequence[Column]) -> list[Part]:
        """Return the changes of the window.

        Args:
            frame: a version with its rows.
            arguments: the arguments of the job.
            unified: the columns of the new base.
        """


def unified_rows(part: Part, unified: Sequence[Column], keys: Sequence[str]) -> DataFrame:
    """Convert changes to the unified columns. Of a deletion only the key stays, all other values become NULL.

    The digest is computed in a projection of its own, before any value is changed. In one projection, a name within the
    body of a lambda may mean the output of that name (Spark's implicit lateral column alias) and not the column that landed.

    Args:
        part: the changes.
        unified: the columns of the new base.
        keys: the columns of the key.
    """
    folded_keys = {fold_case(key) for key in keys}
    values = (
        value if fold_case(column.name) in folded_keys else F.when(~named(DELETED), value).alias(column.name)
        for column, value in zip(unified, converted(part.columns, unified), strict=True)
    )
    full_position = F.concat(named(POSITION), F.lit(" "), digest(part.columns)).alias(_FULL_POSITION)
    return part.frame.select("*", full_position).select(
        *values, named(_FULL_POSITION).alias(POSITION), named(DELETED), *map(named, part.other_columns)
    )


def key_column_problems(log: ChangeLog, columns: Sequence[Column], keys: Sequence[str]) -> Iterator[str]:
    """Yield the keys that are missing. A column without any value has no type, which is no error.

    The plan checks the unified type of a key: FLOAT64 and INT64 together are text, by which rows can be merged.
    """
    typed = [key for key in keys if fold_case(key) not in log.empty]
    yield from missing_keys(log.name, columns, typed)


class Datastream:
    """The format of Datastream: rows with `datastream_metadata`."""

    def columns(self, log: ChangeLog) -> list[Schema]:
        return [source_columns(log.columns)]

    def problems(self, log: ChangeLog, arguments: ReconcileArguments) -> Iterable[str]:
        yield from metadata_problems(log.name, log.columns, casts_sort_keys=True)
        yield from key_column_problems(log, self.columns(log)[0], arguments.keys)
        yield from landing_problems(log, arguments)

    def parts(self, frame: LandedFrame, arguments: ReconcileArguments, unified: Sequence[Column]) -> list[Part]:  # noqa: ARG002
        (columns,) = self.columns(frame)
        fields = _fields(frame.columns.get(METADATA))
        kind = F.upper(fields["change_type"])
        deleted, unknown = _is_in(kind, DELETIONS), ~_is_in(kind, CHANGE_TYPES)
        # JSON may have written sort keys as numbers; a position is made of their text.
        sort_keys = fields.get("sort_keys", F.array()).cast("array<string>")
        position_ = position(
            fields["change_sequence_number"],
            fields["source_timestamp"],
            sort_keys,
            deleted,
            F.coalesce(F.regexp_replace(fields.get("uuid", F.lit("")), LOW, "!"), F.lit("")),
        )
        rows = within_landing_times(frame, arguments).select(
            *(named(column.name) for column in columns),
            position_.alias(POSITION),
            deleted.alias(DELETED),
            unknown.alias(UNKNOWN_TYPE),
        )
        return [Part(within_sequences(rows, arguments), columns, other_columns=(UNKNOWN_TYPE,))]


def _is_in(kind: Value, kinds: Sequence[str]) -> Value:
    """Return whether a type of change is one of some kinds, never NULL."""
    return F.coalesce(kind.isin(*kinds), F.lit(False))


def _fields(metadata: Column | None) -> dict[str, Value]:
    if metadata is None or not isinstance(metadata.type, Struct):
        return {}
    whole = named(metadata.name)
    return {fold_case(field.name): whole.getField(field.name) for field in metadata.type.fields}


def landing_problems(log: ChangeLog, arguments: ReconcileArguments) -> list[str]:
    """Return the errors that prevent a window of landing times from being applied to a log."""
    if not any(isinstance(bound, datetime) for bound in (arguments.start, arguments.end)):
        return []
    column = log.columns.get(LANDED_AT)
    if column is None:
        return [f"{log.name} has no column {LANDED_AT}: without it, --from and --to can only be sequences"]
    if column.type not in (STRING, *map(Scalar, TIMES)):
        return [f"{log.name}: expected {LANDED_AT} of type TIMESTAMP, got {column.type}: write it so"]
    return []


def within_landing_times(frame: LandedFrame, arguments: ReconcileArguments) -> DataFrame:
    """Return the rows that landed within the window.

    Rows without a landing time are in every window, as in `onefold.merge.change_query.window_sql`.
    """
    rows, landed_at = frame.rows, named(LANDED_AT)
    time, unknown = landed_at.cast("timestamp"), landed_at.isNull()
    if isinstance(arguments.start, datetime):
        rows = rows.where((time >= F.lit(arguments.start)) | unknown)
    if isinstance(arguments.end, datetime):
        rows = rows.where((time < F.lit(arguments.end)) | unknown)
    return rows


def within_sequences(rows: DataFrame, arguments: ReconcileArguments) -> DataFrame:
    """Return the changes whose sequences are within the window, by their positions.

    A position is its sequence, a blank and further parts, and no character of a position sorts below a blank. So a position
    is above the text of its own sequence, and below the text of every greater one.
    """
    if isinstance(arguments.start, str):
        rows = rows.where(named(POSITION) >= _sequence_text(arguments.start))
    if isinstance(arguments.end, str):
        rows = rows.where(named(POSITION) < _sequence_text(arguments.end))
    return rows


def _sequence_text(sequence: str) -> str:
    return str(Position(sequence=sequence)).split(" ")[0]
