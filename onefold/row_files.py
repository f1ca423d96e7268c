"""Rows from files: Parquet, JSON lines and CSV, one file or a folder of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from onefold.errors import InvalidInput

CSV = ".csv"
TEXT_FORMATS = frozenset({CSV, ".jsonl", ".json"})
"""Formats in which text stands for dates, bytes, or everything."""


@dataclass(frozen=True)
class Source:
    """Rows, and the format in which they come."""

    rows: Iterable[Mapping[str, Any]]
    format: str


def open_rows(path: Path) -> Source:
    """The rows of a file or a folder, read as they are asked for."""
    return Source(read_rows(path), row_files(path)[0].suffix)


def row_files(path: Path) -> list[Path]:
    """The files of rows at a path, in order.

    Raises:
        InvalidInput: there is none, or they are not of one known format.
    """
    if not path.exists():
        raise InvalidInput(f"{path}: there is no such file or folder")
    hidden = ("_", ".")  # what Spark and Hadoop put beside the data
    found = (
        [path]
        if path.is_file()
        else sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith(hidden))
    )
    formats = {one.suffix for one in found}
    if len(formats) != 1 or not formats <= set(_READERS):
        raise InvalidInput(
            f"{path}: rows come in files of one kind of {', '.join(_READERS)}; found {', '.join(sorted(formats)) or 'none'}"
        )
    return found


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file or of a folder's files. Numbers of JSON are exact decimals.

    Raises:
        InvalidInput: names the file, and the line where there is one.
    """
    for one in row_files(path):
        yield from _READERS[one.suffix](one)


def _read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _json_row(path, number, line.rstrip(b"\r\n"))


def _json_row(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_float=Decimal)
    except json.JSONDecodeError as error:
        # Not the error's own text: it counts lines within this one.
        raise InvalidInput(f"{path}, line {number}: not JSON: {error.msg}, at character {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}, line {number}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise InvalidInput(f"{path}, line {number}: not a JSON object")
    return row


def _read_csv(path: Path) -> Iterator[dict[str, Any]]:
    # A spreadsheet begins its export with a mark of the encoding, which is no part of the first column's name.
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.DictReader(lines, strict=True)
        try:
            for number, row in enumerate(reader, 2):
                if None in row or None in row.values():
                    raise InvalidInput(
                        f"{path}, row {number}: it has not as many values as there are columns in the first line"
                    )
                # MySQL exports NULL as \N; an empty value is NULL too, since CSV cannot tell the two apart.
                yield {name: None if value in ("", "\\N") else value for name, value in row.items()}
        except (csv.Error, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path}, line {reader.line_num}: not CSV in UTF-8: {error}") from error


def _read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ModuleNotFoundError as error:
        raise InvalidInput(f"{path}: Parquet needs pyarrow: pip install 'onefold[files]'") from error
    try:
        for batch in parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    except (ArrowInvalid, OSError) as error:
        raise InvalidInput(f"{path}: not Parquet: {error}") from error


_READERS: dict[str, Callable[[Path], Iterator[dict[str, Any]]]] = {
    ".parquet": _read_parquet,
    ".jsonl": _read_json_lines,
    ".json": _read_json_lines,
    CSV: _read_csv,
}
