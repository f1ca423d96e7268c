"""Row by row at scale: what `onefold.compare.rows` says of two sets of rows, as a plan of Spark.

Both sides are laid together, and one shuffle brings the rows of each key together: how many there are on each side, and
where there is one on each, which of its values differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as t

from onefold.compare.findings import (
    DIFFERENT,
    FINDING_COLUMNS,
    KINDS,
    ONLY_LEFT,
    ONLY_RIGHT,
    REPEATED_LEFT,
    REPEATED_RIGHT,
    Summary,
)
from onefold.compare.rows import DELETED, check_columns, columns_to_leave_out, is_base
from onefold.core.names import fold_case
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Type
from onefold.spark.compare import text_inputs as text_sides
from onefold.spark.compare.canonical import comparable, shown
from onefold.spark.values.types import held

_FINDING = t.StructType([t.StructField(name, t.StringType()) for name in FINDING_COLUMNS])
LEFT, RIGHT = SIDES = ("left", "right")
_TRUE = ("true", "t", "1")


@dataclass(frozen=True)
class ComparedSide:
    """Rows in held form; the frame has the columns in this order."""

    frame: DataFrame
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True)
class SparkComparison:
    """What a comparison finds: one row for each finding. It runs when the findings are written."""

    findings: DataFrame
    counts: Observation
    columns_only: tuple[tuple[str, ...], tuple[str, ...]]

    def summary(self) -> Summary:
        """What was counted while the findings were written; before, this would wait for ever."""
        counts = {name: int(count or 0) for name, count in self.counts.get.items()}
        return Summary(
            (counts["left_rows"], counts["right_rows"]), self.columns_only, {kind: counts[kind] for kind in KINDS}
        )


@dataclass(frozen=True)
class _Pair:
    """A column of both sides: its name on the left, and what it is called and which types it has in the frames here."""

    name: str
    place: str
    left: Type
    right: Type
    as_text: bool

    def type_of(self, side: str) -> Type:
        return self.left if side == LEFT else self.right

    def form(self, x: Value, side: str) -> Value:
        """A value of a side, in a form in which it is equal to the other side's where they are the same."""
        own, other = (self.left, self.right) if side == LEFT else (self.right, self.left)
        if not self.as_text:
            return comparable(x, own, other)
        read, read_type = text_sides.read(x, own, other)
        return comparable(read, read_type, text_sides.type_read(other, own))


def compare_sides(
    left: ComparedSide, right: ComparedSide, keys: Sequence[str], *, as_text: bool = False, without: Sequence[str] = ()
) -> SparkComparison:
    """Compare two sets of rows; the order of rows and columns makes no difference, nor does the case of column names.

    Args:
        keys: the columns that identify a row.
        as_text: whether a side comes as text, so that text may stand for a value of another type.
        without: columns that are not compared.

    Raises:
        InvalidInput: a column that is named and not there.
    """
    check_columns((left.names, right.names), keys, without)
    left, right = _with_columns(left, right, keys), _with_columns(right, left, keys)
    left, right = _as_compared(left, right.names, without), _as_compared(right, left.names, without)
    pairs = list(_pairs(left, right, as_text))
    by_name = {fold_case(pair.name): pair for pair in pairs}
    key_pairs = [by_name[fold_case(key)] for key in keys]
    grouped = _grouped(_laid_together(left, right, pairs, key_pairs))
    found = grouped.select("left_rows", "right_rows", _found(keys, key_pairs, pairs).alias("found"))
    counts = Observation()
    observed = found.observe(counts, *_counts())
    return SparkComparison(observed.select(F.inline("found")), counts, (_lone(left, right), _lone(right, left)))


def _with_columns(side: ComparedSide, other: ComparedSide, keys: Sequence[str]) -> ComparedSide:
    """Nothing is known of a side without rows whose files name no columns: it has the other's; at least the keys."""
    columns = side.columns or other.columns or tuple(Column(key, STRING) for key in keys)
    nothing = (F.lit(None).cast(held(column.type)).alias(column.name) for column in columns)
    return side if side.columns else ComparedSide(side.frame.select(*nothing), columns)


def _as_compared(side: ComparedSide, other: Sequence[str], without: Sequence[str]) -> ComparedSide:
    """Without the columns that are not compared; a base that meets none, without its tombstones."""
    omitted = columns_to_leave_out(side.names, other, without)
    places = {f"c{index}": column for index, column in enumerate(side.columns)}
    frame = side.frame.toDF(*places)
    if is_base(side.names) and not is_base(other):
        deleted = next(F.col(place) for place, column in places.items() if fold_case(column.name) == DELETED)
        frame = frame.where(~F.coalesce(F.lower(deleted.cast("string")).isin(*_TRUE), F.lit(False)))
    kept = {place: column for place, column in places.items() if fold_case(column.name) not in omitted}
    return ComparedSide(frame.select(*kept), tuple(kept.values()))


def _lone(side: ComparedSide, other: ComparedSide) -> tuple[str, ...]:
    known = {fold_case(name) for name in other.names}
    return tuple(name for name in side.names if fold_case(name) not in known)


def _pairs(left: ComparedSide, right: ComparedSide, as_text: bool) -> Iterator[_Pair]:
    types = {fold_case(column.name): column.type for column in right.columns}
    for index, column in enumerate(left.columns):
        if fold_case(column.name) in types:
            yield _Pair(column.name, f"c{index}", column.type, types[fold_case(column.name)], as_text)


def _laid_together(left: ComparedSide, right: ComparedSide, pairs: Sequence[_Pair], keys: Sequence[_Pair]) -> DataFrame:
    """The rows of both sides: the key in one form, and the row itself as that of its side; the other side's is NULL."""
    return _rows(left, pairs, keys, LEFT).unionByName(_rows(right, pairs, keys, RIGHT))


def _rows(side: ComparedSide, pairs: Sequence[_Pair], keys: Sequence[_Pair], name: str) -> DataFrame:
    places = {fold_case(pair.name): pair.place for pair in pairs}
    own = [places.get(fold_case(column.name), f"lone{index}") for index, column in enumerate(side.columns)]
    key = (pair.form(F.col(pair.place), name).alias(f"k{index}") for index, pair in enumerate(keys))
    row = F.struct(*(pair.place for pair in pairs))
    sides = ((row if one == name else F.lit(None)).cast(_row_type(pairs, one)).alias(one) for one in SIDES)
    return side.frame.toDF(*own).select(F.struct(*key).alias("key"), *sides)


def _row_type(pairs: Sequence[_Pair], side: str) -> t.StructType:
    return t.StructType([t.StructField(pair.place, held(pair.type_of(side))) for pair in pairs])


def _grouped(rows: DataFrame) -> DataFrame:
    return rows.groupBy("key").agg(
        F.count("left").alias("left_rows"),
        F.count("right").alias("right_rows"),
        F.first("left", ignorenulls=True).alias("left"),
        F.first("right", ignorenulls=True).alias("right"),
    )


def _found(names: Sequence[str], keys: Sequence[_Pair], pairs: Sequence[_Pair]) -> Value:
    """All findings of a key."""
    left, right = F.col("left_rows"), F.col("right_rows")
    left_key, right_key = (_key_text(names, keys, side) for side in SIDES)
    found = [
        F.when(right == 0, _finding(ONLY_LEFT, left_key)),
        F.when(left == 0, _finding(ONLY_RIGHT, right_key)),
        F.when(left > 1, _finding(REPEATED_LEFT, left_key)),
        F.when(right > 1, _finding(REPEATED_RIGHT, right_key)),
    ]
    found += [_difference(pair, left_key, (left == 1) & (right == 1)) for pair in pairs if pair not in keys]
    return F.filter(F.array(*found), lambda one: one.isNotNull())


def _key_text(names: Sequence[str], keys: Sequence[_Pair], side: str) -> Value:
    texts = (shown(F.col(side)[pair.place], pair.type_of(side)).alias(name) for name, pair in zip(names, keys, strict=True))
    return F.to_json(F.struct(*texts), {"ignoreNullFields": "false"})


def _difference(pair: _Pair, key: Value, one_of_each: Value) -> Value:
    left, right = (F.col(side)[pair.place] for side in SIDES)
    one, other = pair.form(left, LEFT), pair.form(right, RIGHT)
    finding = _finding(DIFFERENT, key, F.lit(pair.name), shown(left, pair.left), shown(right, pair.right))
    return F.when(one_of_each & ~one.eqNullSafe(other), finding)


def _finding(kind: str, key: Value, *values: Value) -> Value:
    """As `Finding.as_row`: column and both values are NULL where a whole row was found."""
    whole = (F.lit(kind), key, *(values or [F.lit(None)] * (len(FINDING_COLUMNS) - 2)))
    return F.struct(*whole).cast(_FINDING)


def _counts() -> list[Value]:
    kinds = (F.sum(F.size(F.filter("found", _is_of(kind)))).alias(kind) for kind in KINDS)
    return [F.sum("left_rows").alias("left_rows"), F.sum("right_rows").alias("right_rows"), *kinds]


def _is_of(kind: str) -> Callable[[Value], Value]:
    return lambda finding: finding["kind"] == kind
