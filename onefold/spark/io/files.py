"""Rows from a folder of Parquet or JSON lines, or from one such file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column as Value
from pyspark.sql import DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from onefold.core.errors import InvalidInput
from onefold.core.text import shown_list
from onefold.spark.io.filesystem import Folder, FolderEntry
from onefold.spark.io.frames import LandedFrame
from onefold.spark.io.json_files import empty_columns, file_reader, read_json
from onefold.spark.io.parquet_files import read_parquet
from onefold.spark.io.partitions import Partitions
from onefold.spark.io.spark_form import in_spark_form

_KINDS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".ndjson": "json"}

_READ_ERRORS = (
    "FAILED_READ_FILE", "MALFORMED", "INVALID_JSON_RECORD_TYPE", "is not a Parquet file", "CAST_INVALID_INPUT",
    "USER_RAISED_EXCEPTION",
)  # fmt: skip
"""Words in the text of Spark's errors about the content of a file, as opposed to errors in the job."""
NO_ROWS = "{}: there is no such file, or no file of rows in the folder"
_CAUSE = "Caused by: "
_TRACEBACK = "Traceback (most recent call last):"


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn Spark's errors about the content of files, which often come only when rows are used, into one line.

    Args:
        what: the file or folder that the block reads, for the error.

    Raises:
        InvalidInput: the content of a file cannot be read.
        PySparkException: any other error of Spark.
        Py4JJavaError: any other error of Java.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        problem = read_error_in(str(error))
        if problem is None:
            raise
        raise InvalidInput(f"{what} cannot be read: {problem}") from error


def read_error_in(text: str) -> str | None:
    """Return what Spark's text says about a file that it cannot read: the line that names the file, and the last cause.

    Returns:
        None if the error is not about the content of a file.
    """
    lines = text.splitlines()
    first = next((line for line in lines if any(name in line for name in _READ_ERRORS)), None)
    if first is None:
        return None
    # The cause of an error in a worker's Python begins with the first line of a traceback, which says nothing.
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE) and not line.endswith(_TRACEBACK)]
    return "; ".join(dict.fromkeys(_without_class(line) for line in (first, *causes[-1:])))


def _without_class(line: str) -> str:
    """Cut a line before Spark's name of the error; a line without such a name loses the name of Java's class."""
    name = re.search(r"\[[A-Z][A-Z_.]+\]", line)
    return line[name.start() :].strip() if name else re.sub(r"^[: ]*(\w+\.)+\w+: ", "", line).strip()


def read_folder(spark: SparkSession, uri: str, expected: Sequence[str] = ()) -> LandedFrame:
    """Return the rows of a folder in Spark form. A folder is one version: a file may lack columns that other files have.

    Args:
        spark: the session.
        uri: the folder, or a single file.
        expected: columns that count as columns even if no row has a value in them.

    Raises:
        InvalidInput: there are no rows, or rows in files of several kinds, or the rows cannot be read.
    """
    folder = Folder(spark, uri)
    entries = rows_in(folder)
    kind = _kind(uri, entries)
    partitions = Partitions.of(folder, entries)
    try:
        with reading(uri):
            if kind == "parquet":
                return read_parquet(spark, uri, entries, partitions)
            rows = read_json(spark, uri)
            return in_spark_form(uri, rows, partitions, empty_columns(spark, uri, rows, expected))
    except InvalidInput as error:
        if kind == "json" and (line := malformed_line(file_reader(spark), uri)):
            raise InvalidInput(f"{line}: not JSON") from error
        raise
    except PySparkException as error:
        raise InvalidInput(f"{uri} cannot be read: {_first_line(error)}") from error


def rows_in(folder: Folder) -> list[FolderEntry]:
    """Return the files of a folder that hold rows."""
    return [entry for entry in folder.files() if not entry.hidden]


def _kind(uri: str, entries: Sequence[FolderEntry]) -> str:
    if not entries:
        raise InvalidInput(NO_ROWS.format(uri))
    kinds = {_KINDS.get(_suffix(entry.path)) for entry in entries}
    kind = next(iter(kinds))
    if len(kinds) > 1 or kind is None:
        found = shown_list(sorted({_suffix(entry.path) or entry.path for entry in entries}))
        raise InvalidInput(f"{uri}: expected files of one of the kinds {', '.join(_KINDS)}, got {found}: name other files")
    return kind


def _suffix(path: str) -> str:
    plain = path.removesuffix(".gz")
    return plain[plain.rfind(".") :] if "." in plain.rsplit("/", 1)[-1] else ""


def _first_line(error: PySparkException) -> str:
    return (error.getMessage() or str(error)).strip().splitlines()[0]


_SCHEMA = "_ STRING, _corrupt_record STRING"


def malformed_line(reader: DataFrameReader, uri: str) -> str | None:
    """Return the file and the number of the first line that is no JSON object; None if there is no such line.

    Every row is read once more, because Spark's error names only the file.
    """
    row = reader.text(uri).where(_is_malformed()).select(F.input_file_name()).first()
    if row is None:
        return None
    file = row[0]
    lines = reader.text(file).select(_is_malformed()).toLocalIterator()
    return next(f"{file}, line {number}" for number, (malformed,) in enumerate(lines, 1) if malformed)


def _is_malformed() -> Value:
    """Return whether Spark's own parser finds no object in a line; blank lines are well-formed."""
    return (F.trim("value") != "") & F.from_json("value", _SCHEMA).getField("_corrupt_record").isNotNull()
