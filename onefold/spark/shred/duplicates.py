"""Duplicates in a run, found before its rows are written: which records are not taken, and which get another id.

A first pass reads the ids of the records, and 64 bits of each are compared: with those of the run, and with those that
earlier runs of the window keep. Only the records whose bits are there twice are shredded beforehand, and compared by id and
fingerprint: a bad event neither has an id nor takes one away. The tasks of the pass that writes get the decisions by the
places of the records. Each pass has the same tasks, so that places agree; the pass that writes checks the ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from onefold.events.shred.duplicates import Copy, digest_of, key_reader, new_ids
from onefold.events.shred.event import EventKey
from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.shredder import Shredder
from onefold.spark.shred.files import check_no_ids_lost
from onefold.spark.shred.records import bytes_of, read_lines, texts_of
from onefold.spark.shred.repeated import READERS, TASK_BITS, EarlierIds, find_repeated
from onefold.spark.shred.stores import Stores
from onefold.spark.shred.tasks import ReadTask, run_tasks, unread_file_named


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
    kept = {EarlierIds(stores, folder): count for folder, count in earlier.items()}
    _check_earlier(kept)
    with unread_file_named():
        repeated = find_repeated(spark, plan, stores, tasks, kept)
    chosen = _with_places(tasks, ((place, ("", "")) for place in repeated.places))
    copies = [copy for found in run_tasks(spark, chosen, _Good(plan, stores).run) for copy in found] if chosen else []
    known = _known(spark, list(kept), repeated.known) if repeated.known else set()
    decisions = {task.number: task for task in _with_places(tasks, _decisions(copies, known))}
    return [decisions.get(task.number, task) for task in tasks]


def _decisions(copies: Iterable[Copy], known: set[EventKey]) -> Iterator[tuple[int, tuple[str, str]]]:
    return ((copy.place, (copy.key.id, new_id)) for copy, new_id in new_ids(copies, known))


def _with_places(tasks: Sequence[ReadTask], found: Iterable[tuple[int, tuple[str, str]]]) -> list[ReadTask]:
    """Return the tasks of some places, with what was found out there."""
    chosen: defaultdict[int, dict[int, tuple[str, str]]] = defaultdict(dict)
    for place, what in found:
        chosen[place >> TASK_BITS][place % 2**TASK_BITS] = what
    return [replace(tasks[number], chosen=some) for number, some in sorted(chosen.items())]


def _check_earlier(kept: Mapping[EarlierIds, int]) -> None:
    """Check that earlier runs have all of their ids.

    Raises:
        InvalidInput: some are gone.
    """
    with ThreadPoolExecutor(READERS) as pool:
        counts = list(pool.map(EarlierIds.count, kept))
    check_no_ids_lost([ids.folder for (ids, wanted), found in zip(kept.items(), counts, strict=True) if found != wanted])


def _known(spark: SparkSession, kept: Sequence[EarlierIds], hashes: Sequence[int]) -> set[EventKey]:
    """Return the keys of earlier runs that have one of some hashes."""
    found = spark.sparkContext.parallelize(kept, len(kept)).flatMap(lambda ids: ids.keys(hashes))
    return set(found.collect())


@dataclass(frozen=True)
class _Good:
    """Finds the records of a task, among chosen ones, that become rows."""

    plan: ShredPlan
    stores: Stores

    def run(self, task: ReadTask) -> list[Copy]:
        shred, key_of = Shredder(self.plan, keyed=True).shred, key_reader(self.plan.input)
        first, found = 0, list[Copy]()
        for records in map(bytes_of, read_lines(self.stores, task.parts)):
            for place in task.chosen.keys() & range(first, first + len(records)):
                (record,) = texts_of(records[place - first])
                one = shred(record)
                if one.bad is None and (key := one.key or key_of(record)):
                    found.append(Copy(key, (task.number << TASK_BITS) + place, digest_of(record)))
            first += len(records)
        return found
