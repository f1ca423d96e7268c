"""Rows of files in the form in which Spark holds BigQuery's types."""

from __future__ import annotations

from pyspark.sql import DataFrame

from onefold.core.errors import InvalidInput
from onefold.spark.columns import named
from onefold.spark.io.frames import LandedFrame
from onefold.spark.io.partitions import Partitions
from onefold.spark.values.types import columns_of, normalized


def in_held_form(name: str, frame: DataFrame, partitions: Partitions, empty: frozenset[str] = frozenset()) -> LandedFrame:
    """Return the rows of a folder in held form, with the columns that are in the names of its folders.

    Args:
        empty: columns that are written in the files, and hold no value at all.

    Raises:
        InvalidInput: every column for which BigQuery has no type, with the name of what is read.
    """
    frame = partitions.added_to(frame)
    try:
        columns = columns_of(frame.schema)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {problem}" for problem in error.problems) from error
    values = (normalized(named(field.name), field.dataType).alias(field.name) for field in frame.schema.fields)
    return LandedFrame(name, frame.select(*values), columns, empty | partitions.empty)
