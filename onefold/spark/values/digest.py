"""The digest of a row as it landed, as `onefold.changelog.digest` takes it, over columns in the form of Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as t

from onefold.changelog.digest import LENGTH, field_label
from onefold.core.names import fold_case
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Array, Type
from onefold.spark.columns import named
from onefold.spark.values.casts import can_convert, convert
from onefold.spark.values.python_text import handed_type, is_written_by_python, text_writer
from onefold.spark.values.types import held

_SHA = 256
_SHORT_LENGTHS = " ".join(f"{length}:" for length in range(128))


def digest(columns: Sequence[Column]) -> Value:
    """The digest of a frame's row, taken over its columns of these names."""
    by_name = sorted(columns, key=lambda column: fold_case(column.name))
    pieces = (_piece(fold_case(column.name), text(named(column.name), column.type)) for column in by_name)
    return F.substring(F.sha2(F.concat(F.lit(""), *pieces), _SHA), 1, LENGTH)


def text(x: Value, type_: Type) -> Value:
    """A value's text, NULL for NULL and for an array without elements."""
    if is_written_by_python(type_) and can_convert(type_, STRING if not isinstance(type_, Array) else Array(STRING)):
        handed = x.cast(held(handed_type(type_)))
        return F.udf(lambda value: text_writer(type_)(value), t.StringType())(handed)
    if not isinstance(type_, Array):
        return convert(x, type_, STRING)
    texts = F.transform(x, lambda e: F.coalesce(_with_length(convert(e, type_.element, STRING)), F.lit("-")))
    return F.nullif(F.array_join(texts, ""), F.lit(""))


def _piece(name: str, value: Value) -> Value:
    return F.coalesce(F.concat(F.lit(field_label(name)), *_length_first(value)), F.lit(""))


def _with_length(value: Value) -> Value:
    return F.concat(*_length_first(value))


def _length_first(value: Value) -> tuple[Value, ...]:
    length = F.length(value)
    # To look up short lengths, which most are, takes a fraction of the time of writing each one out.
    looked_up = F.get(F.split(F.lit(_SHORT_LENGTHS), " "), length)
    return F.coalesce(looked_up, F.concat(length.cast("string"), F.lit(":"))), value
