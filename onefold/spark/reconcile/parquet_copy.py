"""Copies of Parquet files without some of their rows, by Arrow in Spark's workers. A file that keeps all is not decoded."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext

from onefold.merge.base_table import POSITION

if TYPE_CHECKING:
    from pyarrow import Table
    from pyarrow.fs import FileSystem
    from pyarrow.parquet import ParquetFile

_BATCH = 131_072
"""The number of rows that are read at once."""
_GROUP = 128 * 2**20
"""Bytes in memory of the rows of one row group of a new file. A reader pays for each group; a worker holds one in memory."""
_UNREADABLE = "[FAILED_READ_FILE] {}: {}"
_CODECS = {"UNCOMPRESSED": "none", "UNKNOWN": "lz4"}
"""Arrow's names for writing where they differ from those for reading: no compression, and LZ4 in the frames of Hadoop, which
Arrow reads and does not write."""


@dataclass(frozen=True)
class FileCopy:
    """A file to be copied without some of its rows.

    source: the URI of the file.
    folder: the URI of the folder for the new file.
    name: the name of the new file.
    dropped: the numbers of the rows that are left out, in order.
    """

    source: str
    folder: str
    name: str
    dropped: array[int]


def copy_file(copy: FileCopy, read: Table | None = None) -> str:
    """Copy one file, in a worker, and return the name of the copy, which is that of this attempt of the task.

    Args:
        copy: the file, and the rows that are left out.
        read: some columns of the file that were read already, and are not read again.
    """
    from pyarrow.fs import FileSystem

    task = TaskContext.get()
    attempt = f"{copy.name}.{task.taskAttemptId() if task else 0}"
    system, source = FileSystem.from_uri(copy.source)
    _, folder = FileSystem.from_uri(copy.folder)
    system.create_dir(folder)
    if copy.dropped:
        _copy_without(system, source, f"{folder}/{attempt}", copy.dropped, read)
    else:
        system.copy_file(source, f"{folder}/{attempt}")
    return attempt


def read_columns(uri: str, columns: Sequence[str]) -> Table:
    """Return some columns of a file."""
    from pyarrow.fs import FileSystem
    from pyarrow.parquet import ParquetFile

    system, path = FileSystem.from_uri(uri)
    with _reading(uri), system.open_input_file(path) as opened:
        return ParquetFile(opened).read(columns=list(columns), use_threads=False)


@contextmanager
def _reading(uri: str) -> Iterator[None]:
    """Name the file that cannot be read, as Spark does: Arrow's errors do not name it.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        yield
    except (OSError, ValueError) as error:  # Arrow's own errors are subclasses of these
        raise OSError(_UNREADABLE.format(uri, " ".join(str(error).split()))) from error


def _copy_without(system: FileSystem, source: str, target: str, dropped: array[int], read: Table | None) -> None:
    from pyarrow.parquet import ParquetFile, ParquetWriter

    with _reading(source), system.open_input_file(source) as opened, system.open_output_stream(target) as output:
        parquet = ParquetFile(opened)
        with ParquetWriter(output, parquet.schema_arrow, **_writer_options(parquet)) as writer:
            for rows in _groups(_without(dropped, _batches(parquet, read))):
                writer.write_table(rows, row_group_size=rows.num_rows)


def _writer_options(parquet: ParquetFile) -> dict[str, Any]:
    """Return the options that write a file like this one.

    The compression is the same. Only columns that have dictionaries get some, because trying others is most of the work.
    Positions get no statistics: positions are long, and nobody reads the rows between two of them.
    """
    group = parquet.metadata.row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
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
    """Concatenate batches up to the size of a row group: each batch that is written alone becomes a row group."""
    import pyarrow as pa

    group: list[Table] = []
    for batch in filter(len, batches):  # a row group needs rows
        group.append(batch)
        if sum(one.nbytes for one in group) >= _GROUP:
            yield pa.concat_tables(group)
            group = []
    if group:
        yield pa.concat_tables(group)


def _without(dropped: array[int], batches: Iterator[Table]) -> Iterator[Table]:
    """Leave out the rows of these numbers, which count from the first batch on."""
    import pyarrow as pa

    first = 0
    for batch in batches:
        # One byte for each row, 1 for those that stay: Arrow makes a mask of the bytes without a Python object per row.
        keep = bytearray(b"\1") * batch.num_rows
        for row in dropped[bisect_left(dropped, first) : bisect_left(dropped, first + batch.num_rows)]:
            keep[row - first] = 0
        first += batch.num_rows
        yield batch.filter(pa.Array.from_buffers(pa.uint8(), len(keep), [None, pa.py_buffer(keep)]).cast(pa.bool_()))


def _batches(parquet: ParquetFile, read: Table | None) -> Iterator[Table]:
    """Yield all columns of a file batch by batch: the columns that were read already, and the others from the file."""
    import pyarrow as pa

    schema, first = parquet.schema_arrow, 0
    others = [name for name in schema.names if read is None or name not in read.column_names]
    for batch in parquet.iter_batches(_BATCH, columns=others, use_threads=False):
        parts = [pa.Table.from_batches([batch]), *([read.slice(first, batch.num_rows)] if read else [])]
        first += batch.num_rows
        columns = {name: part[name] for part in parts for name in part.column_names}
        yield pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)
