"""Findings of a comparison in a new file: JSON lines, CSV or Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from onefold.compare.findings import FINDING_COLUMNS, Finding
from onefold.core.errors import InvalidInput

NULL = "\\N"
"""What CSV says for NULL, since it cannot tell an empty value from none."""


def check_new_file(path: Path) -> None:
    """Raises InvalidInput where nothing can be written, before any row is read."""
    if path.suffix not in _WRITERS:
        raise InvalidInput(f"--output {path}: name bigquery:DATASET.TABLE, or a file that ends in {', '.join(_WRITERS)}")
    if path.exists():
        raise _taken(path)
    if not path.parent.is_dir():
        raise InvalidInput(f"--output {path}: there is no folder {path.parent}")


def write_findings(path: Path, findings: Iterable[Finding]) -> None:
    """Raises InvalidInput, and leaves no file, where it cannot be written."""
    try:
        new = path.open("xb")
    except FileExistsError as error:
        raise _taken(path) from error
    except OSError as error:
        raise InvalidInput(f"--output {path}: {error.strerror}") from error
    try:
        with new:
            _WRITERS[path.suffix](new, findings)
    except BaseException:
        path.unlink()  # half a file would be taken for all of it
        raise


def _taken(path: Path) -> InvalidInput:
    return InvalidInput(f"--output {path}: it exists already, and nothing is overwritten: name a new file")


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
        raise InvalidInput("--output: Parquet needs pyarrow: pip install 'onefold[files]'") from error
    schema = pyarrow.schema([(name, pyarrow.string()) for name in FINDING_COLUMNS])
    parquet.write_table(pyarrow.Table.from_pylist([finding.as_row() for finding in findings], schema), file)


_WRITERS: dict[str, Callable[[BinaryIO, Iterable[Finding]], None]] = {
    ".jsonl": _write_json_lines,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}
