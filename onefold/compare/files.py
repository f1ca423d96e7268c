"""Rows from files: Parquet, JSON lines and CSV, one file or a folder of them; text compressed by gzip too."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from onefold.compare.findings import FINDING_COLUMNS, Finding
from onefold.compare.partitions import Partition, folders_above, partitions_of
from onefold.core.errors import InvalidInput
from onefold.core.extras import how_to_install
from onefold.core.names import fold_case
from onefold.core.text import reason_of, shown_list

PARQUET, JSON, CSV = ".parquet", ".jsonl", ".csv"
FORMATS = (PARQUET, JSON, CSV)
TEXT_FORMATS = frozenset({CSV, JSON})
"""Formats that write dates and bytes, or every value, as text."""

_FORMATS = {".parquet": PARQUET, ".jsonl": JSON, ".json": JSON, ".ndjson": JSON, ".csv": CSV}
_GZIP = ".gz"
NULL = "\\N"
"""NULL in CSV, which cannot tell empty text from no value. MySQL exports write it, too."""


@dataclass(frozen=True)
class RowSource:
    """Rows, and the format of the files that they come from."""

    rows: Iterable[Mapping[str, Any]]
    format: str


def open_rows(path: Path) -> RowSource:
    """Return the rows of a file or a folder; files are read while the rows are consumed."""
    return RowSource(read_rows(path), format_of(row_files(path)[0].name))


def format_of(name: str) -> str:
    """Return the format of a file, by its name; the file extension itself where no rows come in such files.

    Examples:
        >>> format_of("rows.ndjson.gz"), format_of("notes.txt")
        ('.jsonl', '.txt')
    """
    suffix = _suffix(name)
    return _FORMATS.get(suffix, suffix)


def _suffix(name: str) -> str:
    return PurePath(name.removesuffix(_GZIP)).suffix


def row_files(path: Path) -> list[Path]:
    """Return the files of rows at a path, by name.

    Raises:
        InvalidInput: there is no such file or folder, or its files are not of one known format.
    """
    if not path.exists():
        raise InvalidInput(f"{path}: there is no such file or folder: correct the path")
    found = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file() and _is_seen(one, path))
    if len({format_of(one.name) for one in found}) != 1 or format_of(found[0].name) not in _READERS:
        kinds = shown_list(sorted({_suffix(one.name) or one.name for one in found})) or "none"
        raise InvalidInput(
            f"{path}: expected files of one kind of {', '.join(_FORMATS)}, got {kinds}: name files of one kind"
        )
    return found


def _is_seen(file: Path, folder: Path) -> bool:
    """Return whether a file has data: Spark and Hadoop write others with names that begin with `_` or `.`.

    `_landed_at=2024-01-01` is a partition folder, and has data.
    """
    parts = file.relative_to(folder).parts
    return not any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in parts)


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file or of a folder's files, with the columns of partition folders; JSON's numbers are exact.

    Raises:
        InvalidInput: a file cannot be read; the text names the file, and the line in text.
    """
    files = row_files(path)
    root = str(path.absolute() if path.is_dir() else path.absolute().parent)
    below = {one: one.relative_to(path).as_posix() if path.is_dir() else one.name for one in files}
    above = {name: folders_above(root, name) for name in below.values()}
    partitions = {partition.name: partition for partition in partitions_of(str(path), above)}
    for one in files:
        folders = [(partitions[name], spelled) for name, spelled in above[below[one]]]
        try:
            for row in _READERS[format_of(one.name)](one):
                yield _with_partitions(one, row, folders) if folders else row
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidInput(f"{one} cannot be read: {reason_of(error)}: correct or leave out the file") from error


def _with_partitions(path: Path, row: dict[str, Any], folders: Sequence[tuple[Partition, str]]) -> dict[str, Any]:
    """Add the values of the folders to a row, and return the row.

    Args:
        path: the file of the row.
        row: the row, by column. A column of a folder may be among them, with the folder's value or with NULL.
        folders: the partition columns of the file, each with its value as its folder spells it.

    Raises:
        InvalidInput: the row has another value than the folder.
    """
    as_text = format_of(path.name) == CSV
    for partition, spelled in folders:
        own = next((name for name in row if fold_case(name) == fold_case(partition.name)), partition.name)
        text = partition.values[spelled]
        if row.get(own) is None:
            row[own] = text if as_text else partition.value(spelled)
        elif text is None or not _is_value(row[own], text):
            raise InvalidInput(
                f"{path}: expected one value of the column {own}, got {row[own]} in the file and {text or 'NULL'} in the "
                "name of its folder: rename the folder"
            )
    return row


def _is_value(value: Any, text: str) -> bool:
    """Return whether a value of a file is that of its folder: as text, or as a number."""
    if str(value) == text:
        return True
    try:
        return isinstance(value, int | Decimal) and Decimal(text) == value
    except InvalidOperation:
        return False


def _open(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path) if path.suffix == _GZIP else path.open("rb")


def _read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with _open(path) as lines:
        for number, line in enumerate(lines, 1):
            # `null` is a tombstone of Kafka, and not a row.
            if line.strip() not in (b"", b"null"):
                yield _json_row(path, number, line.rstrip(b"\r\n"))


def _json_row(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_float=Decimal)
    except json.JSONDecodeError as error:
        # Not the whole text of the error, which counts lines within this line.
        raise InvalidInput(
            f"{path}, line {number}: not JSON: {error.msg}, at character {error.colno}: write one JSON object a line"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}, line {number}: not JSON: {reason_of(error)}: write one JSON object a line") from error
    if not isinstance(row, dict):
        raise InvalidInput(f"{path}, line {number}: not a JSON object: write one JSON object a line")
    return row


def _read_csv(path: Path) -> Iterator[dict[str, Any]]:
    # Spreadsheets begin their exports with a byte order mark, which is not part of the first column's name.
    with _open(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as lines:
        reader = csv.DictReader(lines, strict=True)
        try:
            _check_header(path, reader.fieldnames or ())
            for number, row in enumerate(reader, 2):
                if None in row or None in row.values():
                    raise InvalidInput(
                        f"{path}, row {number}: it has not as many values as there are columns in the first line"
                    )
                # An empty value is NULL too, because CSV cannot tell the two apart.
                yield {name: None if value in ("", NULL) else value for name, value in row.items()}
        except (csv.Error, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path}, line {reader.line_num}: not CSV in UTF-8: {reason_of(error)}") from error


def _check_header(path: Path, names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(map(fold_case, names)).items() if count > 1]
    if repeated:
        raise InvalidInput(f"{path}: more than one column is named {name}: rename one" for name in repeated)


def _read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError as error:
        raise InvalidInput(f"{path}: Parquet needs pyarrow: {how_to_install('files')}") from error
    try:
        for batch in parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    except (ArrowException, OSError, ValueError) as error:  # Python has no time with nanoseconds
        raise InvalidInput(f"{path}: not Parquet that can be read: {reason_of(error)}") from error


_READERS: dict[str, Callable[[Path], Iterator[dict[str, Any]]]] = {
    PARQUET: _read_parquet,
    JSON: _read_json_lines,
    CSV: _read_csv,
}


def check_new_file(path: Path) -> None:
    """Check that a new file of findings can be written, before any row is read.

    Raises:
        InvalidInput: the name has an unknown ending, the file exists, or its folder does not exist.
    """
    if path.suffix not in _WRITERS:
        raise InvalidInput(f"--output {path}: name bigquery:DATASET.TABLE, or a file that ends in {', '.join(_WRITERS)}")
    if path.exists():
        raise InvalidInput(_already_exists(path))
    if not path.parent.is_dir():
        raise InvalidInput(f"--output {path}: there is no folder {path.parent}")


def write_findings(path: Path, findings: Iterable[Finding]) -> None:
    """Write findings to a new file, whole or not at all.

    Raises:
        InvalidInput: the file exists already, or cannot be written.
    """
    try:
        new = path.open("xb")
    except FileExistsError as error:
        raise InvalidInput(_already_exists(path)) from error
    except OSError as error:
        raise InvalidInput(f"--output {path}: {error.strerror}") from error
    try:
        with new:
            _WRITERS[path.suffix](new, findings)
    except BaseException:
        path.unlink()  # half of the findings would look like all of them
        raise


def _already_exists(path: Path) -> str:
    return f"--output {path}: it exists already, and nothing is overwritten: name a new file"


def _write_json_lines(file: BinaryIO, findings: Iterable[Finding]) -> None:
    for finding in findings:
        file.write((json.dumps(finding.as_dict(), ensure_ascii=False) + "\n").encode())


def _write_csv(file: BinaryIO, findings: Iterable[Finding]) -> None:
    with io.TextIOWrapper(file, encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(FINDING_COLUMNS)
        for finding in findings:
            writer.writerow(NULL if value is None else value for value in finding.as_row().values())


def _write_parquet(file: BinaryIO, findings: Iterable[Finding]) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise InvalidInput(f"--output: Parquet needs pyarrow: {how_to_install('files')}") from error
    schema = pyarrow.schema([(name, pyarrow.string()) for name in FINDING_COLUMNS])
    parquet.write_table(pyarrow.Table.from_pylist([finding.as_row() for finding in findings], schema), file)


_WRITERS: dict[str, Callable[[BinaryIO, Iterable[Finding]], None]] = {
    ".jsonl": _write_json_lines,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}
