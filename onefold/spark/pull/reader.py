"""The JDBC reader: a key range is read by one task of Spark, which writes its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from onefold.pull.read.part import Block, FileDestination, PartResult, write_part
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.queries import jdbc_query
from onefold.spark.io.arrow import ArrowFunction, map_in_arrow
from onefold.spark.pull.blocks import blocks_of
from onefold.spark.pull.lines import line_frame, loss_columns
from onefold.spark.pull.session import FETCH_ROWS

_RESULT = StructType([StructField("result", StringType())])
# Times in UTC, and no mode that changes what a value shows or which literals are valid. A writer that waits for Spark is not
# cut off. A table that somebody has locked is an error after a minute, and not after the year of MySQL's default. The driver
# sets these for each connection; Spark's `sessionInitStatement` leaves out the one that asks for types.
_SESSION = "time_zone='+00:00',sql_mode='',sql_select_limit=18446744073709551615,net_write_timeout=3600,lock_wait_timeout=60"


@dataclass(frozen=True)
class SparkReader:
    """Reads key ranges by JDBC.

    Attributes:
        spark: the session.
        options: the options of the JDBC source, with user and password; Spark shows neither.
        to: where files go.
    """

    spark: SparkSession
    options: Mapping[str, str] = field(repr=False)
    to: FileDestination = field()

    def read(self, plan: TablePlan, part: int) -> PartResult:
        """Return the files of a range, which one task has written.

        Args:
            plan: of the pull.
            part: the number of the range.
        """
        frame = line_frame(self.rows(plan, part), plan, part)
        found = map_in_arrow(frame, _writer(plan, part, self.to), _RESULT).collect()
        total = PartResult()
        for row in found:
            result = PartResult.from_json(row[0])
            total = total.plus(result, result.files)
        return total

    def rows(self, plan: TablePlan, part: int) -> DataFrame:
        """Return the rows of a range, in one partition."""
        query = f"({jdbc_query(plan, plan.parts[part])}) onefold_rows"
        # Without a number of rows the driver reads the whole table.
        reader = self.spark.read.format("jdbc").options(**self.options, sessionVariables=_SESSION)
        return reader.option("fetchsize", FETCH_ROWS).option("dbtable", query).load()


def _writer(plan: TablePlan, part: int, to: FileDestination) -> ArrowFunction:
    losses = loss_columns(plan)

    def blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[Block]:
        return (block for batch in batches for block in blocks_of(batch, plan, losses))

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        result = write_part(plan, part, blocks(batches), to)
        yield pa.RecordBatch.from_pydict({"result": [result.to_json()]})

    return write
