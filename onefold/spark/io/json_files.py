"""Rows of a folder of JSON lines. Their types are inferred, and names of fields are compared without case."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as t

from onefold.changelog.metadata import METADATA, METADATA_FIELDS, NEEDED_FIELDS
from onefold.core.errors import InvalidInput
from onefold.core.names import fold_case
from onefold.spark.columns import named

_TIME = "source_timestamp"
_TEXTS = t.ArrayType(t.StringType())
_LINE = "_onefold_line"
"""The column for the text of a line that is no object."""
_SHOWN = 100
"""The number of characters of such a line that an error shows."""

Spellings = dict[str, list[str]]
"""By folded name, all spellings of a field's name in the lines of a folder."""


def file_reader(spark: SparkSession) -> DataFrameReader:
    """Return a reader of every file below a folder; Spark makes no columns of names of folders, `partitions.py` does."""
    return spark.read.option("recursiveFileLookup", "true")


def read_json(spark: SparkSession, uri: str) -> DataFrame:
    """Read numbers exactly and text as text (no text becomes a time); a line that is no JSON is an error, no row of NULLs.

    Raises:
        InvalidInput: names of fields in the same object differ in case alone, and would be one column with half the values.
    """
    found = {field.name: field.dataType for field in _json_schema(_strict(spark), uri, spark).fields}
    metadata = next((name for name in found if fold_case(name) == METADATA), None)
    problems = list(_spelled_twice(uri, "", _struct(found), but=metadata))
    if problems:
        raise InvalidInput(problems)
    type_ = found.get(metadata or "")
    if metadata is None or not isinstance(type_, t.StructType):
        return _objects(spark, uri, found)
    return _with_metadata(spark, uri, found, metadata, type_)


def _strict(spark: SparkSession) -> DataFrameReader:
    return file_reader(spark).option("mode", "FAILFAST").option("dropFieldIfAllNull", "true")


def _with_metadata(
    spark: SparkSession, uri: str, found: dict[str, t.DataType], metadata: str, type_: t.StructType
) -> DataFrame:
    """Read the fields of `datastream_metadata` by their names without case; unknown fields are left out.

    A field of a wrong type keeps that type, and a field that no line has is missing: the change format reports both.

    Args:
        spark: the session.
        uri: the folder.
        found: the inferred types of all fields by name.
        metadata: the spelling of `datastream_metadata` in the files.
        type_: the inferred type of that field.
    """
    spellings = _spellings(type_)
    if not spellings.keys() >= set(NEEDED_FIELDS):
        written = _json_schema(_strict(spark).option("dropFieldIfAllNull", "false"), uri, spark)[metadata].dataType
        spellings = {**_spellings(written), **spellings} if isinstance(written, t.StructType) else spellings
    types = {field.name: field.dataType for field in type_.fields}
    if not spellings.keys() >= set(NEEDED_FIELDS) and all(len(names) == 1 for names in spellings.values()):
        return _objects(spark, uri, found)  # unchanged, so that the error shows the fields that exist
    known = [name for name in METADATA_FIELDS if name in spellings]
    if all(len(spellings[name]) == 1 for name in known):
        inner = [t.StructField(spellings[name][0], _read_as(name, types.get(spellings[name][0]))) for name in known]
        frame = _objects(spark, uri, {**found, metadata: t.StructType(inner) if inner else t.StringType()})
        fields = {name: named(metadata).getField(spellings[name][0]) for name in known}
    else:
        # Spark treats names that differ in case as one field and reads only one spelling: so the object is read as text.
        frame = _objects(spark, uri, {**found, metadata: t.StringType()})
        texts = F.from_json(named(metadata), "map<string, string>")
        fields = {name: _only_value(name, [texts[spelled] for spelled in spellings[name]]) for name in known}
        if "sort_keys" in fields:
            fields["sort_keys"] = F.from_json(fields["sort_keys"], _TEXTS)
    values = (_as_metadata(name, value, frame).alias(name) for name, value in fields.items())
    return frame.withColumn(metadata, F.when(named(metadata).isNotNull(), F.struct(*values))) if known else frame


def _read_as(name: str, found: t.DataType | None) -> t.DataType:
    """Return the type to read a field as: JSON may hold the time as text, and sort keys as numbers."""
    if name == "sort_keys" and (found is None or (isinstance(found, t.ArrayType) and _is_scalar(found.elementType))):
        return _TEXTS
    return found or t.StringType()


def _is_scalar(type_: t.DataType) -> bool:
    return not isinstance(type_, t.ArrayType | t.StructType)


def _only_value(name: str, spelled: Sequence[Value]) -> Value:
    """Return the value of a field that a folder spells in several ways."""
    values = F.array_compact(F.array_distinct(F.array(*spelled)))
    words = f": expected one value of {METADATA}.{name}, got several that differ in the case of the name: write one"
    return F.when(F.size(values) > 1, F.raise_error(F.concat(F.input_file_name(), F.lit(words)))).otherwise(
        F.get(values, F.lit(0))
    )


def _as_metadata(name: str, value: Value, frame: DataFrame) -> Value:
    type_ = frame.select(value).schema[0].dataType
    if name == _TIME and isinstance(type_, t.StringType):
        return value.cast("bigint")
    return value


def _spellings(type_: t.StructType) -> Spellings:
    found: Spellings = {}
    for field in type_.fields:
        found.setdefault(fold_case(field.name), []).append(field.name)
    return found


def _struct(types: Mapping[str, t.DataType]) -> t.StructType:
    return t.StructType([t.StructField(name, type_) for name, type_ in types.items()])


def _spelled_twice(uri: str, path: str, type_: t.DataType, but: str | None = None) -> Iterator[str]:
    """Yield an error for fields whose names differ in case alone, except within the field `but`."""
    match type_:
        case t.ArrayType():
            yield from _spelled_twice(uri, path, type_.elementType)
        case t.StructType():
            for names in _spellings(type_).values():
                if len(names) > 1:
                    paths = " and ".join(f"{path}{name}" for name in names)
                    yield f"{uri}: expected one spelling of a field, got {paths}: write one, since BigQuery ignores case"
            for field in type_.fields:
                if field.name != but:
                    yield from _spelled_twice(uri, f"{path}{field.name}.", field.dataType)


def _objects(spark: SparkSession, uri: str, types: Mapping[str, t.DataType]) -> DataFrame:
    """Read a row from each line except `null`, as which Kafka's tombstones are written."""
    schema = _in_order(spark, uri, types)
    if not types:
        return file_reader(spark).schema(schema).json(uri).limit(0)
    reader = file_reader(spark).schema(schema.add(_LINE, t.StringType())).option("columnNameOfCorruptRecord", _LINE)
    rows = reader.json(uri)
    line = named(_LINE)
    problem = F.raise_error(F.concat(F.input_file_name(), F.lit(": no row: "), line.substr(1, _SHOWN)))
    is_row = F.when(line.isNull(), True).when(F.trim(line) == "null", False).otherwise(problem)
    return rows.where(is_row).drop(_LINE)


@contextmanager
def _with_case(spark: SparkSession) -> Iterator[None]:
    """Let Spark tell names apart by case while it infers types: else it keeps one spelling and loses the other's values."""
    name = "spark.sql.caseSensitive"
    before = spark.conf.get(name) or "false"
    spark.conf.set(name, "true")
    try:
        yield
    finally:
        spark.conf.set(name, before)


def _json_schema(reader: DataFrameReader, uri: str, spark: SparkSession) -> t.StructType:
    """Infer a schema with fractions as decimals.

    Spark infers twice, because its option for decimals would also turn text of digits into decimals.
    """
    with _with_case(spark):
        plain = reader.json(uri).schema
        if not _holds_fractions(plain):
            return plain
        try:
            exact = reader.option("prefersDecimal", "true").json(uri).schema
        # 1e20 has a negative scale, which Spark's decimals do not allow, and NaN is no decimal.
        except (PySparkException, Py4JJavaError):
            return plain
        finally:
            reader.option("prefersDecimal", "false")
    merged = _with_decimals(plain, exact)
    return merged if isinstance(merged, t.StructType) else plain


def _holds_fractions(type_: t.DataType) -> bool:
    match type_:
        case t.StructType():
            return any(_holds_fractions(field.dataType) for field in type_.fields)
        case t.ArrayType():
            return _holds_fractions(type_.elementType)
        case _:
            return type_ == t.DoubleType()


def _with_decimals(plain: t.DataType, exact: t.DataType) -> t.DataType:
    """Return the plain type with a decimal in place of each DOUBLE whose values all are exact as a decimal."""
    if isinstance(plain, t.StructType) and isinstance(exact, t.StructType):
        found = {field.name: field.dataType for field in exact.fields}
        fields = [(field.name, _with_decimals(field.dataType, found.get(field.name, field.dataType))) for field in plain]
        return t.StructType([t.StructField(name, type_) for name, type_ in fields])
    if isinstance(plain, t.ArrayType) and isinstance(exact, t.ArrayType):
        return t.ArrayType(_with_decimals(plain.elementType, exact.elementType))
    return exact if plain == t.DoubleType() and isinstance(exact, t.DecimalType) else plain


def _in_order(spark: SparkSession, uri: str, types: Mapping[str, t.DataType]) -> t.StructType:
    """Return the types as a struct with the fields of the first line in their order; Spark sorts inferred fields by name."""
    first = file_reader(spark).text(uri).where("trim(value) LIKE '{%'").first()
    written = list(json.loads(first[0])) if first else []
    names = [name for name in written if name in types] + [name for name in types if name not in written]
    return t.StructType([t.StructField(name, types[name]) for name in names])


def empty_columns(spark: SparkSession, uri: str, frame: DataFrame, expected: Sequence[str]) -> frozenset[str]:
    """Return the folded names of the expected columns that are written in the files, always as NULL.

    Args:
        spark: the session.
        uri: the folder.
        frame: the rows as they were read, without columns that hold no value.
        expected: names of columns.
    """
    known = {fold_case(name) for name in frame.columns}
    missing = {fold_case(name) for name in expected} - known
    if not missing:
        return frozenset()
    with _with_case(spark):
        written = file_reader(spark).option("dropFieldIfAllNull", "false").json(uri).columns
    return frozenset(missing & {fold_case(name) for name in written})
