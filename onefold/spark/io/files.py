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
from onefold.spark.io.filesystem import Entry, Folder
from onefold.spark.io.frames import LandedFrame
from onefold.spark.io.held_form import in_held_form
from onefold.spark.io.json_files import empty_columns, file_reader, read_json
from onefold.spark.io.parquet_files import read_parquet
from onefold.spark.io.partitions import Partitions

_KINDS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".ndjson": "json"}

_COMPLAINTS = (
    "FAILED_READ_FILE", "MALFORMED", "INVALID_JSON_RECORD_TYPE", "is not a Parquet file", "CAST_INVALID_INPUT",
    "USER_RAISED_EXCEPTION",
)  # fmt: skip
_CAUSE = "Caused by: "
_TRACEBACK = "Traceback (most recent call last):"


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Spark's complaint of what is in a file, which often comes only when the rows are wanted."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        told = complaint(str(error))
        if told is None:
            raise
        raise InvalidInput(f"{what} cannot be read: {told}") from error


def complaint(text: str) -> str | None:
    """What Spark complains of in what it read, which names the file, and the cause, which names the fault in it."""
    lines = text.splitlines()
    first = next((line for line in lines if any(name in line for name in _COMPLAINTS)), None)
    if first is None:
        return None
    # Of an error in a worker's Python, the first line is that of a traceback.
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE) and not line.endswith(_TRACEBACK)]
    return "; ".join(dict.fromkeys(_without_class(line) for line in (first, *causes[-1:])))


def _without_class(line: str) -> str:
    """From the name that Spark gave the fault; without one, without the name of Java's class."""
    found = re.search(r"\[[A-Z][A-Z_.]+\]", line)
    return line[found.start() :].strip() if found else re.sub(r"^[: ]*(\w+\.)+\w+: ", "", line).strip()


def read_folder(spark: SparkSession, uri: str, wanted: Sequence[str] = ()) -> LandedFrame:
    """Its rows in held form. A folder is one version: all of its files have the same columns, as far as they have them.

    Args:
        wanted: columns that are of use even where they hold no value.

    Raises:
        InvalidInput: there are no rows, or not of one kind, or they cannot be read.
    """
    folder = Folder(spark, uri)
    entries = rows_in(folder)
    kind = _kind(uri, entries)
    partitions = Partitions.of(folder, entries)
    try:
        with reading(uri):
            if kind == "parquet":
                return read_parquet(spark, uri, entries, partitions)
            frame = read_json(spark, uri)
            empty = empty_columns(spark, uri, frame, wanted)
            return in_held_form(uri, frame, partitions, empty)
    except InvalidInput as error:
        if kind == "json" and (line := malformed_line(file_reader(spark), uri)):
            raise InvalidInput(f"{line}: not JSON") from error
        raise
    except PySparkException as error:
        raise InvalidInput(f"{uri} cannot be read: {_first_line(error)}") from error


def rows_in(folder: Folder) -> list[Entry]:
    """The files that hold rows."""
    return [entry for entry in folder.files() if not entry.hidden]


def _kind(uri: str, entries: Sequence[Entry]) -> str:
    if not entries:
        raise InvalidInput(f"{uri}: there is no such file, or no file of rows in the folder")
    kinds = {_KINDS.get(_suffix(entry.path)) for entry in entries}
    kind = next(iter(kinds))
    if len(kinds) > 1 or kind is None:
        found = ", ".join(sorted({_suffix(entry.path) or entry.path for entry in entries}))
        raise InvalidInput(f"{uri}: rows come in files of one kind of {', '.join(_KINDS)}; found {found}")
    return kind


def _suffix(path: str) -> str:
    plain = path.removesuffix(".gz")
    return plain[plain.rfind(".") :] if "." in plain.rsplit("/", 1)[-1] else ""


def _first_line(error: PySparkException) -> str:
    return (error.getMessage() or str(error)).strip().splitlines()[0]


_SCHEMA = "_ STRING, _corrupt_record STRING"


def malformed_line(reader: DataFrameReader, uri: str) -> str | None:
    """The file and the line; None where each is an object. Every row is read once more."""
    found = reader.text(uri).where(_is_malformed()).select(F.input_file_name()).first()
    if found is None:
        return None
    lines = reader.text(found[0]).select(_is_malformed()).toLocalIterator()
    return next(f"{found[0]}, line {number}" for number, (malformed,) in enumerate(lines, 1) if malformed)


def _is_malformed() -> Value:
    """Whether Spark's own parser takes no object from the line; a blank one is passed over."""
    return (F.trim("value") != "") & F.from_json("value", _SCHEMA).getField("_corrupt_record").isNotNull()
