"""Rows of periodic pulls: there is no log, but a column with the time at which a row was changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from onefold.batches.arguments import ReconcileArguments
from onefold.changelog.metadata import source_columns
from onefold.changelog.position import INT64, Position
from onefold.core.text import shown_list
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column, Schema
from onefold.schema.types import Scalar, Type
from onefold.schema.versions import Version
from onefold.spark.columns import named
from onefold.spark.io.frames import ChangeLog, LandedFrame
from onefold.spark.reconcile.change_log import TIMES, Part, key_column_problems
from onefold.spark.values.casts import converted


class ModifyTime:
    """The format of periodic pulls: rows are ordered by one of their columns; deletions in the source are not noticed."""

    def columns(self, log: ChangeLog) -> list[Schema]:
        return [source_columns(log.columns)]

    def problems(self, log: ChangeLog, arguments: ReconcileArguments) -> Iterable[str]:
        columns = self.columns(log)[0]
        yield from key_column_problems(log, columns, arguments.keys)
        column = log.columns.get(arguments.position or "")
        if column is None:
            yield f"{log.name} has no column {arguments.position} for the position; it has {shown_list(columns.names)}"
        elif str(column.type) not in _SEQUENCES:
            yield (
                f"{log.name}: expected the position {column.name} of one of the types {', '.join(_SEQUENCES)}, "
                f"got {column.type}: name another column with --position"
            )
        else:
            yield from _bound_problems(column, arguments)

    def parts(self, frame: LandedFrame, arguments: ReconcileArguments, unified: Sequence[Column]) -> list[Part]:
        (columns,) = self.columns(frame)
        target, value = _ordering(columns, arguments.position or "", unified)
        rows = _within_values(frame.rows, target, value, arguments).select(
            *(named(column.name) for column in columns),
            _position(target, value).alias(POSITION),
            F.lit(False).alias(DELETED),
        )
        return [Part(rows, columns)]


def position_of(columns: Sequence[Column], position: str, unified: Sequence[Column]) -> Value:
    """Return the position of a row among the pulls; a row without a value has the lowest one.

    Args:
        columns: the columns of the row as it landed.
        position: the name of the column that orders.
        unified: the columns of the new base.
    """
    return _position(*_ordering(columns, position, unified))


def kind_problems(sources: Iterable[Version], position: str) -> Iterator[str]:
    """Yield an error if the position column has types of several kinds: as text, their common type, 10 is below 9."""
    columns = {source.id: source.schema.get(position) for source in sources}
    types = {id_: column.type for id_, column in columns.items() if column}
    if len({sequence_kind(type_) for type_ in types.values()}) > 1:
        found = shown_list(f"{type_} in {id_}" for id_, type_ in types.items())
        yield (
            f"expected one type of the position {position}, got {found}, which cannot be compared: bring it to one type, or "
            "leave out a base of another one by --mode rebuild"
        )


def _ordering(columns: Sequence[Column], position: str, unified: Sequence[Column]) -> tuple[Column, Value]:
    """Return the column that orders, as the base is to have it, and its value."""
    (target,) = Schema(unified).only([position])
    (value,) = converted(columns, (target,))
    return target, value


def _position(column: Column, value: Value) -> Value:
    return F.concat(F.coalesce(_SEQUENCES[str(column.type)](value), F.lit("0")), F.lit(_REST))


_WHOLE_NUMBER = re.compile("-?[0-9]{1,19}")

_REST = str(Position()).removeprefix("0")
"""The text after the sequence in a position that has no other part."""


def _number_sequence(x: Value) -> Value:
    """Return sixteen hexadecimal digits that sort as the signed number does: the sign bit is inverted."""
    return F.concat(F.lit("2"), F.lpad(F.hex(x.bitwiseXOR(F.lit(-(2**63)))), 16, "0"))


def _time_sequence(x: Value) -> Value:
    return _number_sequence(F.unix_micros(x.cast("timestamp")))


def _text_sequence(x: Value) -> Value:
    """Return text with `!` for blanks and control characters: a blank ends a sequence, and nothing may sort below it."""
    return F.concat(F.lit("1"), F.regexp_replace(x, r"[\x00-\x20]", "!"))


_SEQUENCES: dict[str, Callable[[Value], Value]] = {
    **dict.fromkeys(TIMES, _time_sequence),
    "INT64": _number_sequence,
    "STRING": _text_sequence,
}


def sequence_kind(type_: Type) -> str:
    """Return the kind of a position column; positions can be compared if their columns are of one kind.

    Examples:
        >>> sequence_kind(Scalar("DATE")), sequence_kind(Scalar("INT64"))
        ('time', 'INT64')
    """
    return "time" if str(type_) in TIMES else str(type_)


def _bound_problems(column: Column, arguments: ReconcileArguments) -> list[str]:
    """Return the errors in the window, whose bounds are values of the position column in this format."""
    bounds = [bound for bound in (arguments.start, arguments.end) if bound is not None]
    kind = sequence_kind(column.type)
    if kind == "time" and not all(isinstance(bound, datetime) for bound in bounds):
        return [f"--from and --to must be times, as {column.name} is"]
    if kind == "INT64" and not all(map(_is_int64, bounds)):
        return [f"--from and --to must be whole numbers of 64 bits, as {column.name} is"]
    return []


def _is_int64(bound: datetime | str) -> bool:
    return isinstance(bound, str) and bool(_WHOLE_NUMBER.fullmatch(bound)) and -INT64 <= int(bound) < INT64


def _within_values(rows: DataFrame, column: Column, value: Value, arguments: ReconcileArguments) -> DataFrame:
    if arguments.start is not None:
        rows = rows.where(_comparable(value, arguments.start) >= _bound(column, arguments.start))
    if arguments.end is not None:
        rows = rows.where(_comparable(value, arguments.end) < _bound(column, arguments.end))
    return rows


def _comparable(value: Value, bound: datetime | str) -> Value:
    return value.cast("timestamp") if isinstance(bound, datetime) else value


def _bound(column: Column, bound: datetime | str) -> Value:
    return F.lit(int(bound)) if isinstance(bound, str) and column.type == Scalar("INT64") else F.lit(bound)
