"""Duplicates in a run, found before its rows are written: which records are not taken, and which get another id.

A first pass reads the ids of the records, and Spark compares 64 bits of each: with those of the run, and with those that
earlier runs of the window keep. Only the records whose bits are there twice are shredded beforehand, and compared by id and
fingerprint: a bad event neither has an id nor takes one away. The tasks of the pass that writes get the decisions by the
places of the records. Each pass has the same tasks, so that places agree; the pass that writes checks the ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType, StructField, StructType

from onefold.events.shred.duplicates import Copy, EventKey, digest_of, id_reader, key_reader, new_ids
from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.shredder import Shredder
from onefold.spark.io.arrow import map_in_arrow
from onefold.spark.shred.files import FINGERPRINT, HASH, ID, check_no_ids_lost, hash_of
from onefold.spark.shred.records import DamagedContent, read_records
from onefold.spark.shred.stores import Stores
from onefold.spark.shred.tasks import ReadTask, run_tasks, unread_file_named

PLACE, _COPIES = "place", "copies"
_HASHES = StructType([StructField(HASH, LongType())])
_IDS = StructType([StructField(ID, StringType()), StructField(FINGERPRINT, StringType()), *_HASHES.fields])
_PLACED = StructType([StructField(ID, StringType()), StructField(PLACE, LongType())])
_TASK_BITS = 40
"""The bits of a place that tell which record of a task it is. The bits above them are the number of the task."""


def decide(
    spark: SparkSession, plan: ShredPlan, stores: Stores, tasks: Sequence[ReadTask], earlier: Mapping[str, int]
) -> list[ReadTask]:
    """Return the tasks of a run with what becomes of duplicates: the id and the new id of records.

    Args:
        spark: the session.
        plan: of the run.
        stores: those of the events.
        tasks: what they read.
        earlier: the folders of the ids of earlier runs, each with the number of these.

    Raises:
        DamagedFiles: the content of files cannot be read.
        InvalidInput: ids of an earlier run are gone, or a file cannot be read for another reason.
    """
    history = _history(spark, earlier) if earlier else None
    with unread_file_named():
        places, known_hashes = _repeated(spark, _hashed(spark, plan, stores, tasks), history)
    chosen = _with_places(tasks, ((place, ("", "")) for place in places))
    work = _Good(plan, stores).run
    copies = [copy for found in run_tasks(spark, chosen, work) for copy in found] if chosen else []
    known = _known(spark, history, known_hashes)
    decisions = {task.number: task for task in _with_places(tasks, _decisions(copies, known))}
    return [decisions.get(task.number, task) for task in tasks]


def _decisions(copies: Iterable[Copy], known: set[EventKey]) -> Iterator[tuple[int, tuple[str, str]]]:
    return ((copy.place, (copy.key.id, new_id)) for copy, new_id in new_ids(copies, known))


def _with_places(tasks: Sequence[ReadTask], found: Iterable[tuple[int, tuple[str, str]]]) -> list[ReadTask]:
    """Return the tasks of some places, with what was found out there."""
    chosen: defaultdict[int, dict[int, tuple[str, str]]] = defaultdict(dict)
    for place, what in found:
        chosen[place >> _TASK_BITS][place % 2**_TASK_BITS] = what
    return [replace(tasks[number], chosen=some) for number, some in sorted(chosen.items())]


def _hashed(spark: SparkSession, plan: ShredPlan, stores: Stores, tasks: Sequence[ReadTask]) -> DataFrame:
    """Return 64 bits of the id of each record that has one, and its place."""
    numbers = spark.range(0, len(tasks), 1, len(tasks))
    placed = map_in_arrow(numbers, _Ids(plan, stores, tuple(tasks)).run, _PLACED)
    return placed.select(hash_of(F.col(ID)).alias(HASH), PLACE)


def _history(spark: SparkSession, earlier: Mapping[str, int]) -> DataFrame:
    found = _read_ids(spark, *earlier)
    if _hashes(found) != sum(earlier.values()):
        check_no_ids_lost([folder for folder, ids in earlier.items() if _hashes(_read_ids(spark, folder)) != ids])
    return found


def _read_ids(spark: SparkSession, *folders: str) -> DataFrame:
    return spark.read.schema(_IDS).option("recursiveFileLookup", "true").parquet(*folders)


def _hashes(ids: DataFrame) -> int:
    return int(ids.agg(F.count(HASH)).collect()[0][0])


def _repeated(spark: SparkSession, hashed: DataFrame, history: DataFrame | None) -> tuple[list[int], set[int]]:
    """Return the places of records whose hash is there twice, and the hashes that an earlier run has as well."""
    hashed = hashed.cache()
    try:
        copies = hashed.groupBy(HASH).agg(F.count("*").alias(_COPIES)).where(F.col(_COPIES) > 1)
        within = {row[HASH] for row in copies.select(HASH).collect()}
        # Spark knows the size of what is cached, and sends a small one to the files of the history.
        known = history and {row[HASH] for row in history.select(HASH).join(hashed, HASH, "left_semi").collect()}
        both = within | (known or set())
        return [row[PLACE] for row in _with_hash(spark, hashed, both).collect()] if both else [], known or set()
    finally:
        hashed.unpersist()


def _known(spark: SparkSession, history: DataFrame | None, hashes: set[int]) -> set[EventKey]:
    """Return the keys of earlier runs that have one of some hashes."""
    if history is None or not hashes:
        return set()
    return {EventKey(row[ID], row[FINGERPRINT]) for row in _with_hash(spark, history, hashes).collect()}


def _with_hash(spark: SparkSession, frame: DataFrame, hashes: set[int]) -> DataFrame:
    wanted = spark.createDataFrame([(one,) for one in hashes], _HASHES)
    return frame.join(F.broadcast(wanted), HASH, "left_semi")


@dataclass(frozen=True)
class _Ids:
    """Reads the ids of the records of tasks. The rest of a damaged file is left to the passes that name it."""

    plan: ShredPlan
    stores: Stores
    tasks: tuple[ReadTask, ...]

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        id_of = id_reader(self.plan.input)
        for task in (self.tasks[number] for batch in batches for number in batch.column(0).to_pylist()):
            first = task.number << _TASK_BITS
            try:
                for records in read_records(self.stores, task.parts):
                    ids, places = (
                        pa.array(map(id_of, records), pa.string()),
                        pa.array(range(first, first + len(records)), pa.int64()),
                    )
                    yield pa.RecordBatch.from_arrays([ids, places], names=_PLACED.names).filter(ids.is_valid())
                    first += len(records)
            except DamagedContent:
                return


@dataclass(frozen=True)
class _Good:
    """Finds the records of a task, among chosen ones, that become rows."""

    plan: ShredPlan
    stores: Stores

    def run(self, task: ReadTask) -> list[Copy]:
        shred, key_of = Shredder(self.plan).shred, key_reader(self.plan.input)
        first, found = 0, list[Copy]()
        for records in read_records(self.stores, task.parts):
            for place in task.chosen.keys() & range(first, first + len(records)):
                record = records[place - first]
                if (key := key_of(record)) and not shred(record).bad:
                    found.append(Copy(key, (task.number << _TASK_BITS) + place, digest_of(record)))
            first += len(records)
        return found
