"""Conversion of a value from the type in which it landed to another, in one step, by the rules of `onefold.schema.casts`.

Spark makes the conversions upwards in the type tree, DATETIME read as UTC. BigQuery makes all others before Spark reads the
values: narrowing, named time zones, GEOGRAPHY within JSON. The session's time zone must be UTC, as `onefold.spark.session`
sets it. All values are in Spark form (`onefold.spark.values.types`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.core.errors import SchemaConflict
from onefold.schema.columns import Column, Schema
from onefold.schema.common_type import is_at_or_below
from onefold.schema.types import JSON, STRING, Array, Field, Scalar, Struct, Type
from onefold.spark.columns import named
from onefold.spark.values.python_text import with_texts
from onefold.spark.values.text import text
from onefold.spark.values.types import spark_type

_GEOGRAPHY = Scalar("GEOGRAPHY")


def can_convert(source: Type, target: Type) -> bool:
    """Return whether Spark makes this conversion."""
    if source == target:
        return True
    if isinstance(target, Array):
        return can_convert(source.element if isinstance(source, Array) else source, target.element)
    if isinstance(source, Struct) and isinstance(target, Struct):
        pairs = ((source.get(field.name), field) for field in target.fields)
        return all(old is None or can_convert(old.type, field.type) for old, field in pairs)
    if isinstance(source, Struct | Array):
        return target in (JSON, STRING) and not _holds_geography(source)
    return is_at_or_below(source, target)


def convert(x: Value, source: Type, target: Type) -> Value:
    """Return the value `x` of the type `source` as a value of the type `target`.

    Args:
        x: a value in the Spark form of `source`.
        source: the type in which the value landed.
        target: the type of the result, which is in the Spark form of that type.

    Raises:
        SchemaConflict: Spark does not make this conversion.
    """
    return convert_rest(with_texts(x, source, target), source, target)


def convert_rest(x: Value, source: Type, target: Type) -> Value:
    """Do what `convert` does, for a value in which Python has written the texts already (`with_texts`).

    Only expressions of Spark are left to do, so that `x` may be the element of an array within a lambda.

    Raises:
        SchemaConflict: Spark does not make this conversion.
    """
    if not can_convert(source, target):
        raise SchemaConflict(
            f"{source} to {target}: only BigQuery makes this conversion: read the rows from a table of BigQuery"
        )
    return _convert(x, source, target)


def _convert(x: Value, source: Type, target: Type) -> Value:
    if source == target:
        return x
    if isinstance(target, Array):
        return _to_array(x, source, target)
    if isinstance(source, Struct) and isinstance(target, Struct):
        return _to_struct(x, source, target)
    if isinstance(source, Struct | Array):
        return x  # Python has written its JSON
    return _to_scalar(x, str(source), target)


def _to_array(x: Value, source: Type, target: Array) -> Value:
    # BigQuery stores no NULL array: NULL becomes an array without elements.
    empty = F.array().cast(spark_type(target))
    if isinstance(source, Array):
        return F.coalesce(F.transform(x, lambda e: _convert(e, source.element, target.element)), empty)
    return F.when(x.isNull(), empty).otherwise(F.array(_convert(x, source, target.element)))


def _to_struct(x: Value, source: Struct, target: Struct) -> Value:
    values = (_field(x, source.get(field.name), field).alias(field.name) for field in target.fields)
    return F.when(x.isNotNull(), F.struct(*values))


def _field(x: Value, source: Field | None, target: Field) -> Value:
    if source is None:
        return F.lit(None).cast(spark_type(target.type))
    return _convert(x.getField(source.name), source.type, target.type)


def _to_scalar(x: Value, source: str, target: Type) -> Value:
    if target == STRING:
        return text(x, source)  # of a FLOAT64 Python has written it
    if target == Scalar("BIGNUMERIC"):  # text in Spark form; BOOL becomes a number first
        return text(x if source == "NUMERIC" else x.cast("bigint"), "NUMERIC" if source == "NUMERIC" else "INT64")
    return x.cast(spark_type(target))


def _holds_geography(type_: Type) -> bool:
    match type_:
        case Array(element):
            return _holds_geography(element)
        case Struct(fields):
            return any(_holds_geography(field.type) for field in fields)
        case _:
            return type_ == _GEOGRAPHY


def converted(landed: Sequence[Column], unified: Sequence[Column]) -> list[Value]:
    """Return the values of the unified columns, each converted in one step from the type in which it landed, or NULL."""
    sources = Schema(landed)
    return [_converted(sources.get(column.name), column) for column in unified]


def _converted(source: Column | None, target: Column) -> Value:
    value = convert(named(source.name), source.type, target.type) if source else F.lit(None).cast(spark_type(target.type))
    return value.alias(target.name)
