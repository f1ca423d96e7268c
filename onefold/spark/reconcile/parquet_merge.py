"""Files of a base merged into a new one, by Arrow in Spark's workers: in a third of the time that Spark takes.

What is left of a file is the same values in the same types, so nothing has to be understood of it but keys, positions and
flags. A file that loses no row is copied as it is.
"""

from __future__ import annotations

import uuid
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from onefold.core.errors import InvalidInput
from onefold.merge.base_table import DELETED, POSITION
from onefold.spark.io.base_folder import TEMPORARY, StagedFiles
from onefold.spark.io.filesystem import Folder
from onefold.spark.reconcile.file_merge import FileMatches, meet

if TYPE_CHECKING:
    from pyarrow import Table
    from pyarrow.fs import FileSystem
    from pyarrow.parquet import ParquetFile

_BATCH = 131_072
_GROUP = 128 * 2**20
"""Bytes in memory of the rows of one row group of a new file. Small groups cost whoever reads them; a worker holds one."""
_UNREADABLE = "[FAILED_READ_FILE] {}: {}"
_CODECS = {"UNCOMPRESSED": "none", "UNKNOWN": "lz4"}
"""Arrow writes by other names than it reads: no compression, and LZ4 in the frames of Hadoop, which it does not write."""
_MANY, _SMALL = 64, 32 * 2**20
"""So many files that are so small on average are better read and written anew, as fewer."""


@dataclass(frozen=True)
class CopiedFiles:
    """Files of a base that have become files of a new one.

    rows: those that stay. winners: those in the files of the winners. counts: what these do, as in the report. late: of each
    of their files, the numbers of the rows that are not newer than the base's.
    """

    files: tuple[str, ...]
    rows: int
    winners: int
    counts: Mapping[str, int]
    late: tuple[array[int], ...]


@dataclass(frozen=True)
class _Copy:
    """A file to be copied without some of its rows."""

    source: str
    folder: str
    name: str
    dropped: array[int]


@dataclass(frozen=True)
class _Merge:
    """Files of a base, each to be copied without the rows that newer winners replace.

    files: where each one is, and what the new one is called.
    """

    files: tuple[tuple[str, str], ...]
    folder: str
    winners: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True)
class _Merged:
    """name: of the new file. tried: the one that this try of a task has written. sizes: of the winners' files, in rows."""

    name: str
    tried: str
    met: FileMatches
    sizes: tuple[int, ...]


def can_copy(spark: SparkSession, uri: str, files: Sequence[str], output: str) -> bool:
    """Whether the workers have Arrow and can read the base with it, and it has not become many small files."""
    if not files or _scheme(spark, uri) != _scheme(spark, output):
        return False
    sizes = {entry.path: entry.size for entry in Folder(spark, uri).files()}
    small = sum(sizes[name] for name in files) < _SMALL * len(files)
    if len(files) > _MANY and small:
        return False
    try:
        return bool(spark.sparkContext.parallelize([Folder(spark, uri).escaped(files[0])], 1).map(_can_read).collect()[0])
    except (Py4JJavaError, PySparkException):  # workers of another Python than the driver's, without this library
        return False


def merge_files(
    spark: SparkSession, uri: str, files: Sequence[str], winners: StagedFiles, keys: Sequence[str], output: str
) -> CopiedFiles:
    """Copy the files of a base into the output, without the rows that newer winners replace.

    Raises:
        InvalidInput: the base has the key of a winner more than once.
    """
    base, staged = Folder(spark, uri), Folder(spark, winners.uri)
    read, folder, names = tuple(map(staged.escaped, winners.files)), _Written(spark, output), _names(len(files))
    named = [(base.escaped(file), name) for file, name in zip(files, names, strict=True)]
    # A task reads all winners, so there are as many tasks as run at a time.
    tasks = min(len(files), spark.sparkContext.defaultParallelism)
    merges = [_Merge(tuple(named[task::tasks]), folder.uri, read, tuple(keys)) for task in range(tasks)]
    merged = spark.sparkContext.parallelize(merges, tasks).flatMap(_merge).collect()
    found = [number for one in merged for number in one.met.winners]
    if len(set(found)) != len(found):
        raise InvalidInput(f"{uri} has keys that are not unique among those that changed")
    folder.take([one.tried for one in merged], [one.name for one in merged])
    return CopiedFiles(
        names,
        sum(one.met.rows - len(one.met.dropped) for one in merged),
        sum(merged[0].sizes),
        {name: sum(one.met.counts[name] for one in merged) for name in merged[0].met.counts},
        _by_file(sorted(number for one in merged for number in one.met.late), merged[0].sizes),
    )


def copy_without(spark: SparkSession, staged: StagedFiles, gone: Sequence[array[int]], output: str) -> None:
    """Copy staged files into the output by their names, without the rows of these numbers."""
    source, folder = Folder(spark, staged.uri), _Written(spark, output)
    names = [name.removesuffix(".parquet") for name in staged.files]
    copies = [
        _Copy(source.escaped(file), folder.uri, name, rows)
        for file, name, rows in zip(staged.files, names, gone, strict=True)
    ]
    folder.take(spark.sparkContext.parallelize(copies, len(copies)).map(_copy).collect(), staged.files)


class _Written:
    """A folder for what tasks write: each try writes a file of its own, of which one is taken into the output."""

    def __init__(self, spark: SparkSession, output: str) -> None:
        self._target = Folder(spark, output)
        self._path = f"{TEMPORARY}/{uuid.uuid4().hex}"
        self.uri = self._target.escaped(self._path)

    def take(self, tried: Sequence[str], names: Sequence[str]) -> None:
        for one, name in zip(tried, names, strict=True):
            self._target.rename(f"{self._path}/{one}", name)


def _names(count: int) -> tuple[str, ...]:
    writer = uuid.uuid4().hex
    return tuple(f"part-{number:05}-{writer}-c000.parquet" for number in range(count))


def _by_file(numbers: Sequence[int], sizes: Sequence[int]) -> tuple[array[int], ...]:
    """Split numbers of rows of all files, in order, into those of each file.

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
    """In a worker, whose files and libraries may be others than the driver's."""
    try:
        from pyarrow.fs import FileSystem

        system, path = FileSystem.from_uri(uri)
        with system.open_input_file(path):
            return True
    except (ImportError, OSError, ValueError):
        return False


def _merge(merge: _Merge) -> Iterator[_Merged]:
    """In a worker: some files of a base."""
    import pyarrow as pa

    slim = (*merge.keys, POSITION, DELETED)
    read = [_slim(uri, slim) for uri in merge.winners]
    winners, sizes = pa.concat_tables(read), tuple(table.num_rows for table in read)
    for source, name in merge.files:
        rows = _slim(source, slim)
        met = meet(rows, winners, merge.keys)
        yield _Merged(name, _copy(_Copy(source, merge.folder, name, met.dropped), rows), met, sizes)


def _slim(uri: str, columns: Sequence[str]) -> Table:
    from pyarrow.fs import FileSystem
    from pyarrow.parquet import ParquetFile

    system, path = FileSystem.from_uri(uri)
    with _reading(uri), system.open_input_file(path) as opened:
        return ParquetFile(opened).read(columns=list(columns), use_threads=False)


@contextmanager
def _reading(uri: str) -> Iterator[None]:
    """Say as Spark does which file cannot be read, since Arrow does not name it."""
    try:
        yield
    except (OSError, ValueError) as error:  # Arrow's own errors are of these, too
        raise OSError(_UNREADABLE.format(uri, " ".join(str(error).split()))) from error


def _copy(copy: _Copy, read: Table | None = None) -> str:
    """In a worker: one file. `read` has some of its columns, which are not read again."""
    from pyarrow.fs import FileSystem

    task = TaskContext.get()
    tried = f"{copy.name}.{task.taskAttemptId() if task else 0}"
    system, source = FileSystem.from_uri(copy.source)
    _, folder = FileSystem.from_uri(copy.folder)
    system.create_dir(folder)
    if copy.dropped:
        _copy_without(system, source, f"{folder}/{tried}", copy.dropped, read)
    else:
        system.copy_file(source, f"{folder}/{tried}")
    return tried


def _copy_without(system: FileSystem, source: str, target: str, dropped: array[int], read: Table | None) -> None:
    from pyarrow.parquet import ParquetFile, ParquetWriter

    with _reading(source), system.open_input_file(source) as opened, system.open_output_stream(target) as written:
        parquet = ParquetFile(opened)
        with ParquetWriter(written, parquet.schema_arrow, **_written_like(parquet)) as writer:
            for rows in _groups(_without(dropped, _batches(parquet, read))):
                writer.write_table(rows, row_group_size=rows.num_rows)


def _written_like(parquet: ParquetFile) -> dict[str, Any]:
    """The same compression, and dictionaries where there are any: to try others is most of the work. No least and greatest
    positions: they are long, and nobody reads the rows between two of them.
    """
    group = parquet.metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    dictionaries = [
        column.path_in_schema for column in columns if any(name.endswith("DICTIONARY") for name in column.encodings)
    ]
    return {
        "compression": _CODECS.get(columns[0].compression, columns[0].compression.lower()),
        "use_dictionary": dictionaries,
        "write_statistics": [column.path_in_schema for column in columns if column.path_in_schema != POSITION],
        "store_schema": False,
    }


def _groups(batches: Iterator[Table]) -> Iterator[Table]:
    """Put batches together, since each one that is written alone becomes a row group."""
    import pyarrow as pa

    held: list[Table] = []
    for batch in filter(len, batches):  # there is no row group without rows
        held.append(batch)
        if sum(one.nbytes for one in held) >= _GROUP:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def _without(dropped: array[int], batches: Iterator[Table]) -> Iterator[Table]:
    import pyarrow as pa

    first = 0
    for batch in batches:
        keep = bytearray(b"\1") * batch.num_rows
        for row in dropped[bisect_left(dropped, first) : bisect_left(dropped, first + batch.num_rows)]:
            keep[row - first] = 0
        first += batch.num_rows
        yield batch.filter(pa.Array.from_buffers(pa.uint8(), len(keep), [None, pa.py_buffer(keep)]).cast(pa.bool_()))


def _batches(parquet: ParquetFile, read: Table | None) -> Iterator[Table]:
    """All columns of a file, batch by batch: those that were read already, and the others."""
    import pyarrow as pa

    schema, first = parquet.schema_arrow, 0
    others = [name for name in schema.names if read is None or name not in read.column_names]
    for batch in parquet.iter_batches(_BATCH, columns=others, use_threads=False):
        parts = [pa.Table.from_batches([batch]), *([read.slice(first, batch.num_rows)] if read else [])]
        first += batch.num_rows
        columns = {name: part[name] for part in parts for name in part.column_names}
        yield pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)
