"""The reader of a cluster: a key range is read by one task of Spark, which writes its files."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from onefold.pull.read.connection import SourceConnection
from onefold.pull.read.line_reader import LineReader
from onefold.pull.read.part import FileDestination, PartResult
from onefold.pull.read.plan import LoadState, TablePlan
from onefold.spark.libraries import add_libraries


@dataclass(frozen=True)
class SparkReader:
    """Reads key ranges in workers.

    Attributes:
        spark: the session.
        connect: opens a connection to the source; it goes to the worker with the password, which Spark shows nowhere.
        to: where files go.
    """

    spark: SparkSession
    connect: SourceConnection
    to: FileDestination

    def read(self, plan: TablePlan, part: int) -> PartResult:
        """Return the files of a range, which one task has written.

        Args:
            plan: of the pull.
            part: the number of the range.
        """
        reader = LineReader(self.connect, self.to)
        # Spark writes what a task needs to a file where that is 1 MB: the password must not be there.
        plan = replace(plan, previous=LoadState())
        task = self.spark.sparkContext.parallelize([part], 1)
        (found,) = task.map(lambda number: _read(reader, plan, number)).collect()
        return PartResult.from_json(found)


def _read(reader: LineReader, plan: TablePlan, part: int) -> str:
    """Read a range in a worker, and return the files as JSON."""
    add_libraries()
    return reader.read(plan, part).to_json()
