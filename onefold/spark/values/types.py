"""The Spark form of BigQuery's types: the Spark type that represents each of them, and the BigQuery types of files' columns.

Values that no Spark type represents exactly are text: the text that BigQuery's conversion to STRING gives. Each BigQuery
type has exactly one Spark form, wherever a value comes from, so that expressions handle one form only.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column as Value
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as t

from onefold.core.errors import InvalidColumns, InvalidType
from onefold.core.names import fold_case
from onefold.schema.columns import Column, Schema
from onefold.schema.types import STRING, Array, Field, Range, Scalar, Struct, Type
from onefold.spark.values.text import decimal_text

NUMERIC = t.DecimalType(38, 9)
_WHOLE_DIGITS_OF_NUMERIC = 29

_SPARK_TYPES: dict[str, t.DataType] = {
    "STRING": t.StringType(),
    "BYTES": t.BinaryType(),
    "BOOL": t.BooleanType(),
    "INT64": t.LongType(),
    "NUMERIC": NUMERIC,
    "FLOAT64": t.DoubleType(),
    "DATE": t.DateType(),
    "DATETIME": t.TimestampNTZType(),
    "TIMESTAMP": t.TimestampType(),
}
"""The Spark form of all other types without parts is text."""

_BIGQUERY_TYPES: dict[type[t.DataType], str] = {
    t.StringType: "STRING",
    t.CharType: "STRING",
    t.VarcharType: "STRING",
    t.NullType: "STRING",
    t.BinaryType: "BYTES",
    t.BooleanType: "BOOL",
    t.ByteType: "INT64",
    t.ShortType: "INT64",
    t.IntegerType: "INT64",
    t.LongType: "INT64",
    t.FloatType: "FLOAT64",
    t.DoubleType: "FLOAT64",
    t.DateType: "DATE",
    t.TimestampNTZType: "DATETIME",
    t.TimestampType: "TIMESTAMP",
}


def spark_type(type_: Type) -> t.DataType:
    """Return the Spark type that represents a BigQuery type.

    Examples:
        >>> spark_type(Array(Scalar("INT64"))).simpleString(), spark_type(Scalar("JSON")).simpleString()
        ('array<bigint>', 'string')
    """
    match type_:
        case Array(element):
            return t.ArrayType(spark_type(element))
        case Struct(fields):
            return t.StructType([t.StructField(field.name, spark_type(field.type)) for field in fields])
        case Range():
            return t.StringType()
        case Scalar(name):
            return _SPARK_TYPES.get(name, t.StringType())


def is_text_in_spark(type_: Type) -> bool:
    """Return whether the Spark form of a type other than STRING is text."""
    return isinstance(type_, Range) or (isinstance(type_, Scalar) and type_.name not in _SPARK_TYPES)


def text_type(type_: Type) -> Type:
    """Return the type as which BigQuery has to deliver a value for Spark: STRING where the Spark form is text."""
    match type_:
        case Array(element):
            return Array(text_type(element))  # type: ignore[arg-type]  # no array goes in, so none comes out
        case Struct(fields):
            return Struct(tuple(Field(field.name, text_type(field.type)) for field in fields))
        case _:
            return STRING if is_text_in_spark(type_) else type_


def type_of(data_type: t.DataType) -> Type:
    """Return the BigQuery type of a Spark type that was found in a file.

    Raises:
        InvalidType: BigQuery has no type for parts of it; the text lists each of them by its path.
    """
    problems = list(_problems("", data_type))
    if problems:
        raise InvalidType(problems)
    return _type_of(data_type)


def columns_of(schema: t.StructType) -> Schema:
    """Return the columns of a file with their BigQuery types.

    Raises:
        InvalidColumns: BigQuery has no type for columns, or parts of them; the text lists each of them by its path.
    """
    problems = [problem for field in schema.fields for problem in _problems(field.name, field.dataType)]
    problems += _repeated("the columns", schema)
    if problems:
        raise InvalidColumns(problems)
    return Schema(Column(field.name, _type_of(field.dataType)) for field in schema.fields)


def normalized(x: Value, data_type: t.DataType) -> Value:
    """Return a value of a file in the Spark form of its BigQuery type; NULL stays NULL."""
    if data_type.simpleString() == spark_type(_type_of(data_type)).simpleString():
        return x  # rebuilding the value would cost a lambda for each array
    match data_type:
        case t.ArrayType():
            return F.transform(x, lambda element: normalized(element, data_type.elementType))
        case t.MapType():
            return normalized(F.map_entries(x), _entries(data_type))
        case t.StructType():
            fields = (normalized(x.getField(f.name), f.dataType).alias(f.name) for f in data_type.fields)
            return F.when(x.isNotNull(), F.struct(*fields))
        case t.DecimalType() if not _fits_numeric(data_type):
            return decimal_text(x)
        case _:
            return x.cast(spark_type(_type_of(data_type)))


def _type_of(data_type: t.DataType) -> Type:
    match data_type:
        case t.ArrayType():
            return Array(_type_of(data_type.elementType))  # type: ignore[arg-type]  # arrays of arrays are refused
        case t.MapType():
            return _type_of(_entries(data_type))
        case t.StructType():
            return Struct(tuple(Field(field.name, _type_of(field.dataType)) for field in data_type.fields))
        case t.DecimalType():
            return Scalar("NUMERIC" if _fits_numeric(data_type) else "BIGNUMERIC")
        case _:
            return Scalar(_BIGQUERY_TYPES[type(data_type)])


def _entries(map_: t.MapType) -> t.ArrayType:
    entry = t.StructType([t.StructField("key", map_.keyType), t.StructField("value", map_.valueType)])
    return t.ArrayType(entry)


def _fits_numeric(decimal: t.DecimalType) -> bool:
    return decimal.scale <= NUMERIC.scale and decimal.precision - decimal.scale <= _WHOLE_DIGITS_OF_NUMERIC


def _problems(path: str, data_type: t.DataType) -> Iterator[str]:
    match data_type:
        case t.ArrayType():
            yield from _problems(path, data_type.elementType)
            if isinstance(data_type.elementType, t.ArrayType | t.MapType):
                yield f"{_subject(path)} an array of arrays, which BigQuery cannot store: wrap the inner array in a struct"
        case t.MapType():
            yield from _problems(path, _entries(data_type))
        case t.StructType():
            if not data_type.fields:
                yield f"{_subject(path)} a struct without fields, which BigQuery cannot store: leave it out"
            yield from _repeated(path, data_type)
            for field in data_type.fields:
                yield from _problems(f"{path}.{field.name}".lstrip("."), field.dataType)
        case t.DecimalType():
            pass
        case _ if type(data_type) not in _BIGQUERY_TYPES:
            yield f"{_subject(path)} {data_type.simpleString()}, which is no type of BigQuery: write it as text"


def _subject(path: str) -> str:
    return f"{path} is" if path else "it is"


def _repeated(path: str, struct: t.StructType) -> Iterator[str]:
    seen: set[str] = set()
    for name in struct.fieldNames():
        if fold_case(name) in seen:
            yield f"{path or 'it'}: two fields are named {name}, and BigQuery ignores case: rename one"
        seen.add(fold_case(name))
