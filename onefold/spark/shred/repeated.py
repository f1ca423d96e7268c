"""Which records of a run have an id that is there twice: 64 bits of each are compared, by Arrow alone.

A task reads the ids of its records, another one the bits that an earlier run keeps. Both divide them by their last bits, so
that equal ones come together, and Spark brings each part to one task, which compares its own in memory. Where there is one
part, the driver compares it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector
from pyspark.sql import SparkSession

from onefold.core.shred_options import InputForm
from onefold.events.shred.duplicates import id_reader, sure_ids
from onefold.events.shred.event import EventKey
from onefold.events.shred.event_ids import FINGERPRINT, HASH, ID, bits_of
from onefold.events.shred.plan import ShredPlan
from onefold.spark.shred.modules import keep_modules
from onefold.spark.shred.records import DamagedContent, read_lines, texts_of
from onefold.spark.shred.stores import Stores
from onefold.spark.shred.tasks import ReadTask

TASK_BITS = 40
"""The bits of a place that tell which record of a task it is. The bits above them are the number of the task."""
READERS = 16
"""The earlier runs whose ids the driver reads at the same time: each is some requests to a store."""
_BYTES = 8
"""Of a number."""
_PART_IDS, _EVENT_BYTES = 2_000_000, 500
"""The ids that a part has at most, or about so many, and the least bytes of most events."""


class Repeated(NamedTuple):
    """What is there twice.

    Attributes:
        places: those of the records whose hash another record or an earlier run has.
        known: the hashes that an earlier run has.
    """

    places: list[int]
    known: list[int]


class _Bits(NamedTuple):
    """Hashes of one part, as bytes of 64-bit numbers; those of the run's own records have places."""

    hashes: bytes
    places: bytes


@dataclass(frozen=True)
class EarlierIds:
    """The ids of an earlier run.

    Attributes:
        stores: where they are.
        folder: the address of their folder.
    """

    stores: Stores
    folder: str

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns.

        Raises:
            OSError: the store does not answer.
        """
        for opened in self._files():
            yield from pq.ParquetFile(opened).iter_batches(columns=list(columns))

    def _files(self) -> Iterator[pa.NativeFile]:
        system, path = self.stores.find(self.folder)
        for file in sorted(system.get_file_info(FileSelector(path, allow_not_found=True)), key=lambda one: one.path):
            if file.path.endswith(".parquet"):
                with system.open_input_file(file.path) as opened:
                    yield opened

    def count(self) -> int:
        """Return their number, which their files tell without being read."""
        return sum(pq.ParquetFile(opened).metadata.num_rows for opened in self._files())

    def keys(self, hashes: Iterable[int]) -> list[EventKey]:
        """Return the ids and fingerprints with some hashes."""
        wanted = pa.array(hashes, pa.int64())
        found = (batch.filter(pc.is_in(batch[HASH], wanted)) for batch in self.read((ID, FINGERPRINT, HASH)))
        return [EventKey(row[ID], row[FINGERPRINT]) for batch in found for row in batch.to_pylist()]


def find_repeated(
    spark: SparkSession, plan: ShredPlan, stores: Stores, tasks: Sequence[ReadTask], earlier: Mapping[EarlierIds, int]
) -> Repeated:
    """Return the records of a run whose hash is there twice, and the hashes of theirs that an earlier run has.

    Args:
        spark: the session.
        plan: of the run.
        stores: those of the events and runs.
        tasks: what reads the events.
        earlier: the ids of earlier runs, with their numbers.
    """
    context = spark.sparkContext
    records = sum(part.end - part.start for task in tasks for part in task.parts) // _EVENT_BYTES
    parts = 1 << max(0, (records + sum(earlier.values())) // _PART_IDS).bit_length()
    own = context.parallelize(tasks, len(tasks)).flatMap(_Own(plan.input, stores, parts).run)
    before = _Earlier(parts)
    if parts == 1:  # the driver has room for them, and another job would take longer than it does
        with ThreadPoolExecutor(READERS) as pool:
            kept = pool.map(lambda ids: [*before.run(ids)], earlier)  # while the tasks read the ids of the records
            return repeated_of(one for _, one in chain(own.collect(), *kept))
    if earlier:
        own = own.union(context.parallelize(list(earlier), len(earlier)).flatMap(before.run))
    found = own.groupByKey(parts).map(lambda part: repeated_of(part[1])).collect()
    return Repeated([place for one in found for place in one.places], [bits for one in found for bits in one.known])


@dataclass(frozen=True)
class _Own:
    """Reads the ids of the records of a task. The rest of a damaged file is left to the passes that name it."""

    form: InputForm
    stores: Stores
    parts: int

    def run(self, task: ReadTask) -> Iterator[tuple[int, _Bits]]:
        keep_modules()
        bits = list[int | None]()
        try:
            for lines in read_lines(self.stores, task.parts):
                bits += [bits_of(id_) if id_ else None for id_ in ids_of(lines, self.form)]
        except DamagedContent:
            pass
        hashes, first = pa.array(bits, pa.uint64()), task.number << TASK_BITS
        places = pa.array(range(first, first + len(bits)), pa.int64()).filter(hashes.is_valid())
        yield from divided(hashes.drop_null().view(pa.int64()), places, self.parts)


def ids_of(lines: bytes, form: InputForm) -> Sequence[bytes | None]:
    """Return the id of each record among some lines; one that has none has an empty one or None.

    Args:
        lines: whole lines, without the end of the last one.
        form: the form of the records.
    """
    found = sure_ids(lines) if form == "enriched-tsv" else None
    if found is not None:
        return found
    texts = map(id_reader(form), texts_of(lines))
    return [id_.encode("utf-8", "surrogatepass") if id_ else None for id_ in texts]


@dataclass(frozen=True)
class _Earlier:
    """Reads the hashes of an earlier run."""

    parts: int

    def run(self, ids: EarlierIds) -> Iterator[tuple[int, _Bits]]:
        for batch in ids.read((HASH,)):
            yield from divided(batch[HASH], None, self.parts)


def divided(hashes: pa.Array, places: pa.Array | None, parts: int) -> Iterator[tuple[int, _Bits]]:
    """Yield the hashes of each part, which are those with equal last bits.

    Args:
        hashes: 64-bit numbers.
        places: where they are in the run; None for those of earlier runs.
        parts: the number of parts, a power of two.
    """
    last = pc.bit_wise_and(hashes, pa.scalar(parts - 1, pa.int64()))
    for part in range(parts):
        chosen = pc.equal(last, part)
        yield part, _Bits(_bytes(hashes.filter(chosen)), _bytes(places.filter(chosen)) if places is not None else b"")


def _bytes(numbers: pa.Array) -> bytes:
    data: bytes = numbers.buffers()[1].slice(numbers.offset * _BYTES, len(numbers) * _BYTES).to_pybytes()
    return data


def _numbers(texts: Iterable[bytes]) -> pa.Array:
    data = b"".join(texts)
    return pa.Array.from_buffers(pa.int64(), len(data) // _BYTES, [None, pa.py_buffer(data)])


def repeated_of(bits: Iterable[_Bits]) -> Repeated:
    """Return what is there twice in one part.

    Args:
        bits: all of its hashes.
    """
    found = list(bits)
    own = [one for one in found if one.places]
    hashes, places = _numbers(one.hashes for one in own), _numbers(one.places for one in own)
    earlier = _numbers(one.hashes for one in found if not one.places)
    counts = hashes.value_counts()
    known = pc.unique(earlier.filter(pc.is_in(earlier, hashes)))  # the run has fewer than the window
    twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    chosen = places.filter(pc.is_in(hashes, pa.concat_arrays([twice, known])))
    return Repeated(chosen.to_pylist(), known.to_pylist())
