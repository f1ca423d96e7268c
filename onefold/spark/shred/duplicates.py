"""Duplicates in a run, found before its rows are written: which records are not taken, and which get another id.

One pass over the records reads their keys, and Spark finds the ids that are there twice, in the run or in earlier ones of
the window. Only the records with these ids are shredded beforehand: a bad event neither has an id nor takes one away. The
pass that writes gets the decisions as a column beside the records, by their places. Places are numbers that Spark gives to
the lines of a file split. They agree as long as the files are read in the same splits: the pass that writes checks the ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType, StructField, StructType

from onefold.events.shred.duplicates import Copy, EventKey, digest_of, key_reader, new_ids
from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.shredder import Shredder
from onefold.spark.io.arrow import map_in_arrow
from onefold.spark.shred.files import FINGERPRINT, ID
from onefold.spark.shred.records import texts_of

PLACE, DIGEST, NEW_ID = "place", "digest", "new_id"
_IDS = StructType([StructField(ID, StringType()), StructField(FINGERPRINT, StringType())])
_KEYS = StructType([*_IDS.fields, StructField(PLACE, LongType())])
_GOOD = StructType([StructField(PLACE, LongType()), StructField(DIGEST, StringType())])
_DECISIONS = StructType([StructField(PLACE, LongType()), StructField(ID, StringType()), StructField(NEW_ID, StringType())])
_EARLIER = -1
"""The place of an event of an earlier run."""


def decide(spark: SparkSession, plan: ShredPlan, records: DataFrame, earlier: Sequence[str]) -> DataFrame:
    """Return the records of a run with what becomes of duplicates: `value`, `event_id` and `new_id`, mostly NULL.

    Args:
        spark: the session.
        plan: of the run.
        records: the records, as the column `value`.
        earlier: the folders of the ids of earlier runs.
    """
    placed = records.withColumn(PLACE, F.monotonically_increasing_id())
    found = _repeated(spark, plan, placed, earlier)
    keys = {row[PLACE]: EventKey(row[ID], row[FINGERPRINT]) for row in found if row[PLACE] != _EARLIER}
    known = {EventKey(row[ID], row[FINGERPRINT]) for row in found if row[PLACE] == _EARLIER}
    copies = [Copy(keys[place], place, digest) for place, digest in _good(spark, plan, placed, list(keys))]
    decided = [(copy.place, copy.key.id, new_id) for copy, new_id in new_ids(copies, known)]
    by_place = F.broadcast(spark.createDataFrame(decided, _DECISIONS))
    return placed.join(by_place, PLACE, "left").select("value", ID, NEW_ID)


def _repeated(spark: SparkSession, plan: ShredPlan, placed: DataFrame, earlier: Sequence[str]) -> list[Any]:
    """Return the keys of all records whose ids are there twice, and those of earlier runs with such an id."""
    keys = map_in_arrow(placed, _Keys(plan).run, _KEYS)
    if earlier:
        read = spark.read.schema(_IDS).option("recursiveFileLookup", "true").parquet(*earlier)
        keys = keys.unionByName(read.withColumn(PLACE, F.lit(_EARLIER).cast("long")))
    same_id = Window.partitionBy(ID)
    counted = keys.withColumn("copies", F.count("*").over(same_id)).withColumn("last", F.max(PLACE).over(same_id))
    return counted.where((F.col("copies") > 1) & (F.col("last") != _EARLIER)).select(ID, FINGERPRINT, PLACE).collect()


def _good(spark: SparkSession, plan: ShredPlan, placed: DataFrame, places: Sequence[int]) -> list[tuple[int, str]]:
    """Return the places of the records that become rows, each with its digest."""
    if not places:
        return []
    wanted = spark.createDataFrame([(place,) for place in places], StructType([StructField(PLACE, LongType())]))
    chosen = placed.join(F.broadcast(wanted), PLACE, "left_semi").select("value", PLACE)
    return [(row[PLACE], row[DIGEST]) for row in map_in_arrow(chosen, _Good(plan).run, _GOOD).collect()]


@dataclass(frozen=True)
class _Keys:
    plan: ShredPlan

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        key_of = key_reader(self.plan.input)
        for batch in batches:
            places = batch.column(1).to_pylist()
            keys = [key_of(text) if text else None for text in texts_of(batch.column(0))]
            found = [(*key, place) for key, place in zip(keys, places, strict=True) if key]
            yield _batch(found, _KEYS, (pa.string(), pa.string(), pa.int64()))


@dataclass(frozen=True)
class _Good:
    plan: ShredPlan

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shred = Shredder(self.plan).shred
        for batch in batches:
            texts = zip(texts_of(batch.column(0)), batch.column(1).to_pylist(), strict=True)
            found = [(place, digest_of(text)) for text, place in texts if shred(text).bad is None]
            yield _batch(found, _GOOD, (pa.int64(), pa.string()))


def _batch(rows: Sequence[tuple[Any, ...]], schema: StructType, types: Sequence[pa.DataType]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ([] for _ in types)
    arrays = [pa.array(values, type_) for values, type_ in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)
