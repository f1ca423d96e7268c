"""The first pass over the events of a run, where a registry cannot be listed: it collects the schemas that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from onefold.batches.shred_arguments import ShredArguments
from onefold.events.registry.registry import Registry
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.named_schemas import keys_of, schemas_named_by
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.events.shred.runs import not_taken
from onefold.events.shred.set_aside import StoredFile, problems_of_names
from onefold.events.shred.shredder import reader_of
from onefold.spark.io.arrow import map_in_arrow
from onefold.spark.shred.quarantine import problems_of_ends, with_readable
from onefold.spark.shred.records import texts_of
from onefold.spark.shred.write import read_records, unread_file_named

_URI = "uri"
_RESULT = StructType([StructField(_URI, StringType())])


@dataclass(frozen=True)
class _Collector:
    """Collects in a task. The plan has no schemas; it says the form of the records."""

    plan: ShredPlan

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = reader_of(self.plan)
        found: set[str] = set()
        for batch in batches:
            found |= schemas_named_by(reader, filter(None, texts_of(batch.column(0))))
        yield pa.RecordBatch.from_arrays([pa.array(sorted(found), pa.string())], names=[_URI])


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
    named |= problems_of_ends(spark, not_taken(files, named))
    form = plan_shred(Registry({}, ""), arguments.file_format, arguments.input, started)
    found, _, _ = with_readable(not_taken(files, named), lambda some: _collect(spark, form, some))
    return found or frozenset()


def _collect(spark: SparkSession, form: ShredPlan, files: Mapping[str, StoredFile]) -> frozenset[SchemaKey]:
    with unread_file_named(spark, files):
        rows = map_in_arrow(read_records(spark, files), _Collector(form).run, _RESULT).distinct().collect()
    return keys_of(row[_URI] for row in rows)
