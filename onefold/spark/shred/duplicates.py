"""Duplicates in a run, found before its rows are written: which records are not taken, and which get another id.

Spark reads the ids of the records, without Python, and compares 64 bits of each: with those of the run, and with those that
earlier runs of the window keep. Only the records whose bits are there twice are shredded beforehand, and compared by id and
fingerprint: a bad event neither has an id nor takes one away. The pass that writes gets the decisions as a column beside the
records, by their places. Places are numbers that Spark gives to the lines of a file split. They agree as long as the files
are read in the same splits: the pass that writes checks the ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType, StructField, StructType

from onefold.core.shred_options import InputForm
from onefold.events.shred.bad_rows import FIRST_KEY
from onefold.events.shred.csv_values import TAB
from onefold.events.shred.duplicates import FIELDS_TO_ID, Copy, EventKey, digest_of, key_reader, new_ids
from onefold.events.shred.event_fields import EVENT_ID
from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.shredder import Shredder
from onefold.spark.io.arrow import map_in_arrow
from onefold.spark.shred.files import FINGERPRINT, HASH, ID, check_no_ids_lost, hash_of
from onefold.spark.shred.records import texts_of

PLACE, DIGEST, NEW_ID, _COPIES = "place", "digest", "new_id", "copies"
_HASHES = StructType([StructField(HASH, LongType())])
_IDS = StructType([StructField(ID, StringType()), StructField(FINGERPRINT, StringType()), *_HASHES.fields])
_GOOD = StructType([*_IDS.fields[:2], StructField(PLACE, LongType()), StructField(DIGEST, StringType())])
_DECISIONS = StructType([StructField(PLACE, LongType()), StructField(ID, StringType()), StructField(NEW_ID, StringType())])


def decide(spark: SparkSession, plan: ShredPlan, records: DataFrame, earlier: Mapping[str, int]) -> DataFrame:
    """Return the records of a run with what becomes of duplicates: `value`, `event_id` and `new_id`, mostly NULL.

    Args:
        spark: the session.
        plan: of the run.
        records: the records, as the column `value`.
        earlier: the folders of the ids of earlier runs, each with the number of these.

    Raises:
        InvalidInput: ids of an earlier run are gone.
    """
    placed = records.withColumn(PLACE, F.monotonically_increasing_id())
    hashed = placed.withColumn(HASH, hash_of(id_in(F.col("value").cast("string"), plan.input)))
    history = _history(spark, earlier) if earlier else None
    within, known_hashes = _repeated(hashed.select(HASH), history)
    copies = _good(spark, plan, hashed, within | known_hashes)
    known = _known(spark, history, known_hashes)
    decided = [(copy.place, copy.key.id, new_id) for copy, new_id in new_ids(copies, known)]
    if not decided:
        return records.withColumns({name: F.lit(None).cast("string") for name in (ID, NEW_ID)})
    by_place = F.broadcast(spark.createDataFrame(decided, _DECISIONS))
    return placed.join(by_place, PLACE, "left").select("value", ID, NEW_ID)


def id_in(record: Column, form: InputForm) -> Column:
    """Return the id of a record, without a pass through Python; an empty one or anything where it is no good event.

    A good event has the id that `key_reader` reads: neither reader takes a key that stands twice, and no run writes the bad
    row of a bad row.

    Args:
        record: the record as text.
        form: the form of the records.
    """
    original = F.coalesce(F.get_json_object(record, "$.original"), record)
    event = F.when(record.startswith(FIRST_KEY), original).otherwise(record)
    if form == "enriched-tsv":
        return F.substring_index(F.substring_index(event, TAB, FIELDS_TO_ID), TAB, -1)
    return F.coalesce(F.get_json_object(event, f"$.{EVENT_ID}"), F.lit(""))


def _history(spark: SparkSession, earlier: Mapping[str, int]) -> DataFrame:
    found = _read_ids(spark, *earlier)
    if _hashes(found) != sum(earlier.values()):
        check_no_ids_lost([folder for folder, ids in earlier.items() if _hashes(_read_ids(spark, folder)) != ids])
    return found


def _read_ids(spark: SparkSession, *folders: str) -> DataFrame:
    return spark.read.schema(_IDS).option("recursiveFileLookup", "true").parquet(*folders)


def _hashes(ids: DataFrame) -> int:
    return int(ids.agg(F.count(HASH)).collect()[0][0])


def _repeated(hashes: DataFrame, history: DataFrame | None) -> tuple[set[int], set[int]]:
    """Return the hashes of ids that are there twice in the run, and those that an earlier run has as well."""
    counted = hashes.groupBy(HASH).agg(F.count("*").alias(_COPIES)).cache()
    try:
        # In one expression, since Spark would compute the hashes twice for a filter of its own.
        copies = F.when(F.col(HASH) == hash_of(F.lit("")), 0).otherwise(F.col(_COPIES))
        within = {row[HASH] for row in counted.where(copies > 1).select(HASH).collect()}
        if history is None:
            return within, set()
        # Spark knows the size of what is cached, and sends a small one to the files of the history.
        return within, {row[HASH] for row in history.select(HASH).join(counted, HASH, "left_semi").collect()}
    finally:
        counted.unpersist()


def _known(spark: SparkSession, history: DataFrame | None, hashes: set[int]) -> set[EventKey]:
    """Return the keys of earlier runs that have one of some hashes."""
    if history is None or not hashes:
        return set()
    return {EventKey(row[ID], row[FINGERPRINT]) for row in _with_hash(spark, history, hashes).collect()}


def _good(spark: SparkSession, plan: ShredPlan, hashed: DataFrame, hashes: set[int]) -> list[Copy]:
    """Return the records that have one of some hashes and become rows."""
    if not hashes:
        return []
    chosen = _with_hash(spark, hashed, hashes).select("value", PLACE)
    rows = map_in_arrow(chosen, _Good(plan).run, _GOOD).collect()
    return [Copy(EventKey(row[ID], row[FINGERPRINT]), row[PLACE], row[DIGEST]) for row in rows]


def _with_hash(spark: SparkSession, frame: DataFrame, hashes: set[int]) -> DataFrame:
    wanted = spark.createDataFrame([(one,) for one in hashes], _HASHES)
    return frame.join(F.broadcast(wanted), HASH, "left_semi")


@dataclass(frozen=True)
class _Good:
    plan: ShredPlan

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shred, key_of = Shredder(self.plan).shred, key_reader(self.plan.input)
        for batch in batches:
            texts = zip(texts_of(batch.column(0)), batch.column(1).to_pylist(), strict=True)
            found = [
                (*key, place, digest_of(text)) for text, place in texts if (key := key_of(text)) and not shred(text).bad
            ]
            columns = zip(*found, strict=True) if found else ([] for _ in _GOOD.names)
            types = (pa.string(), pa.string(), pa.int64(), pa.string())
            arrays = [pa.array(values, type_) for values, type_ in zip(columns, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=_GOOD.names)
