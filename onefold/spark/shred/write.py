"""The write of a run: one job of Spark whose tasks read the records, shred them, and write the files of every table."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.set_aside import StoredFile
from onefold.events.shred.tally import Tally
from onefold.spark.io.filesystem import Folder
from onefold.spark.shred.duplicates import decide
from onefold.spark.shred.places import hadoop_address
from onefold.spark.shred.records import CHUNK_BYTES
from onefold.spark.shred.stores import open_stores
from onefold.spark.shred.tasks import run_tasks, tasks_of
from onefold.spark.shred.worker import Worker

READ_BYTES = CHUNK_BYTES


def write_run(
    spark: SparkSession,
    plan: ShredPlan,
    inputs: Mapping[str, StoredFile],
    run: Folder | None,
    earlier: Mapping[str, int] | None = None,
) -> Tally:
    """Shred the records of files into the folder of a run, and return the counts.

    Args:
        spark: the session.
        plan: of the run.
        inputs: the files.
        run: the folder of the run; None to count only.
        earlier: folders and numbers of the ids of earlier runs, to leave out duplicates; None to take all events.

    Raises:
        DamagedFiles: the content of files cannot be read.
        InvalidInput: a file cannot be read for another reason.
    """
    tasks, target = tasks_of(spark, inputs), run.qualified() if run else None
    stores = open_stores(spark, [*map(hadoop_address, inputs), *([target] if target else [])])
    if earlier is not None:
        tasks = decide(spark, plan, stores, tasks, earlier)
    tally = Tally()
    for one in run_tasks(spark, tasks, Worker(plan, stores, target, earlier is not None, READ_BYTES).run):
        tally.add(one)
    return tally
