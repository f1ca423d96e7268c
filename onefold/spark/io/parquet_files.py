"""Rows of a folder of Parquet files: of one schema, or of several that widen to one without any loss."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from onefold.core.errors import InvalidInput
from onefold.core.names import fold_case
from onefold.schema.columns import Column, Schema
from onefold.schema.common_type import join
from onefold.schema.types import Array, Scalar, Struct, Type
from onefold.spark.io.filesystem import Folder, FolderEntry
from onefold.spark.io.frames import LandedFrame
from onefold.spark.io.json_files import file_reader
from onefold.spark.io.partitions import Partitions
from onefold.spark.io.spark_form import in_spark_form
from onefold.spark.values.casts import converted

_CANNOT_MERGE = ("CANNOT_MERGE_SCHEMAS", "COLUMN_ALREADY_EXISTS")
"""Spark's errors about types that differ, and about fields of structs whose names differ in case."""

_PARALLEL_FOOTERS = 8
"""The number of footers that are read at the same time, each by a small job of Spark."""

# Within a family each type holds every value of the types before it, so widening changes no value.
_FAMILIES = (("INT64", "NUMERIC", "BIGNUMERIC"), ("DATE", "DATETIME", "TIMESTAMP"))


@dataclass(frozen=True)
class _Group:
    """The rows of all files with one schema, and the first of these files."""

    frame: LandedFrame
    file: str


def read_parquet(spark: SparkSession, uri: str, entries: Sequence[FolderEntry], partitions: Partitions) -> LandedFrame:
    """Return the rows of a folder in Spark form.

    Args:
        spark: the session.
        uri: the folder, or a single file.
        entries: the files that hold rows.
        partitions: the columns that the names of folders give.

    Raises:
        InvalidInput: a column has types in two files of which neither holds all values of the other; it names both files.
        PySparkException: Spark cannot read the files for another reason.
        Py4JJavaError: Java cannot read the files for another reason.
    """
    try:
        rows = file_reader(spark).option("mergeSchema", "true").parquet(uri)
    except (PySparkException, Py4JJavaError) as error:
        if not any(name in str(error) for name in _CANNOT_MERGE):
            raise
    else:
        return in_spark_form(uri, rows, partitions)
    groups = list(_groups(spark, uri, entries, partitions))
    problems = list(dict.fromkeys(problem for name in _names(groups) for problem in _problems(uri, name, groups)))
    if problems:
        raise InvalidInput(problems)
    return _united(uri, groups, partitions)


def _groups(spark: SparkSession, uri: str, entries: Sequence[FolderEntry], partitions: Partitions) -> Iterator[_Group]:
    """Read the files of each schema together: Spark cannot merge two types of a column, not even two whole numbers."""
    files = _files(spark, uri, entries)
    with ThreadPoolExecutor(_PARALLEL_FOOTERS) as pool:
        schemas = list(pool.map(lambda file: spark.read.parquet(file).schema, files))
    by_schema: dict[str, tuple[t.StructType, list[str]]] = {}
    for file, schema in zip(files, schemas, strict=True):
        by_schema.setdefault(schema.json(), (schema, []))[1].append(file)
    for schema, same in by_schema.values():
        rows = spark.read.schema(schema).parquet(*same)
        yield _Group(in_spark_form(uri, rows, partitions), same[0])


def _files(spark: SparkSession, uri: str, entries: Sequence[FolderEntry]) -> list[str]:
    folder = Folder(spark, uri)
    root = folder.qualified()
    if len(entries) == 1 and root.endswith(f"/{entries[0].path}"):  # a single file, which is its own entry
        return [root]
    return [f"{root}/{entry.path}" for entry in entries]


def _names(groups: Sequence[_Group]) -> list[str]:
    return list(dict.fromkeys(fold_case(column.name) for group in groups for column in group.frame.columns))


def _problems(uri: str, name: str, groups: Sequence[_Group]) -> Iterator[str]:
    typed = [(group.file, column) for group in groups if (column := group.frame.columns.get(name))]
    for (first, column), (file, other) in itertools.combinations(typed, 2):
        if not _widens(column.type, other.type):
            yield (
                f"{uri}: expected types of the column {column.name} of which one holds all values, got {column.type} in "
                f"{first} and {other.type} in {file}: put them into folders of their own, which are versions of the table"
            )
            return


def _widens(one: Type, other: Type) -> bool:
    """Return whether one of two types holds every value of both, exactly."""
    match one, other:
        case Array(), Array():
            return _widens(one.element, other.element)
        case Struct(), Struct():
            pairs = ((field, other.get(field.name)) for field in one.fields)
            return all(same is None or _widens(field.type, same.type) for field, same in pairs)
        case Scalar(), Scalar():
            return one == other or any({one.name, other.name} <= {*family} for family in _FAMILIES)
    return one == other


def _united(uri: str, groups: Sequence[_Group], partitions: Partitions) -> LandedFrame:
    """Widen the values of every file to the least common types; a column that a file lacks is NULL there."""
    joined: dict[str, Column] = {}
    for column in (column for group in groups for column in group.frame.columns):
        known = joined.setdefault(fold_case(column.name), column)
        joined[fold_case(column.name)] = Column(known.name, join(known.type, column.type))
    columns = Schema(joined.values())
    parts = (group.frame.rows.select(*converted(group.frame.columns, columns)) for group in groups)
    return LandedFrame(uri, functools.reduce(DataFrame.unionByName, parts), columns, partitions.empty)
