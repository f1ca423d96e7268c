"""Tasks that read files of events themselves: Spark places them, starts failed ones again, and returns the results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from onefold.core.errors import InvalidInput
from onefold.events.shred.set_aside import StoredFile
from onefold.spark.shred.modules import keep_modules
from onefold.spark.shred.places import hadoop_address
from onefold.spark.shred.quarantine import DamagedFiles
from onefold.spark.shred.records import DamagedContent, FilePart, UnreadFile, is_packed

SPLIT_BYTES, LEAST_BYTES, OPEN_BYTES = 64 << 20, 16 << 20, 1 << 20
"""The bytes of events that a task reads at most, and at least where there are so many; what opening a file counts for."""
_UNREAD_FILE = re.compile(rf"{UnreadFile.__name__}: (.+)")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ReadTask:
    """What one task reads.

    Attributes:
        number: of the task.
        parts: the parts of files, in their order.
        chosen: what was found out about some of the records before, by their places among those of the task.
    """

    number: int
    parts: tuple[FilePart, ...]
    chosen: Mapping[int, tuple[str, str]] = field(default_factory=dict)


def read_tasks(sizes: Mapping[str, int], workers: int) -> list[ReadTask]:
    """Divide files among tasks that are neither tiny nor huge: each writes a file for each of its tables.

    Args:
        sizes: the bytes of each file, by its address.
        workers: how many tasks can run at once.

    Examples:
        >>> [[(part.start, part.end) for part in task.parts] for task in read_tasks({"/a": 40 << 20, "/b": 0}, 2)]
        [[(0, 22020096)], [(22020096, 41943040), (0, 0)]]
    """
    total = sum(sizes.values())
    tasks = max(1, min(workers, total // LEAST_BYTES))
    most = min(SPLIT_BYTES, max(OPEN_BYTES, (total + OPEN_BYTES * len(sizes)) // tasks))
    parts = [part for address, size in sizes.items() for part in _parts(address, size, most)]
    bins: list[list[FilePart]] = []
    left = 0
    # The largest first, as Spark does it: what is left over goes where there is room.
    for part in sorted(parts, key=lambda one: one.start - one.end):
        cost = part.end - part.start + OPEN_BYTES
        if not bins or cost > left:
            bins.append([])
            left = most
        bins[-1].append(part)
        left -= cost
    return [ReadTask(number, tuple(some)) for number, some in enumerate(bins)]


def _parts(address: str, size: int, most: int) -> Iterator[FilePart]:
    starts = range(0, max(1, size), max(1, size) if is_packed(address) else most)
    return (FilePart(address, start, min(start + starts.step, size)) for start in starts)


def tasks_of(spark: SparkSession, files: Mapping[str, StoredFile]) -> list[ReadTask]:
    """Return the tasks that read some files; the same ones for the same files."""
    sizes = {hadoop_address(address): file.size for address, file in files.items()}
    return read_tasks(sizes, spark.sparkContext.defaultParallelism)


def run_tasks(spark: SparkSession, tasks: Sequence[ReadTask], work: Callable[[ReadTask], Result]) -> list[Result]:
    """Run tasks, each in a worker, and return what they have returned. Of several attempts of a task one counts.

    Args:
        spark: the session.
        tasks: the tasks.
        work: what a worker does; it may raise DamagedContent and UnreadFile.

    Raises:
        DamagedFiles: the content of files cannot be read.
        InvalidInput: a file cannot be read for another reason: it is gone, or its store does not answer.
    """
    with unread_file_named():
        found = spark.sparkContext.parallelize(tasks, len(tasks)).map(_Attempt(work).run).collect()
    if damaged := {one.address: one.reason for one in found if isinstance(one, _Damage)}:
        raise DamagedFiles(damaged)
    return [one for one in found if not isinstance(one, _Damage)]


@dataclass(frozen=True)
class _Damage:
    """What a task returns that has found a damaged file: another attempt would find the same."""

    address: str
    reason: str


@dataclass(frozen=True)
class _Attempt(Generic[Result]):
    work: Callable[[ReadTask], Result]

    def run(self, task: ReadTask) -> Result | _Damage:
        keep_modules()
        try:
            return self.work(task)
        except DamagedContent as error:
            return _Damage(error.address, error.reason)


@contextmanager
def unread_file_named() -> Iterator[None]:
    """Turn the error of a file that a worker cannot read into one line with its address.

    Raises:
        InvalidInput: a file cannot be read.
        Py4JJavaError: the tasks have failed for another reason.
    """
    try:
        yield
    except Py4JJavaError as error:
        if match := _UNREAD_FILE.search(str(error.java_exception.getMessage())):
            raise InvalidInput(f"--events: {match[1]}: replace or remove the file, and start the job again") from error
        raise
