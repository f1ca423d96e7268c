"""The write of a run: one job of Spark that shreds the records and writes every table, and the files that it has to give."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from onefold.core.errors import InvalidInput
from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.set_aside import StoredFile
from onefold.events.shred.tally import Tally
from onefold.spark.io.arrow import map_in_arrow
from onefold.spark.io.filesystem import Folder
from onefold.spark.shred.duplicates import decide
from onefold.spark.shred.files import FOLDER_COLUMNS, OWN_FOLDERS, staged_parts
from onefold.spark.shred.form import file_form
from onefold.spark.shred.places import hadoop_address
from onefold.spark.shred.quarantine import DamagedFile
from onefold.spark.shred.worker import DATA, NUMBER, Worker

_RESULT = StructType(
    [
        *(StructField(name, StringType()) for name in FOLDER_COLUMNS),
        StructField(NUMBER, IntegerType()),
        StructField(DATA, BinaryType()),
    ]
)
SPLIT_BYTES, LEAST_BYTES, OPEN_BYTES = 64 << 20, 16 << 20, 1 << 20
"""The bytes of events that a task reads at most, and at least where there are so many; what opening a file counts for."""
BATCH_RECORDS = 2_000
"""The records of a batch of Arrow, which holds 2 GB at most."""
# A task that fails midway leaves files only under the names that its next attempt writes, since the names of all attempts
# are equal; so the faster way to commit is safe here, and folders of object stores are not renamed twice.
_HADOOP = {
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}

# Spark 4.0, "Error Conditions", FAILED_READ_FILE: the address is spelled as a URI, without spaces.
_UNREAD_FILE = re.compile(r"\[FAILED_READ_FILE[.\w]*\] Encountered error while reading file (\S+)\.\s")

_READERS_OF_CONTENT = ("org.apache.hadoop.io.compress.", "java.util.zip.", "org.apache.hadoop.fs.FSInputChecker")
"""The classes of Java that check the content of a file while they read it."""


class _Tallies(AccumulatorParam[Tally]):
    def zero(self, value: Tally) -> Tally:  # noqa: ARG002 as Spark calls it
        return Tally()

    def addInPlace(self, value1: Tally, value2: Tally) -> Tally:  # noqa: N802 as Spark calls it
        return value1.add(value2)


def count_records(
    spark: SparkSession, plan: ShredPlan, inputs: Mapping[str, StoredFile], earlier: Mapping[str, int] | None = None
) -> Tally:
    """Shred the records of files, and return the counts; nothing is written.

    Args:
        spark: the session.
        plan: of the run.
        inputs: the files.
        earlier: folders and numbers of the ids of earlier runs, to leave out duplicates; None to take all events.

    Raises:
        DamagedFile: the content of a file cannot be read.
        InvalidInput: a file cannot be read for another reason.
    """
    tallies = spark.sparkContext.accumulator(Tally(), _Tallies())
    with unread_file_named(spark, inputs):
        blocks = _blocks(spark, plan, inputs, tallies, earlier, dry_run=True)
        blocks.write.format("noop").mode("overwrite").save()
    return tallies.value


def write_run(
    spark: SparkSession,
    plan: ShredPlan,
    inputs: Mapping[str, StoredFile],
    run: Folder,
    earlier: Mapping[str, int] | None = None,
) -> Tally:
    """Shred the records of files into the folder of a run, and return the counts.

    Args:
        spark: the session.
        plan: of the run.
        inputs: the files.
        run: the folder of the run.
        earlier: folders and numbers of the ids of earlier runs, to leave out duplicates; None to take all events.

    Raises:
        DamagedFile: the content of a file cannot be read.
        InvalidInput: a file cannot be read for another reason.
    """
    form = file_form(plan.form)
    tallies = spark.sparkContext.accumulator(Tally(), _Tallies())
    with unread_file_named(spark, inputs):
        blocks = _blocks(spark, plan, inputs, tallies, earlier, dry_run=False)
        # In the order of the numbers, so that it is known which blocks are in a file.
        rows = blocks.sortWithinPartitions(*FOLDER_COLUMNS, NUMBER).select(*FOLDER_COLUMNS, F.col(DATA).cast("string"))
        writer = rows.write.partitionBy(*FOLDER_COLUMNS).mode("append").options(**_HADOOP, lineSep=form.end)
        writer.option("maxRecordsPerFile", form.blocks).text(run.uri)
    return tallies.value


@contextmanager
def unread_file_named(spark: SparkSession, inputs: Mapping[str, StoredFile]) -> Iterator[None]:
    """Turn the error of a file that Spark cannot read into one line with its address.

    Args:
        spark: the session.
        inputs: the files that are read.

    Raises:
        DamagedFile: the content of a file is not what its name says.
        InvalidInput: a file cannot be read: it is gone, or its store does not answer.
        Py4JJavaError: the write has failed for another reason.
    """
    try:
        yield
    except Py4JJavaError as error:
        cause: Any = error.java_exception
        while cause is not None:
            if match := _UNREAD_FILE.search(str(cause.getMessage())):
                reason = (cause.getCause() or cause).toString()
                if (address := _spelled(spark, inputs).get(_plain(match[1]))) and _is_of_content(cause):
                    raise DamagedFile(address, f"{reason}: replace the file") from error
                raise InvalidInput(
                    f"--events: {match[1]} cannot be read: {reason}: replace or remove the file, and start the job again"
                ) from error
            cause = cause.getCause()
        raise


def _spelled(spark: SparkSession, inputs: Mapping[str, StoredFile]) -> Mapping[str, str]:
    """Return the addresses of files by the form in which Spark spells them."""
    jvm: Any = spark._jvm
    return {_plain(jvm.org.apache.hadoop.fs.Path(hadoop_address(one)).toUri().toString()): one for one in inputs}


def _plain(uri: str) -> str:
    return re.sub("^file:/+", "file:/", uri)


def _is_of_content(error: Any) -> bool:
    """Return whether a decompressor, or the check of a checksum, has raised an error: a retry gives the same.

    An error of the store or of the network comes from other classes, and may pass.
    """
    while (cause := error.getCause()) is not None:
        error = cause
    frames = error.getStackTrace()
    return bool(frames) and str(frames[0].getClassName()).startswith(_READERS_OF_CONTENT)


def _blocks(
    spark: SparkSession,
    plan: ShredPlan,
    inputs: Mapping[str, StoredFile],
    tallies: Accumulator[Tally],
    earlier: Mapping[str, int] | None,
    *,
    dry_run: bool,
) -> DataFrame:
    """Return the blocks of the rows of all records.

    Args:
        spark: the session.
        plan: of the run.
        inputs: the files.
        tallies: takes the counts of each task.
        earlier: folders and numbers of the ids of earlier runs, to leave out duplicates; None to take all events.
        dry_run: True where only the counts matter.
    """
    folders = {number: table.folder for number, table in enumerate(plan.tables)} | OWN_FOLDERS
    parts = {number: staged_parts(folder) for number, folder in folders.items()}
    worker = Worker(plan, file_form(plan.form), parts, tallies.add, dry_run, decided=earlier is not None)
    records = read_records(spark, inputs)
    decided = records if earlier is None else decide(spark, plan, records, earlier)
    return map_in_arrow(decided, worker.run, _RESULT)


def read_records(spark: SparkSession, inputs: Mapping[str, StoredFile]) -> DataFrame:
    """Return the records of files, as bytes, in tasks that are neither tiny nor huge."""
    _set_sizes(spark, sum(file.size for file in inputs.values()))
    # Names of files are taken as they are, whatever signs of patterns are in them.
    reader = spark.read.options(__globPaths__="false", recursiveFileLookup="true", lineSep="\n")
    return reader.text([hadoop_address(address) for address in inputs]).select(F.col("value").cast("binary"))


def _set_sizes(spark: SparkSession, size: int) -> None:
    """Set what tasks read, so that files are neither tiny nor huge: each task writes a file for each of its tables."""
    tasks = max(1, min(spark.sparkContext.defaultParallelism, size // LEAST_BYTES))
    for name, value in {
        "spark.sql.files.maxPartitionBytes": SPLIT_BYTES,
        "spark.sql.files.openCostInBytes": OPEN_BYTES,
        "spark.sql.files.minPartitionNum": tasks,
        "spark.sql.execution.arrow.maxRecordsPerBatch": BATCH_RECORDS,
    }.items():
        spark.conf.set(name, value)
