"""Files of a base merged into a new one, by Arrow in Spark's workers: in a third of the time that Spark takes.

The rows that stay in a file keep their values and types, so only keys, positions and flags have to be read.
"""

from __future__ import annotations

import uuid
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from onefold.core.errors import InvalidInput
from onefold.merge.base_table import DELETED, POSITION
from onefold.spark.io.base_output import StagedFiles
from onefold.spark.io.filesystem import Folder
from onefold.spark.io.manifest import TEMPORARY
from onefold.spark.reconcile.file_merge import FileMatches, match_winners
from onefold.spark.reconcile.parquet_copy import FileCopy, copy_file, read_columns

_MANY, _SMALL = 64, 32 * 2**20
"""More files than this, of fewer bytes than this on average, are better read and written again, as fewer files."""


@dataclass(frozen=True)
class MergedFiles:
    """Files of a base that have become files of a new one.

    files: the names of the new files.
    rows: the number of rows in them.
    winners: the number of rows in the files of the winners.
    counts: the counts of the report.
    late: for each file of the winners, the numbers of its rows that are not newer than the base's.
    """

    files: tuple[str, ...]
    rows: int
    winners: int
    counts: Mapping[str, int]
    late: tuple[array[int], ...]


@dataclass(frozen=True)
class _MergeTask:
    """Files of a base, each to be copied without the rows that newer winners replace.

    files: the URI of each file, and the name of the new one.
    folder: the URI of the folder for the new files.
    winners: the URIs of the winners' files.
    """

    files: tuple[tuple[str, str], ...]
    folder: str
    winners: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True)
class _MergedFile:
    """A file that a task has merged.

    name: the name that the file is to have.
    attempt: the name of the file that this attempt of the task has written.
    matches: the rows of the file whose keys have winners.
    sizes: the number of rows in each of the winners' files.
    """

    name: str
    attempt: str
    matches: FileMatches
    sizes: tuple[int, ...]


def can_copy(spark: SparkSession, uri: str, files: Sequence[str], output: str) -> bool:
    """Return whether the workers can read a base with Arrow, and its files are not many small ones.

    Args:
        spark: the session.
        uri: the folder of the base.
        files: the names of its files.
        output: the folder of the new base.
    """
    if not files or _scheme(spark, uri) != _scheme(spark, output):
        return False
    sizes = {entry.path: entry.size for entry in Folder(spark, uri).files()}
    are_small = sum(sizes[name] for name in files) < _SMALL * len(files)
    if len(files) > _MANY and are_small:
        return False
    try:
        return bool(spark.sparkContext.parallelize([Folder(spark, uri).escaped(files[0])], 1).map(_can_read).collect()[0])
    except (Py4JJavaError, PySparkException):  # workers with another Python than the driver's, without this library
        return False


def merge_files(
    spark: SparkSession, uri: str, files: Sequence[str], winners: StagedFiles, keys: Sequence[str], output: str
) -> MergedFiles:
    """Copy the files of a base into the output, without the rows that newer winners replace.

    Args:
        spark: the session.
        uri: the folder of the base.
        files: the names of its files.
        winners: the winners.
        keys: the columns of the key.
        output: the folder of the new base.

    Raises:
        InvalidInput: the base has the key of a winner more than once.
    """
    base, staged = Folder(spark, uri), Folder(spark, winners.uri)
    winner_files, attempts, names = tuple(map(staged.escaped, winners.files)), _Attempts(spark, output), _names(len(files))
    named = [(base.escaped(file), name) for file, name in zip(files, names, strict=True)]
    # Each task reads all winners, so there are only as many tasks as run at the same time.
    count = min(len(files), spark.sparkContext.defaultParallelism)
    tasks = [_MergeTask(tuple(named[task::count]), attempts.uri, winner_files, tuple(keys)) for task in range(count)]
    merged = spark.sparkContext.parallelize(tasks, count).flatMap(_merge).collect()
    found = [number for one in merged for number in one.matches.winners]
    if len(set(found)) != len(found):
        raise InvalidInput(f"{uri} has keys that are not unique among those that changed: name other --keys")
    attempts.take([one.attempt for one in merged], [one.name for one in merged])
    return _summed(names, merged)


def _summed(names: tuple[str, ...], merged: Sequence[_MergedFile]) -> MergedFiles:
    sizes, matches = merged[0].sizes, [one.matches for one in merged]
    return MergedFiles(
        names,
        sum(one.rows - len(one.dropped) for one in matches),
        sum(sizes),
        {name: sum(one.counts[name] for one in matches) for name in matches[0].counts},
        _by_file(sorted(number for one in matches for number in one.late), sizes),
    )


def copy_without(spark: SparkSession, staged: StagedFiles, dropped: Sequence[array[int]], output: str) -> None:
    """Copy staged files into the output by their names, without some rows.

    Args:
        spark: the session.
        staged: the files.
        dropped: for each file, the numbers of the rows that are left out, in order.
        output: the folder of the new base.
    """
    source, attempts = Folder(spark, staged.uri), _Attempts(spark, output)
    names = [name.removesuffix(".parquet") for name in staged.files]
    copies = [
        FileCopy(source.escaped(file), attempts.uri, name, rows)
        for file, name, rows in zip(staged.files, names, dropped, strict=True)
    ]
    attempts.take(spark.sparkContext.parallelize(copies, len(copies)).map(copy_file).collect(), staged.files)


class _Attempts:
    """A folder for the files of tasks: each attempt of a task writes a file of its own, and the output takes one of them."""

    def __init__(self, spark: SparkSession, output: str) -> None:
        self._target = Folder(spark, output)
        self._path = f"{TEMPORARY}/{uuid.uuid4().hex}"
        self.uri = self._target.escaped(self._path)

    def take(self, attempts: Sequence[str], names: Sequence[str]) -> None:
        for attempt, name in zip(attempts, names, strict=True):
            self._target.rename(f"{self._path}/{attempt}", name)


def _names(count: int) -> tuple[str, ...]:
    writer = uuid.uuid4().hex
    return tuple(f"part-{number:05}-{writer}-c000.parquet" for number in range(count))


def _by_file(numbers: Sequence[int], sizes: Sequence[int]) -> tuple[array[int], ...]:
    """Split numbers of rows of all files, in order, into those of each file.

    Examples:
        >>> _by_file([1, 3, 4], [2, 0, 3])
        (array('q', [1]), array('q'), array('q', [1, 2]))
    """
    bounds = pairwise(accumulate(sizes, initial=0))
    return tuple(
        array("q", (number - first for number in numbers[bisect_left(numbers, first) : bisect_left(numbers, end)]))
        for first, end in bounds
    )


def _scheme(spark: SparkSession, uri: str) -> str:
    return Folder(spark, uri).qualified().split(":")[0]


def _can_read(uri: str) -> bool:
    """Return whether this worker, whose files and libraries may differ from the driver's, can open a file with Arrow."""
    try:
        from pyarrow.fs import FileSystem

        system, path = FileSystem.from_uri(uri)
        with system.open_input_file(path):
            return True
    except (ImportError, OSError, ValueError):
        return False


def _merge(task: _MergeTask) -> Iterator[_MergedFile]:
    """Merge some files of a base, in a worker."""
    import pyarrow as pa

    columns = (*task.keys, POSITION, DELETED)
    tables = [read_columns(uri, columns) for uri in task.winners]
    winners, sizes = pa.concat_tables(tables), tuple(table.num_rows for table in tables)
    for source, name in task.files:
        rows = read_columns(source, columns)
        matches = match_winners(rows, winners, task.keys)
        yield _MergedFile(name, copy_file(FileCopy(source, task.folder, name, matches.dropped), rows), matches, sizes)
