"""The digest of a row as it landed, as `onefold.changelog.digest` defines it, over columns in Spark form."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.changelog.digest import LENGTH, field_label
from onefold.core.names import fold_case
from onefold.schema.columns import Column
from onefold.schema.types import STRING, Array, Type
from onefold.spark.columns import named
from onefold.spark.values.casts import convert

_SHA = 256
# The texts of the lengths 0 to 127, each with the colon that ends a length.
_SHORT_LENGTHS = " ".join(f"{length}:" for length in range(128))


def digest(columns: Sequence[Column]) -> Value:
    """Return the digest of a frame's row over these columns."""
    by_name = sorted(columns, key=lambda column: fold_case(column.name))
    pieces = (_piece(fold_case(column.name), text(named(column.name), column.type)) for column in by_name)
    return F.substring(F.sha2(F.concat(F.lit(""), *pieces), _SHA), 1, LENGTH)


def text(x: Value, type_: Type) -> Value:
    """Return a value's text; NULL for NULL and for an array without elements."""
    if not isinstance(type_, Array):
        return convert(x, type_, STRING)
    texts = F.transform(convert(x, type_, Array(STRING)), lambda e: F.coalesce(_with_length(e), F.lit("-")))
    return F.nullif(F.array_join(texts, ""), F.lit(""))


def _piece(name: str, value: Value) -> Value:
    return F.coalesce(F.concat(F.lit(field_label(name)), *_length_first(value)), F.lit(""))


def _with_length(value: Value) -> Value:
    return F.concat(*_length_first(value))


def _length_first(value: Value) -> tuple[Value, ...]:
    length = F.length(value)
    # Most lengths are short, and a look-up of their texts takes a fraction of the time of formatting each number.
    looked_up = F.get(F.split(F.lit(_SHORT_LENGTHS), " "), length)
    return F.coalesce(looked_up, F.concat(length.cast("string"), F.lit(":"))), value
