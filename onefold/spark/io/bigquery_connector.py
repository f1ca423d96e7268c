"""The Spark BigQuery connector: on Dataproc it is there, elsewhere a session may be given its jar.

What it does to values, found out against its version 0.42.1 and its sources:

- TIME arrives as a number. A table with a BIGNUMERIC, an INTERVAL or a RANGE cannot be opened, whatever is asked of it.
- TIMESTAMP before 1582 arrives days off, since it is taken for a day of the Julian calendar. From 0.44.2 on an option
  prevents that. Writing has no such option.
- ARRAY<STRUCT<key, value>> would become a map, which has no order and no equal keys; an option prevents that.
- One session is kept for five minutes for reads of one table, so a second read would not see what came in between.
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
    """The version of the session's connector; None where there is none."""
    jvm: Any = spark._jvm
    stream = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader().getResourceAsStream(_PROPERTIES)
    if stream is None:
        return None
    properties = jvm.java.util.Properties()
    properties.load(stream)
    stream.close()
    return parse_version(properties.getProperty("connector.version") or "")


def parse_version(text: str) -> Version:
    """`0.43.0-preview` is (0, 43, 0); a text that tells nothing is older than any."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def keeps_timestamps(version: Version) -> bool:
    """Whether a TIMESTAMP of any year can be read as it is."""
    return version >= _KEEPS_TIMESTAMPS


def can_open(columns: Sequence[Column]) -> bool:
    """Whether a table with these columns can be read, be it for others of its columns."""
    return not any(_is_strange(column.type) for column in columns)


def _is_strange(type_: Type) -> bool:
    match type_:
        case Array(element):
            return _is_strange(element)
        case Struct(fields):
            return any(_is_strange(field.type) for field in fields)
        case _:
            return isinstance(type_, Range) or type_.name in ("BIGNUMERIC", "INTERVAL")


def read_options(table: TableId, billed: str, where: str | None = None) -> dict[str, str]:
    options = {
        **_table_options(table, billed),
        **_NO_MAPS,
        "enableArrowTimestampRebase": "false",
        "enableReadSessionCaching": "false",
    }
    return {**options, "filter": where} if where else options


def write_options(table: TableId, billed: str) -> dict[str, str]:
    """Rows go through the Storage Write API and can be seen all at once, or not at all."""
    return {
        **_table_options(table, billed),
        **_NO_MAPS,
        "writeMethod": "direct",
        "writeAtLeastOnce": "false",
        "createDisposition": "CREATE_NEVER",
    }


def load(spark: SparkSession, table: TableId, billed: str, where: str | None = None) -> DataFrame:
    """The rows of a table; Spark asks only for the columns that it needs.

    Args:
        billed: the project that pays for the read.
        where: what the Storage Read API can filter by: an expression without a subquery.
    """
    return spark.read.format(_FORMAT).options(**read_options(table, billed, where)).load()


def append(frame: DataFrame, table: TableId, billed: str) -> None:
    """Write the frame into a table that is there."""
    frame.write.format(_FORMAT).options(**write_options(table, billed)).mode("append").save()


def _table_options(table: TableId, billed: str) -> dict[str, str]:
    return {
        "parentProject": billed,
        "project": table.project or billed,
        "dataset": table.dataset or "",
        "table": table.table,
    }
