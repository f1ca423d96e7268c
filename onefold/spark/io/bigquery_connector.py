"""The Spark BigQuery connector: Dataproc has it, any other session needs its jar.

The connector changes values as follows (found with version 0.42.1 and its sources,
https://github.com/GoogleCloudDataproc/spark-bigquery-connector):

- TIME arrives as a number. A table with a BIGNUMERIC, an INTERVAL or a RANGE cannot be opened, not even for other columns.
- TIMESTAMP before 1582 arrives some days off, because the connector reads it in the Julian calendar. From 0.44.2 on an
  option prevents that. Writing has no such option.
- ARRAY<STRUCT<key, value>> becomes a map, which has no order and no equal keys, unless an option prevents that.
- The connector uses one read session of a table for five minutes, so a second read would miss rows that came in between,
  unless an option prevents that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from onefold.core.names import TableId
from onefold.schema.columns import Column
from onefold.schema.types import Array, Range, Struct, Type

Version = tuple[int, ...]

_FORMAT = "bigquery"
_PROPERTIES = "spark-bigquery-connector.properties"
_KEEPS_TIMESTAMPS: Version = (0, 44, 2)
_NO_MAPS = {"allowMapTypeConversion": "false"}


def connector_version(spark: SparkSession) -> Version | None:
    """Return the version of the session's connector; None if the session has no connector."""
    jvm: Any = spark._jvm
    stream = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader().getResourceAsStream(_PROPERTIES)
    if stream is None:
        return None
    properties = jvm.java.util.Properties()
    properties.load(stream)
    stream.close()
    return parse_version(properties.getProperty("connector.version") or "")


def parse_version(text: str) -> Version:
    """Return the numbers of a version; a text without numbers is older than any version.

    Examples:
        >>> parse_version("0.43.0-preview")
        (0, 43, 0)
    """
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def keeps_timestamps(version: Version) -> bool:
    """Return whether this version reads a TIMESTAMP of any year correctly."""
    return version >= _KEEPS_TIMESTAMPS


def can_open(columns: Sequence[Column]) -> bool:
    """Return whether a table with these columns can be read at all: one column of an unknown type prevents every read."""
    return not any(_is_unknown(column.type) for column in columns)


def _is_unknown(type_: Type) -> bool:
    match type_:
        case Array(element):
            return _is_unknown(element)
        case Struct(fields):
            return any(_is_unknown(field.type) for field in fields)
        case _:
            return isinstance(type_, Range) or type_.name in ("BIGNUMERIC", "INTERVAL")


def read_options(table: TableId, billed: str, where: str | None = None) -> dict[str, str]:
    """Return the connector's options for a read of a table.

    Args:
        table: the table.
        billed: the project that pays for the read.
        where: a filter in GoogleSQL without a subquery; None for all rows.
    """
    options = {
        **_table_options(table, billed),
        **_NO_MAPS,
        "enableArrowTimestampRebase": "false",
        "enableReadSessionCaching": "false",
    }
    return {**options, "filter": where} if where else options


def write_options(table: TableId, billed: str) -> dict[str, str]:
    """Return the connector's options for a write by the Storage Write API, which shows all rows at once or none."""
    return {
        **_table_options(table, billed),
        **_NO_MAPS,
        "writeMethod": "direct",
        "writeAtLeastOnce": "false",
        "createDisposition": "CREATE_NEVER",
    }


def load(spark: SparkSession, table: TableId, billed: str, where: str | None = None) -> DataFrame:
    """Return the rows of a table; Spark reads only the columns that it needs.

    Args:
        spark: the session.
        table: the table.
        billed: the project that pays for the read.
        where: a filter in GoogleSQL without a subquery, which the Storage Read API evaluates; None for all rows.
    """
    return spark.read.format(_FORMAT).options(**read_options(table, billed, where)).load()


def append(frame: DataFrame, table: TableId, billed: str) -> None:
    """Append the rows of a frame to a table that exists.

    Args:
        frame: the rows.
        table: the table.
        billed: the project that pays for the write.
    """
    frame.write.format(_FORMAT).options(**write_options(table, billed)).mode("append").save()


def _table_options(table: TableId, billed: str) -> dict[str, str]:
    return {
        "parentProject": billed,
        "project": table.project or billed,
        "dataset": table.dataset or "",
        "table": table.table,
    }
