"""Files of a base copied into a new one, without some of their rows, by Arrow: in a third of the time that Spark takes.

Spark finds which rows go, by their place in their file. What is left is the same values in the same types, so nothing has to
be understood of it. A file that loses no row is copied as it is.
"""

from __future__ import annotations

import uuid
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from onefold.base import POSITION
from onefold.names import fold_case
from onefold.spark.filesystem import Folder

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table
    from pyarrow.fs import FileSystem
    from pyarrow.parquet import ParquetFile

FILE, ROW = "_onefold_file", "_onefold_row"
"""Where a row of the base is: the name of its file, and its number there."""

_HIDDEN = "_metadata"
"""What Spark calls the struct of what it knows of a row's file; a column of that name hides it."""
_BATCH = 65_536
_GROUP = 128 * 2**20
"""Bytes in memory of the rows of one row group of a new file. Small groups cost whoever reads them; a worker holds one."""
_MANY, _SMALL = 64, 32 * 2**20
"""So many files that are so small on average are better read and written anew, as fewer."""


@dataclass(frozen=True)
class Kept:
    """What stays of a base: its files without some of their rows. rows: how many that are."""

    uri: str
    files: tuple[str, ...]
    dropped: Mapping[str, array[int]] = field(default_factory=dict)
    rows: int = 0


@dataclass(frozen=True)
class _Copy:
    source: str
    folder: str
    name: str
    dropped: array[int]


def places() -> tuple[Value, Value]:
    """Where a row of a frame of Parquet files is, as columns that only the frame itself knows."""
    return F.col(f"{_HIDDEN}.file_name").alias(FILE), F.col(f"{_HIDDEN}.row_index").alias(ROW)


def can_copy(spark: SparkSession, uri: str, files: Sequence[str], columns: Sequence[str], output: str) -> bool:
    """Whether the workers have Arrow and can read the base with it, and it has not become many small files."""
    if fold_case(_HIDDEN) in map(fold_case, columns) or _scheme(spark, uri) != _scheme(spark, output):
        return False
    sizes = {entry.path: entry.size for entry in Folder(spark, uri).files()}
    small = sum(sizes[name] for name in files) < _SMALL * len(files)
    if not files or (len(files) > _MANY and small):
        return False
    try:
        return bool(spark.sparkContext.parallelize([Folder(spark, uri).escaped(files[0])], 1).map(_can_read).collect()[0])
    except (Py4JJavaError, PySparkException):  # workers of another Python than the driver's, without this library
        return False


def places_by_file(rows: DataFrame) -> dict[str, array[int]]:
    """The numbers of these rows in each file, in order."""
    import pyarrow.compute as pc

    found: dict[str, array[int]] = {}
    table = rows.select(FILE, ROW).toArrow().sort_by([(FILE, "ascending"), (ROW, "ascending")])
    first = 0
    for file in pc.value_counts(table[FILE]).to_pylist():  # in the order in which they come
        found[file["values"]] = array("q", table[ROW].slice(first, file["counts"]).to_pylist())
        first += file["counts"]
    return found


def copy_kept(spark: SparkSession, kept: Kept, output: str) -> tuple[str, ...]:
    """Copy into the output, and name the new files. Each try of a task writes a file of its own, of which one is taken."""
    writer = uuid.uuid4().hex
    temporary = f"_temporary/{writer}"
    base, target = Folder(spark, kept.uri), Folder(spark, output)
    folder = target.escaped(temporary)
    copies = [
        _Copy(base.escaped(name), folder, f"part-{number:05}-{writer}-c000", kept.dropped.get(name, array("q")))
        for number, name in enumerate(kept.files)
    ]
    taken = spark.sparkContext.parallelize(copies, len(copies)).map(_copy).collect()
    names = tuple(f"{copy.name}.parquet" for copy in copies)
    for tried, name in zip(taken, names, strict=True):
        target.rename(f"{temporary}/{tried}", name)
    target.remove("_temporary")
    return names


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


def _copy(copy: _Copy) -> str:
    """In a worker: one file."""
    from pyarrow.fs import FileSystem

    task = TaskContext.get()
    tried = f"{copy.name}.{task.taskAttemptId() if task else 0}"
    system, source = FileSystem.from_uri(copy.source)
    _, folder = FileSystem.from_uri(copy.folder)
    system.create_dir(folder)
    if copy.dropped:
        _copy_without(system, source, f"{folder}/{tried}", copy.dropped)
    else:
        system.copy_file(source, f"{folder}/{tried}")
    return tried


def _copy_without(system: FileSystem, source: str, target: str, dropped: array[int]) -> None:
    from pyarrow.parquet import ParquetFile, ParquetWriter

    with system.open_input_file(source) as opened, system.open_output_stream(target) as written:
        parquet = ParquetFile(opened)
        with ParquetWriter(written, parquet.schema_arrow, **_written_like(parquet)) as writer:
            for rows in _groups(_kept_batches(parquet, dropped)):
                writer.write_table(rows, row_group_size=rows.num_rows)


def _written_like(parquet: ParquetFile) -> dict[str, Any]:
    """The same compression, and dictionaries where there are any: to try others is most of the work. No least and greatest
    positions: they are long, and nobody reads the rows between two of them."""
    group = parquet.metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    dictionaries = [
        column.path_in_schema for column in columns if any(name.endswith("DICTIONARY") for name in column.encodings)
    ]
    return {
        "compression": columns[0].compression.lower(),
        "use_dictionary": dictionaries,
        "write_statistics": [column.path_in_schema for column in columns if column.path_in_schema != POSITION],
        "store_schema": False,
    }


def _groups(batches: Iterator[RecordBatch]) -> Iterator[Table]:
    """Put batches together, since each one that is written alone becomes a row group."""
    import pyarrow as pa

    held: list[RecordBatch] = []
    for batch in filter(len, batches):  # there is no row group without rows
        held.append(batch)
        if sum(one.nbytes for one in held) >= _GROUP:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _kept_batches(parquet: ParquetFile, dropped: array[int]) -> Iterator[RecordBatch]:
    import pyarrow as pa

    first = 0
    for batch in parquet.iter_batches(_BATCH, use_threads=False):
        keep = bytearray(b"\1") * batch.num_rows
        for row in dropped[bisect_left(dropped, first) : bisect_left(dropped, first + batch.num_rows)]:
            keep[row - first] = 0
        first += batch.num_rows
        yield batch.filter(pa.Array.from_buffers(pa.uint8(), len(keep), [None, pa.py_buffer(keep)]).cast(pa.bool_()))
