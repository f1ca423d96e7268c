"""Rows from a folder of Parquet or JSON lines, or from one such file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
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
from onefold.spark.malformed import malformed_line
from onefold.spark.types import columns_of, normalized

_KINDS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".ndjson": "json"}

_METADATA = ("uuid", "source_timestamp", "change_sequence_number", "change_type", "sort_keys")
_TIME = "source_timestamp"
_COMPLAINTS = (
    "FAILED_READ_FILE", "MALFORMED", "INVALID_JSON_RECORD_TYPE", "is not a Parquet file", "CAST_INVALID_INPUT",
    "USER_RAISED_EXCEPTION",
)  # fmt: skip
_CAUSE = "Caused by: "
_TEXTS = {"sort_keys": t.ArrayType(t.StringType())}
_LINE = "_onefold_line"
"""A line that holds no object, as it stands there."""
_SHOWN = 100
"""Letters of such a line that an error tells."""


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Spark's complaint of what is in a file, which often comes only when the rows are wanted."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        told = complaint(str(error))
        if told is None:
            raise
        raise InvalidInput(f"{what} cannot be read: {told}") from error


def complaint(text: str) -> str | None:
    """What Spark complains of in what it read, which names the file, and the cause, which names the fault in it."""
    lines = text.splitlines()
    first = next((line for line in lines if any(name in line for name in _COMPLAINTS)), None)
    if first is None:
        return None
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    return "; ".join(dict.fromkeys(_without_class(line) for line in (first, *causes[-1:])))


def _without_class(line: str) -> str:
    """From the name that Spark gave the fault; without one, without the name of Java's class."""
    found = re.search(r"\[[A-Z][A-Z_.]+\]", line)
    return line[found.start() :].strip() if found else re.sub(r"^[: ]*(\w+\.)+\w+: ", "", line).strip()


def read_folder(spark: SparkSession, uri: str, wanted: Sequence[str] = ()) -> Landed:
    """Its rows in held form. A folder is one version: all of its files have the same columns, as far as they have them.

    Args:
        wanted: columns that are of use even where they hold no value.

    Raises:
        InvalidInput: there are no rows, or not of one kind, or they cannot be read.
    """
    kind = _kind(uri, rows_in(Folder(spark, uri)))
    try:
        with reading(uri):
            frame = (
                _reader(spark).option("mergeSchema", "true").parquet(uri) if kind == "parquet" else _read_json(spark, uri)
            )
            empty = _empty_columns(spark, uri, frame, wanted) if kind == "json" else frozenset()
    except InvalidInput as error:
        if kind == "json" and (line := malformed_line(_reader(spark), uri)):
            raise InvalidInput(f"{line}: not JSON") from error
        raise
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
    strict = _reader(spark).option("mode", "FAILFAST")
    found = {field.name: field.dataType for field in _json_schema(strict, uri).fields}
    metadata = next((name for name in found if fold_case(name) == METADATA), None)
    if metadata is None or not isinstance(found[metadata], t.StructType):
        return _objects(spark, uri, found)
    # Some of its fields may hold no value in this folder; and JSON may hold the time as text.
    found[metadata] = t.StructType([t.StructField(name, _TEXTS.get(name, t.StringType())) for name in _METADATA])
    frame = _objects(spark, uri, found)
    whole = named(metadata)
    with_time = whole.withField(_TIME, whole.getField(_TIME).cast("bigint"))
    return frame.withColumn(metadata, F.when(whole.isNotNull(), with_time))


def _objects(spark: SparkSession, uri: str, types: Mapping[str, t.DataType]) -> DataFrame:
    """A row for each line; `null`, which is what Kafka's tombstones are written as, is none."""
    schema = _in_order(spark, uri, types)
    if not types:
        return _reader(spark).schema(schema).json(uri).limit(0)
    rows = _reader(spark).schema(schema.add(_LINE, t.StringType())).option("columnNameOfCorruptRecord", _LINE).json(uri)
    line = named(_LINE)
    fault = F.raise_error(F.concat(F.input_file_name(), F.lit(": no row: "), line.substr(1, _SHOWN)))
    is_row = F.when(line.isNull(), True).when(F.trim(line) == "null", False).otherwise(fault)
    return rows.where(is_row).drop(_LINE)


def _json_schema(reader: DataFrameReader, uri: str) -> t.StructType:
    """What Spark finds, with fractions as decimals. It would take text of digits for decimals too, so it looks twice."""
    reader = reader.option("dropFieldIfAllNull", "true")
    plain = reader.json(uri).schema
    if not _holds_fractions(plain):
        return plain
    try:
        exact = reader.option("prefersDecimal", "true").json(uri).schema
    except (PySparkException, Py4JJavaError):  # 1e20 has a negative scale, which no decimal of Spark's has; NaN is none
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
    """The plain type, with a decimal wherever that is DOUBLE and all values are exact as one."""
    if isinstance(plain, t.StructType) and isinstance(exact, t.StructType):
        found = {field.name: field.dataType for field in exact.fields}
        fields = [(field.name, _with_decimals(field.dataType, found.get(field.name, field.dataType))) for field in plain]
        return t.StructType([t.StructField(name, type_) for name, type_ in fields])
    if isinstance(plain, t.ArrayType) and isinstance(exact, t.ArrayType):
        return t.ArrayType(_with_decimals(plain.elementType, exact.elementType))
    return exact if plain == t.DoubleType() and isinstance(exact, t.DecimalType) else plain


def _in_order(spark: SparkSession, uri: str, types: Mapping[str, t.DataType]) -> t.StructType:
    """Spark sorts the fields that it finds: those of the first line come as they stand there."""
    first = _reader(spark).text(uri).where("trim(value) LIKE '{%'").first()
    written = list(json.loads(first[0])) if first else []
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
