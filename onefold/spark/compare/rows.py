"""Row-by-row comparison as a plan of Spark, with the same result as `onefold.compare.rows`.

The rows of both sides go into one frame, and one shuffle brings the rows of each key together. That gives the number of
rows of each side, and if each side has one row, the values that differ.
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
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING, Type
from onefold.spark.compare import text_inputs
from onefold.spark.compare.canonical import comparable, shown
from onefold.spark.values.types import spark_type

_FINDING = t.StructType([t.StructField(name, t.StringType()) for name in FINDING_COLUMNS])
LEFT, RIGHT = SIDES = ("left", "right")
_TRUE = ("true", "t", "1")


@dataclass(frozen=True)
class ComparedSide:
    """Rows in Spark form; the frame has the columns in this order."""

    frame: DataFrame
    columns: Schema


@dataclass(frozen=True)
class SparkComparison:
    """The result of a comparison: one row for each finding. Spark computes the findings when they are written."""

    findings: DataFrame
    counts: Observation
    columns_only: tuple[tuple[str, ...], tuple[str, ...]]

    def summary(self) -> Summary:
        """Return the counts. Call this after the findings were written: before that, the call never returns."""
        counts = {name: int(count or 0) for name, count in self.counts.get.items()}
        return Summary(
            (counts["left_rows"], counts["right_rows"]), self.columns_only, {kind: counts[kind] for kind in KINDS}
        )


@dataclass(frozen=True)
class _Pair:
    """A column that both sides have.

    name: its name on the left side.
    alias: its name in the frames of this module, where no name needs quotes.
    left, right: its types.
    as_text: whether text may represent a value of the other side's type.
    """

    name: str
    alias: str
    left: Type
    right: Type
    as_text: bool

    def type_of(self, side: str) -> Type:
        return self.left if side == LEFT else self.right

    def canonical(self, x: Value, side: str) -> Value:
        """Return the canonical form of a side's value, which is equal to the other side's form if the values are equal."""
        own, other = (self.left, self.right) if side == LEFT else (self.right, self.left)
        if not self.as_text:
            return comparable(x, own, other)
        parsed, parsed_type = text_inputs.parse(x, own, other)
        return comparable(parsed, parsed_type, text_inputs.type_parsed(other, own))


def compare_sides(
    left: ComparedSide, right: ComparedSide, keys: Sequence[str], *, as_text: bool = False, without: Sequence[str] = ()
) -> SparkComparison:
    """Compare two sets of rows; neither the order of rows and columns nor the case of column names makes a difference.

    Args:
        left: the rows of one side.
        right: the rows of the other side.
        keys: the columns that identify a row.
        as_text: whether the values of a side come as text, so that text may represent a value of another type.
        without: columns that are not compared.

    Raises:
        InvalidInput: a column is named that a side does not have.
    """
    check_columns((left.columns.names, right.columns.names), keys, without)
    left, right = _with_columns(left, right, keys), _with_columns(right, left, keys)
    left, right = _as_compared(left, right.columns.names, without), _as_compared(right, left.columns.names, without)
    pairs = list(_pairs(left, right, as_text))
    by_name = {fold_case(pair.name): pair for pair in pairs}
    key_pairs = [by_name[fold_case(key)] for key in keys]
    grouped = _grouped(_rows_of_both(left, right, pairs, key_pairs))
    found = grouped.select("left_rows", "right_rows", _findings(keys, key_pairs, pairs).alias("found"))
    counts = Observation()
    observed = found.observe(counts, *_counts())
    only = tuple(one.columns.minus(other.columns.names).names for one, other in ((left, right), (right, left)))
    return SparkComparison(observed.select(F.inline("found")), counts, (only[0], only[1]))


def _with_columns(side: ComparedSide, other: ComparedSide, keys: Sequence[str]) -> ComparedSide:
    """Give a side without rows, whose files name no columns, the columns of the other side; at least those of the key."""
    columns = side.columns or other.columns or Schema(Column(key, STRING) for key in keys)
    nulls = (F.lit(None).cast(spark_type(column.type)).alias(column.name) for column in columns)
    return side if side.columns else ComparedSide(side.frame.select(*nulls), columns)


def _as_compared(side: ComparedSide, other: Sequence[str], without: Sequence[str]) -> ComparedSide:
    """Leave out the columns that are not compared, and the tombstones of a base that is compared with a plain table."""
    omitted = columns_to_leave_out(side.columns.names, other, without)
    aliases = {f"c{index}": column for index, column in enumerate(side.columns)}
    frame = side.frame.toDF(*aliases)
    if is_base(side.columns.names) and not is_base(other):
        deleted = next(F.col(alias) for alias, column in aliases.items() if fold_case(column.name) == DELETED)
        frame = frame.where(~F.coalesce(F.lower(deleted.cast("string")).isin(*_TRUE), F.lit(False)))
    compared = {alias: column for alias, column in aliases.items() if fold_case(column.name) not in omitted}
    return ComparedSide(frame.select(*compared), Schema(compared.values()))


def _pairs(left: ComparedSide, right: ComparedSide, as_text: bool) -> Iterator[_Pair]:
    for index, column in enumerate(left.columns):
        if same := right.columns.get(column.name):
            yield _Pair(column.name, f"c{index}", column.type, same.type, as_text)


def _rows_of_both(left: ComparedSide, right: ComparedSide, pairs: Sequence[_Pair], keys: Sequence[_Pair]) -> DataFrame:
    """Return the rows of both sides: the canonical key, and the row in the column of its side; the other one is NULL."""
    return _rows(left, pairs, keys, LEFT).unionByName(_rows(right, pairs, keys, RIGHT))


def _rows(side: ComparedSide, pairs: Sequence[_Pair], keys: Sequence[_Pair], name: str) -> DataFrame:
    aliases = {fold_case(pair.name): pair.alias for pair in pairs}
    own = [aliases.get(fold_case(column.name), f"lone{index}") for index, column in enumerate(side.columns)]
    key = (pair.canonical(F.col(pair.alias), name).alias(f"k{index}") for index, pair in enumerate(keys))
    row = F.struct(*(pair.alias for pair in pairs))
    sides = ((row if one == name else F.lit(None)).cast(_row_type(pairs, one)).alias(one) for one in SIDES)
    return side.frame.toDF(*own).select(F.struct(*key).alias("key"), *sides)


def _row_type(pairs: Sequence[_Pair], side: str) -> t.StructType:
    return t.StructType([t.StructField(pair.alias, spark_type(pair.type_of(side))) for pair in pairs])


def _grouped(rows: DataFrame) -> DataFrame:
    return rows.groupBy("key").agg(
        F.count("left").alias("left_rows"),
        F.count("right").alias("right_rows"),
        F.first("left", ignorenulls=True).alias("left"),
        F.first("right", ignorenulls=True).alias("right"),
    )


def _findings(names: Sequence[str], keys: Sequence[_Pair], pairs: Sequence[_Pair]) -> Value:
    """Return all findings of a key as an array."""
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
    texts = (shown(F.col(side)[pair.alias], pair.type_of(side)).alias(name) for name, pair in zip(names, keys, strict=True))
    return F.to_json(F.struct(*texts), {"ignoreNullFields": "false"})


def _difference(pair: _Pair, key: Value, one_of_each: Value) -> Value:
    left, right = (F.col(side)[pair.alias] for side in SIDES)
    is_same = pair.canonical(left, LEFT).eqNullSafe(pair.canonical(right, RIGHT))
    differs = one_of_each & ~is_same
    # Python writes texts for every row, also where none is used: there it gets NULL.
    texts = (shown(F.when(differs, x), type_) for x, type_ in ((left, pair.left), (right, pair.right)))
    return F.when(differs, _finding(DIFFERENT, key, F.lit(pair.name), *texts))


def _finding(kind: str, key: Value, *values: Value) -> Value:
    """Return a finding as `Finding.as_row` does: column and both values are NULL for a finding about a whole row."""
    whole = (F.lit(kind), key, *(values or [F.lit(None)] * (len(FINDING_COLUMNS) - 2)))
    return F.struct(*whole).cast(_FINDING)


def _counts() -> list[Value]:
    kinds = (F.sum(F.size(F.filter("found", _is_of(kind)))).alias(kind) for kind in KINDS)
    return [F.sum("left_rows").alias("left_rows"), F.sum("right_rows").alias("right_rows"), *kinds]


def _is_of(kind: str) -> Callable[[Value], Value]:
    return lambda finding: finding["kind"] == kind
