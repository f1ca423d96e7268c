"""Conversion of a held value from the type in which it landed to another, in one step, as `onefold.schema.casts` has it.

Spark makes the conversions upwards in the type tree, DATETIME read as UTC. All others are left to BigQuery, which makes
them before Spark reads: narrowing, named time zones, GEOGRAPHY within JSON. The session's time zone must be UTC, as
`onefold.spark.session` sets it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.core.errors import SchemaConflict
from onefold.core.names import fold_case
from onefold.schema.columns import Column
from onefold.schema.common_type import is_at_or_below
from onefold.schema.types import JSON, STRING, Array, Field, Scalar, Struct, Type
from onefold.spark.columns import named
from onefold.spark.values.json_text import json_text
from onefold.spark.values.text import text
from onefold.spark.values.types import held

_GEOGRAPHY = Scalar("GEOGRAPHY")


def can_convert(source: Type, target: Type) -> bool:
    """Whether Spark makes this conversion."""
    if source == target:
        return True
    if isinstance(target, Array):
        return can_convert(source.element if isinstance(source, Array) else source, target.element)
    if isinstance(source, Struct) and isinstance(target, Struct):
        landed = _by_name(source)
        pairs = ((landed.get(fold_case(field.name)), field) for field in target.fields)
        return all(old is None or can_convert(old.type, field.type) for old, field in pairs)
    if isinstance(source, Struct | Array):
        return target in (JSON, STRING) and not _holds_geography(source)
    return is_at_or_below(source, target)


def convert(x: Value, source: Type, target: Type) -> Value:
    """The value held as `target` for the value `x` held as `source`.

    Raises:
        SchemaConflict: Spark does not make this conversion.
    """
    if not can_convert(source, target):
        raise SchemaConflict(f"{source} to {target}: only BigQuery converts this; read it from a table of BigQuery")
    return _convert(x, source, target)


def _convert(x: Value, source: Type, target: Type) -> Value:
    if source == target:
        return x
    if isinstance(target, Array):
        return _to_array(x, source, target)
    if isinstance(source, Struct) and isinstance(target, Struct):
        return _to_struct(x, source, target)
    if isinstance(source, Struct | Array):
        return json_text(x, source)
    return _to_scalar(x, str(source), target)


def _to_array(x: Value, source: Type, target: Array) -> Value:
    none = F.array().cast(held(target))
    if isinstance(source, Array):
        return F.coalesce(F.transform(x, lambda e: _convert(e, source.element, target.element)), none)
    return F.when(x.isNull(), none).otherwise(F.array(_convert(x, source, target.element)))


def _to_struct(x: Value, source: Struct, target: Struct) -> Value:
    landed = _by_name(source)
    values = (_field(x, landed.get(fold_case(field.name)), field).alias(field.name) for field in target.fields)
    return F.when(x.isNotNull(), F.struct(*values))


def _field(x: Value, source: Field | None, target: Field) -> Value:
    if source is None:
        return F.lit(None).cast(held(target.type))
    return _convert(x.getField(source.name), source.type, target.type)


def _to_scalar(x: Value, source: str, target: Type) -> Value:
    if target == STRING:
        return text(x, source)
    if target == Scalar("BIGNUMERIC"):
        return text(x if source == "NUMERIC" else x.cast("bigint"), "NUMERIC" if source == "NUMERIC" else "INT64")
    return x.cast(held(target))


def _by_name(struct: Struct) -> dict[str, Field]:
    return {fold_case(field.name): field for field in struct.fields}


def _holds_geography(type_: Type) -> bool:
    match type_:
        case Array(element):
            return _holds_geography(element)
        case Struct(fields):
            return any(_holds_geography(field.type) for field in fields)
        case _:
            return type_ == _GEOGRAPHY


def converted(landed: Sequence[Column], unified: Sequence[Column]) -> list[Value]:
    """The values of the unified columns, each converted in one step from the type in which it landed, or NULL."""
    sources = {fold_case(column.name): column for column in landed}
    return [_converted(sources.get(fold_case(column.name)), column) for column in unified]


def _converted(source: Column | None, target: Column) -> Value:
    value = convert(named(source.name), source.type, target.type) if source else F.lit(None).cast(held(target.type))
    return value.alias(target.name)
