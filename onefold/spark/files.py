"""Rows from a folder of Parquet or JSON lines, or from one such file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as t

from onefold.changelog import METADATA
from onefold.errors import InvalidInput
from onefold.names import fold_case
from onefold.spark.changes import Landed
from onefold.spark.expressions import named
from onefold.spark.filesystem import Entry, Folder
from onefold.spark.types import columns_of, normalized

_KINDS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".ndjson": "json"}

_METADATA = ("uuid", "source_timestamp", "change_sequence_number", "change_type", "sort_keys")
_TIME = "source_timestamp"
_TEXTS = {"sort_keys": t.ArrayType(t.StringType())}


def read_folder(spark: SparkSession, uri: str, wanted: Sequence[str] = ()) -> Landed:
    """Its rows in held form. A folder is one version: all of its files have the same columns, as far as they have them.

    Args:
        wanted: columns that are of use even where they hold no value.

    Raises:
        InvalidInput: there are no rows, or not of one kind, or they cannot be read.
    """
    kind = _kind(uri, rows_in(Folder(spark, uri)))
    try:
        frame = _reader(spark).option("mergeSchema", "true").parquet(uri) if kind == "parquet" else _read_json(spark, uri)
        empty = _empty_columns(spark, uri, frame, wanted) if kind == "json" else frozenset()
    except PySparkException as error:
        raise InvalidInput(f"{uri} cannot be read: {_first_line(error)}") from error
    return in_held_form(uri, frame, empty)


def _reader(spark: SparkSession) -> DataFrameReader:
    return spark.read.option("recursiveFileLookup", "true")


def rows_in(folder: Folder) -> list[Entry]:
    """The files that hold rows."""
    return [entry for entry in folder.files() if not entry.hidden]


def in_held_form(name: str, frame: DataFrame, empty: frozenset[str] = frozenset()) -> Landed:
    try:
        columns = columns_of(frame.schema)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {fault}" for fault in error.faults) from error
    values = (normalized(named(field.name), field.dataType).alias(field.name) for field in frame.schema.fields)
    return Landed(name, frame.select(*values), columns, empty)


def _kind(uri: str, entries: Sequence[Entry]) -> str:
    if not entries:
        raise InvalidInput(f"{uri}: there is no such file, or no file of rows in the folder")
    kinds = {_KINDS.get(_suffix(entry.path)) for entry in entries}
    kind = next(iter(kinds))
    if len(kinds) > 1 or kind is None:
        found = ", ".join(sorted({_suffix(entry.path) or entry.path for entry in entries}))
        raise InvalidInput(f"{uri}: rows come in files of one kind of {', '.join(_KINDS)}; found {found}")
    return kind


def _suffix(path: str) -> str:
    plain = path.removesuffix(".gz")
    return plain[plain.rfind(".") :] if "." in plain.rsplit("/", 1)[-1] else ""


def _read_json(spark: SparkSession, uri: str) -> DataFrame:
    """Numbers are exact, text is text (no guessing of times), and a line that is no JSON is an error, not a row of NULLs."""
    strict = _reader(spark).option("mode", "FAILFAST").option("prefersDecimal", "true")
    found = {field.name: field.dataType for field in strict.option("dropFieldIfAllNull", "true").json(uri).schema.fields}
    metadata = next((name for name in found if fold_case(name) == METADATA), None)
    if metadata is None or not isinstance(found[metadata], t.StructType):
        return strict.schema(_in_order(spark, uri, found)).json(uri)
    # Some of its fields may hold no value in this folder; and JSON may hold the time as text.
    found[metadata] = t.StructType([t.StructField(name, _TEXTS.get(name, t.StringType())) for name in _METADATA])
    frame = strict.schema(_in_order(spark, uri, found)).json(uri)
    whole = named(metadata)
    with_time = whole.withField(_TIME, whole.getField(_TIME).cast("bigint"))
    return frame.withColumn(metadata, F.when(whole.isNotNull(), with_time))


def _in_order(spark: SparkSession, uri: str, types: Mapping[str, t.DataType]) -> t.StructType:
    """Spark sorts the fields that it finds: those of the first line come as they stand there."""
    first = _reader(spark).text(uri).first()
    written = json.loads(first[0]) if first else {}
    names = [name for name in written if name in types] + [name for name in types if name not in written]
    return t.StructType([t.StructField(name, types[name]) for name in names])


def _empty_columns(spark: SparkSession, uri: str, frame: DataFrame, wanted: Sequence[str]) -> frozenset[str]:
    """Those of the wanted columns that are written in the file, always as NULL."""
    known = {fold_case(name) for name in frame.columns}
    missing = {fold_case(name) for name in wanted} - known
    if not missing:
        return frozenset()
    written = _reader(spark).option("dropFieldIfAllNull", "false").json(uri).columns
    return frozenset(missing & {fold_case(name) for name in written})


def _first_line(error: PySparkException) -> str:
    return (error.getMessage() or str(error)).strip().splitlines()[0]
