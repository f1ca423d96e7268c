"""Rows of files in Spark form: each column as the Spark type that represents its BigQuery type."""

from __future__ import annotations

from pyspark.sql import DataFrame

from onefold.core.errors import InvalidInput
from onefold.spark.columns import named
from onefold.spark.io.frames import LandedFrame
from onefold.spark.io.partitions import Partitions
from onefold.spark.values.types import columns_of, normalized


def in_spark_form(name: str, rows: DataFrame, partitions: Partitions, empty: frozenset[str] = frozenset()) -> LandedFrame:
    """Return the rows of a folder in Spark form, with the columns that the names of its folders give.

    Args:
        name: the folder, for errors.
        rows: the rows of its files.
        partitions: the columns that the names of its folders give.
        empty: folded names of columns that are written in the files and have no value at all.

    Raises:
        InvalidInput: BigQuery has no type for some columns; the text lists all of them.
    """
    rows = partitions.added_to(rows)
    try:
        columns = columns_of(rows.schema)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {problem}" for problem in error.problems) from error
    values = (normalized(named(field.name), field.dataType).alias(field.name) for field in rows.schema.fields)
    return LandedFrame(name, rows.select(*values), columns, empty | partitions.empty)
