"""Rows of periodic pulls: no log, but a column that says when a row was changed."""

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
from onefold.core.names import fold_case
from onefold.merge.base_table import DELETED, POSITION
from onefold.schema.columns import Column
from onefold.schema.types import Scalar, Type
from onefold.schema.versions import Version
from onefold.spark.columns import named
from onefold.spark.io.frames import ChangeLog, LandedFrame, column_of
from onefold.spark.reconcile.change_log import TIMES, Part, key_column_problems
from onefold.spark.values.casts import converted


class ModifyTime:
    """Rows of periodic pulls, ordered by one of their columns; a row that is gone from the source is not seen."""

    def columns(self, log: ChangeLog) -> list[tuple[Column, ...]]:
        return [tuple(source_columns(log.columns))]

    def problems(self, log: ChangeLog, arguments: ReconcileArguments) -> Iterable[str]:
        columns = self.columns(log)[0]
        yield from key_column_problems(log, columns, arguments.keys)
        column = column_of(log, arguments.position or "")
        if column is None:
            names = ", ".join(column.name for column in columns)
            yield f"{log.name} has no column {arguments.position} for the position; it has {names}"
        elif str(column.type) not in _PLACES:
            yield f"{log.name}: the position {column.name} is {column.type}, and has to be {', '.join(_PLACES)}"
        else:
            yield from _bound_problems(column, arguments)

    def parts(self, landed: LandedFrame, arguments: ReconcileArguments, unified: Sequence[Column]) -> list[Part]:
        (columns,) = self.columns(landed)
        target, value = _ordering(columns, arguments.position or "", unified)
        rows = _within_values(landed.frame, target, value, arguments).select(
            *(named(column.name) for column in columns),
            _position(target, value).alias(POSITION),
            F.lit(False).alias(DELETED),
        )
        return [Part(rows, columns)]


def position_of(columns: Sequence[Column], position: str, unified: Sequence[Column]) -> Value:
    """Where a row of these columns stands among the pulls; without a value it is the lowest."""
    return _position(*_ordering(columns, position, unified))


def kind_problems(sources: Iterable[Version], position: str) -> Iterator[str]:
    """Types of different kinds would be compared as text, in which 10 is below 9."""
    name = fold_case(position)
    types = {source.id: column.type for source in sources for column in source.columns if fold_case(column.name) == name}
    if len({place_kind(type_) for type_ in types.values()}) > 1:
        told = ", ".join(f"{type_} in {id_}" for id_, type_ in types.items())
        yield (
            f"the position {position} is {told}, which cannot be compared: bring it to one type, or leave out a base of "
            "another one by --mode rebuild"
        )


def _ordering(columns: Sequence[Column], position: str, unified: Sequence[Column]) -> tuple[Column, Value]:
    """The column that orders, as the base is to have it, and its value."""
    (target,) = (column for column in unified if fold_case(column.name) == fold_case(position))
    (value,) = converted(columns, (target,))
    return target, value


def _position(column: Column, value: Value) -> Value:
    return F.concat(F.coalesce(_PLACES[str(column.type)](value), F.lit("0")), F.lit(_REST))


_WHOLE_NUMBER = re.compile("-?[0-9]{1,19}")

_REST = str(Position()).removeprefix("0")
"""What follows the sequence in a position that has nothing but a sequence."""


def _number_place(x: Value) -> Value:
    """Sixteen hexadecimal digits that sort as the signed number does."""
    return F.concat(F.lit("2"), F.lpad(F.hex(x.bitwiseXOR(F.lit(-(2**63)))), 16, "0"))


def _time_place(x: Value) -> Value:
    return _number_place(F.unix_micros(x.cast("timestamp")))


def _text_place(x: Value) -> Value:
    """Text as it is: a blank would end it, and what is below a blank would sort before its end."""
    return F.concat(F.lit("1"), F.regexp_replace(x, r"[\x00-\x20]", "!"))


_PLACES: dict[str, Callable[[Value], Value]] = {
    **dict.fromkeys(TIMES, _time_place),
    "INT64": _number_place,
    "STRING": _text_place,
}


def place_kind(type_: Type) -> str:
    """Columns of one kind have positions that can be compared."""
    return "time" if str(type_) in TIMES else str(type_)


def _bound_problems(column: Column, arguments: ReconcileArguments) -> list[str]:
    """With periodic pulls a window is one of the position column's values."""
    bounds = [bound for bound in (arguments.start, arguments.end) if bound is not None]
    kind = place_kind(column.type)
    if kind == "time" and not all(isinstance(bound, datetime) for bound in bounds):
        return [f"--from and --to must be times, as {column.name} is"]
    if kind == "INT64" and not all(map(_is_int64, bounds)):
        return [f"--from and --to must be whole numbers of 64 bits, as {column.name} is"]
    return []


def _is_int64(bound: datetime | str) -> bool:
    return isinstance(bound, str) and bool(_WHOLE_NUMBER.fullmatch(bound)) and -INT64 <= int(bound) < INT64


def _within_values(frame: DataFrame, column: Column, value: Value, arguments: ReconcileArguments) -> DataFrame:
    if arguments.start is not None:
        frame = frame.where(_comparable(value, arguments.start) >= _bound(column, arguments.start))
    if arguments.end is not None:
        frame = frame.where(_comparable(value, arguments.end) < _bound(column, arguments.end))
    return frame


def _comparable(value: Value, bound: datetime | str) -> Value:
    return value.cast("timestamp") if isinstance(bound, datetime) else value


def _bound(column: Column, bound: datetime | str) -> Value:
    return F.lit(int(bound)) if isinstance(bound, str) and column.type == Scalar("INT64") else F.lit(bound)
