"""Change logs as they land, and what each says of a change: the source's columns, its position, whether it deletes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.metadata import (
    CHANGE_TYPES,
    DELETIONS,
    LANDED_AT,
    METADATA,
    key_problems,
    metadata_problems,
    source_columns,
)
from onefold.changelog.position import Position
from onefold.core.names import fold_case
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Scalar, Struct
from onefold.spark.columns import named
from onefold.spark.io.frames import ChangeLog, LandedFrame, column_of
from onefold.spark.values.casts import converted
from onefold.spark.values.digest import digest
from onefold.spark.values.position import position

TIMES = ("TIMESTAMP", "DATETIME", "DATE")

_PLACED = "_onefold_placed"
"""The position with its digest, while the source's columns are still as they landed."""


@dataclass(frozen=True)
class Part:
    """Changes in one form: the source's columns as they landed, `_position` (without its digest) and `_deleted`.

    carried: further columns of the frame that are kept as they are.
    """

    frame: DataFrame
    columns: tuple[Column, ...]
    carried: tuple[str, ...] = ()


class ChangeFormat(Protocol):
    """How changes are written."""

    def columns(self, log: ChangeLog) -> list[tuple[Column, ...]]:
        """The source's columns; more than once where rows come in more than one form."""

    def problems(self, log: ChangeLog, arguments: ReconcileArguments) -> Iterable[str]:
        """All that keeps this version from being read."""

    def parts(self, landed: LandedFrame, arguments: ReconcileArguments, unified: Sequence[Column]) -> list[Part]:
        """The changes of the window."""


def rows_of(part: Part, unified: Sequence[Column], keys: Sequence[str]) -> DataFrame:
    """Bring changes into the unified columns; of a deletion keep only its key.

    The digest is taken in a projection of its own, before any value is changed. In one projection, a name within the body
    of a lambda may mean the output of that name (Spark's implicit lateral column alias) and not the column that landed.
    """
    folded = {fold_case(key) for key in keys}
    values = (
        value if fold_case(column.name) in folded else F.when(~named(DELETED), value).alias(column.name)
        for column, value in zip(unified, converted(part.columns, unified), strict=True)
    )
    placed = F.concat(named(POSITION), F.lit(" "), digest(part.columns)).alias(_PLACED)
    return part.frame.select("*", placed).select(
        *values, named(_PLACED).alias(POSITION), named(DELETED), *map(named, part.carried)
    )


def key_column_problems(log: ChangeLog, columns: Sequence[Column], keys: Sequence[str]) -> Iterator[str]:
    """Keys that are not there or cannot be one. A column without any value has no type, and is no fault."""
    typed = [key for key in keys if fold_case(key) not in log.empty]
    if typed:
        yield from key_problems(log.name, columns, typed)


class Datastream:
    """Rows with `datastream_metadata`."""

    def columns(self, log: ChangeLog) -> list[tuple[Column, ...]]:
        return [tuple(source_columns(log.columns))]

    def problems(self, log: ChangeLog, arguments: ReconcileArguments) -> Iterable[str]:
        yield from metadata_problems(log.name, log.columns, casts_sort_keys=True)
        yield from key_column_problems(log, self.columns(log)[0], arguments.keys)
        yield from landing_problems(log, arguments)

    def parts(self, landed: LandedFrame, arguments: ReconcileArguments, unified: Sequence[Column]) -> list[Part]:  # noqa: ARG002
        (columns,) = self.columns(landed)
        fields = _fields(column_of(landed, METADATA))
        deleted = _is_deletion(landed.name, fields["change_type"])
        # Sort keys that JSON wrote as numbers are text all the same.
        sort_keys = fields.get("sort_keys", F.array()).cast("array<string>")
        place = position(
            fields["change_sequence_number"],
            fields["source_timestamp"],
            sort_keys,
            deleted,
            F.coalesce(fields.get("uuid", F.lit("")), F.lit("")),
        )
        frame = within_landing_times(landed, arguments).select(
            *(named(column.name) for column in columns), place.alias(POSITION), deleted.alias(DELETED)
        )
        return [Part(within_sequences(frame, arguments), columns)]


def _is_deletion(name: str, change_type: Value) -> Value:
    """Tell deletions from other changes; a change of no known type is an error, since it might be either."""
    kind = F.upper(change_type)
    expected = f"{name}: expected a change_type of {', '.join(CHANGE_TYPES)}, got "
    problem = F.concat(
        F.lit(expected), F.coalesce(change_type, F.lit("NULL")), F.lit(" in "), F.input_file_name(),
        F.lit(": correct the row, or leave its file out"),
    )  # fmt: skip
    return F.when(kind.isin(*DELETIONS), True).when(kind.isin(*CHANGE_TYPES), False).otherwise(F.raise_error(problem))


def _fields(metadata: Column | None) -> dict[str, Value]:
    if metadata is None or not isinstance(metadata.type, Struct):
        return {}
    whole = named(metadata.name)
    return {fold_case(field.name): whole.getField(field.name) for field in metadata.type.fields}


def landing_problems(log: ChangeLog, arguments: ReconcileArguments) -> list[str]:
    if not any(isinstance(bound, datetime) for bound in (arguments.start, arguments.end)):
        return []
    column = column_of(log, LANDED_AT)
    if column is None:
        return [f"{log.name} has no column {LANDED_AT}: without it, --from and --to can only be sequences"]
    if column.type not in (STRING, *map(Scalar, TIMES)):
        return [f"{log.name}: {LANDED_AT} is {column.type}, and has to be TIMESTAMP"]
    return []


def within_landing_times(landed: LandedFrame, arguments: ReconcileArguments) -> DataFrame:
    """Rows of which nobody knows when they landed are in every window, as in `onefold.merge.change_query.window_sql`."""
    frame, landed_at = landed.frame, named(LANDED_AT)
    time, unknown = landed_at.cast("timestamp"), landed_at.isNull()
    if isinstance(arguments.start, datetime):
        frame = frame.where((time >= F.lit(arguments.start)) | unknown)
    if isinstance(arguments.end, datetime):
        frame = frame.where((time < F.lit(arguments.end)) | unknown)
    return frame


def within_sequences(frame: DataFrame, arguments: ReconcileArguments) -> DataFrame:
    """A position begins with its sequence and a blank, below which nothing sorts: so it is above its own bare sequence."""
    if isinstance(arguments.start, str):
        frame = frame.where(named(POSITION) >= _bare(arguments.start))
    if isinstance(arguments.end, str):
        frame = frame.where(named(POSITION) < _bare(arguments.end))
    return frame


def _bare(sequence: str) -> str:
    return str(Position(sequence=sequence)).split(" ")[0]
