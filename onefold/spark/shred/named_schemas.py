"""The first pass over the events of a run, where a registry cannot be listed: it collects the schemas that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import SparkSession

from onefold.batches.shred_arguments import ShredArguments
from onefold.events.registry.registry import Registry
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.named_schemas import keys_of, schemas_named_by
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.events.shred.runs import not_taken
from onefold.events.shred.set_aside import StoredFile, problems_of_names
from onefold.events.shred.shredder import reader_of
from onefold.spark.shred.places import hadoop_address
from onefold.spark.shred.quarantine import with_readable
from onefold.spark.shred.records import read_records
from onefold.spark.shred.stores import Stores, open_stores
from onefold.spark.shred.tasks import ReadTask, run_tasks, tasks_of


@dataclass(frozen=True)
class _Collector:
    """Collects in a task. The plan has no schemas; it says the form of the records."""

    plan: ShredPlan
    stores: Stores

    def run(self, task: ReadTask) -> set[str]:
        reader = reader_of(self.plan)
        found: set[str] = set()
        for records in read_records(self.stores, task.parts):
            found |= schemas_named_by(reader, records)
        return found


def named_schemas(
    spark: SparkSession, arguments: ShredArguments, started: datetime, files: Mapping[str, StoredFile]
) -> frozenset[SchemaKey]:
    """Return the schemas that the events of all files name that can be read; the run sets the others aside.

    Args:
        spark: the session.
        arguments: those of the job.
        started: when the job was started.
        files: the files.

    Raises:
        InvalidInput: a file cannot be read, and not because of its content.
    """
    named = problems_of_names(files)
    form = plan_shred(Registry({}, ""), arguments.file_format, arguments.input, started)
    found, _, _ = with_readable(not_taken(files, named), lambda some: _collect(spark, form, some))
    return found or frozenset()


def _collect(spark: SparkSession, form: ShredPlan, files: Mapping[str, StoredFile]) -> frozenset[SchemaKey]:
    collector = _Collector(form, open_stores(spark, [*map(hadoop_address, files)]))
    return keys_of(frozenset[str]().union(*run_tasks(spark, tasks_of(spark, files), collector.run)))
