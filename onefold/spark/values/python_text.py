"""Text of FLOAT64, STRUCT and ARRAY exactly as BigQuery writes it, made by Python in Spark's workers.

Java formats numbers in another way than BigQuery. Python formats them with the C library, as BigQuery does, and has exact
whole numbers of any length.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812

from onefold.core.float_text import float_text
from onefold.schema.types import STRING, Array, Field, Scalar, Struct, Type
from onefold.spark.values.json_text import json_writer
from onefold.spark.values.types import spark_type


def with_texts(x: Value, source: Type, target: Type) -> Value:
    """Return a value with the texts that Python writes for a conversion; it has the type `written_type(source, target)`.

    Spark runs no function of Python for the elements of an array, so one function takes the whole value. A value that needs
    none of these texts is returned as it is.

    Args:
        x: a value in the Spark form of `source`, outside of any lambda.
        source: the type of the value.
        target: the type to which it is converted.
    """
    written = written_type(source, target)
    if written == source:
        return x
    write = F.udf(lambda value: _writer(source, written)(value), spark_type(_python_type(written)))
    return write(x.cast(spark_type(_python_type(source)))).cast(spark_type(written))


def written_type(source: Type, target: Type) -> Type:
    """Return the type `source` with STRING wherever a conversion to `target` needs a text that Python writes.

    Examples:
        >>> from onefold.schema.types import parse_type
        >>> str(written_type(parse_type("STRUCT<a FLOAT64, b DATE>"), parse_type("STRUCT<a STRING, b STRING>")))
        'STRUCT<a STRING, b DATE>'
    """
    match source, target:
        case _ if source == target:
            return source
        case Array(element), Array(other):
            return Array(written_type(element, other))  # type: ignore[arg-type]  # no array goes in, so none comes out
        case _, Array(other):
            return written_type(source, other)
        case Struct(fields), Struct():
            return Struct(tuple(Field(field.name, _written_field(field, target.get(field.name))) for field in fields))
        case (Struct() | Array(), _) | (Scalar("FLOAT64"), Scalar("STRING")):
            return STRING
    return source


def _written_field(source: Field, target: Field | None) -> Type:
    return written_type(source.type, target.type) if target else source.type


def _python_type(type_: Type) -> Type:
    """Return the type as which Spark hands a value to Python: times as text, since Python converts them to its own zone."""
    match type_:
        case Array(element):
            return Array(_python_type(element))  # type: ignore[arg-type]  # no array goes in, so none comes out
        case Struct(fields):
            return Struct(tuple(Field(field.name, _python_type(field.type)) for field in fields))
        case Scalar("DATE" | "DATETIME" | "TIMESTAMP"):
            return STRING
    return type_


@functools.cache
def _writer(source: Type, written: Type) -> Callable[[Any], Any]:
    """Return the function that makes a value of the type `written` from one of the type `source`; None stays None."""
    if source == written:
        return lambda value: value
    write = _writer_of_present(source, written)
    return lambda value: None if value is None else write(value)


def _writer_of_present(source: Type, written: Type) -> Callable[[Any], Any]:
    match source, written:
        case Array(element), Array(other):
            write = _writer(element, other)
            return lambda values: [write(value) for value in values]
        case Struct(fields), Struct(others):
            writers = [_writer(field.type, other.type) for field, other in zip(fields, others, strict=True)]
            return lambda row: tuple(write(value) for write, value in zip(writers, row, strict=True))
    return float_text if source == Scalar("FLOAT64") else json_writer(source)
