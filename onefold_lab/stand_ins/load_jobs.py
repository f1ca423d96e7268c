"""Load jobs of the embedded BigQuery, which runs a job twice that has one identifier, and replaces whole tables only.

The rows of the files go into a temporary table, as rows of capture do, because the emulator's own load jobs do not decode
BYTES and refuse some types. One transaction then moves them into the table, in place of the rows that they replace.
"""

from __future__ import annotations

import gzip
import json
import uuid
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from onefold.adapters.bigquery.load_jobs import APPEND, REPLACE, REPLACE_DATA, BigQueryLoadJobs, Load, empty_statement
from onefold.core.errors import NotFound, Rejected
from onefold.core.names import TEMPORARY_PREFIX, TableId, quote
from onefold.ports.load_jobs import LoadedJob, LoadFile
from onefold.schema.columns import Column
from onefold.schema.types import Scalar, Struct, Type
from onefold_lab.stand_ins.rows import EmulatedRowWriter

_ROWS = 500
"""Rows of one request."""
_FILE = "file://"


class EmulatedLoadJobs(BigQueryLoadJobs):
    """`onefold.ports.load_jobs.LoadJobs` in the emulator, of files of this machine. The label is checked as in BigQuery."""

    def append(self, table: TableId, files: Sequence[LoadFile]) -> LoadedJob:
        return self._move(table, Load(str(table), APPEND, tuple(files)), "")

    def load_keys(self, table: TableId, files: Sequence[LoadFile]) -> None:
        self._check_temporary(table)
        writer = EmulatedRowWriter(self._warehouse).open(table)
        if writer is None:
            raise NotFound(f"there is no table {table}")
        for rows in self._blocks(files, writer.columns):
            self._check(table, writer.append([_known(row, writer.columns) for row in rows]))

    def _replace(self, table: TableId, files: tuple[LoadFile, ...], day: date | None) -> LoadedJob | None:
        if not files:
            return super()._replace(table, files, day)
        disposition = REPLACE if day else REPLACE_DATA
        return self._move(table, Load(str(table), disposition, files), f"{empty_statement(table, day)};\n")

    def _move(self, table: TableId, load: Load, before: str) -> LoadedJob:
        """Move the rows of files into a table, at one moment.

        Args:
            table: the table.
            load: its files.
            before: a statement that runs in the same transaction before.

        Raises:
            NotFound: there is no such table.
        """
        columns = self._warehouse.read_columns(table)
        if columns is None:
            raise NotFound(f"there is no table {table}")
        staged = table.sibling(f"{TEMPORARY_PREFIX}load_{uuid.uuid4().hex}")
        self._warehouse.create_table(staged, columns)
        try:
            rows = self._stage(staged, load.files, columns)
            names = ", ".join(quote(column.name) for column in columns)
            moved = f"INSERT INTO {table.quoted} ({names}) SELECT {names} FROM {staged.quoted};\n"
            self._warehouse.execute(f"BEGIN TRANSACTION;\n{before}{moved}COMMIT TRANSACTION;")
        finally:
            self._warehouse.execute(f"DROP TABLE IF EXISTS {staged.quoted}")
        return LoadedJob(load.job_id(1), rows)

    def _stage(self, staged: TableId, files: Sequence[LoadFile], columns: Sequence[Column]) -> int:
        writer = EmulatedRowWriter(self._warehouse).open(staged)
        if writer is None:
            raise NotFound(f"there is no table {staged}")
        count = 0
        for rows in self._blocks(files, columns):
            self._check(staged, writer.append(rows))
            count += len(rows)
        return count

    def _blocks(self, files: Sequence[LoadFile], columns: Sequence[Column]) -> Iterator[list[dict[str, Any]]]:
        texts = [column.name for column in columns if column.type == Scalar("JSON")]
        rows = (_as_text(json.loads(line), texts) for file in files for line in _lines(file.name))
        while block := list(islice(rows, _ROWS)):
            yield block

    def _check(self, table: TableId, problems: dict[int, str]) -> None:
        """Check that all rows fit.

        Raises:
            Rejected: names the first row that does not.
        """
        if problems:
            number, reason = min(problems.items())
            raise Rejected(f"{table}: row {number}: {reason}")


def _known(row: dict[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """Return the values of columns, without unknown fields of structs, which a load job leaves out as well."""
    return {column.name: _known_fields(row.get(column.name), column.type) for column in columns}


def _known_fields(value: Any, type_: Type) -> Any:
    return {one.name: value.get(one.name) for one in type_.fields} if value and isinstance(type_, Struct) else value


def _as_text(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a row with its documents as text, as the emulator takes them; a load job has them as objects."""
    documents = {name: json.dumps(row[name], ensure_ascii=False) for name in names if name in row}
    return {**row, **documents}


def _lines(address: str) -> Iterator[str]:
    """Yield the lines of a file of this machine.

    Raises:
        Rejected: the file does not exist, or is in a bucket.
    """
    if not address.startswith(_FILE):
        raise Rejected(f"{address}: expected a file of this machine, file:///..., which the embedded BigQuery can read")
    path = Path(unquote(address.removeprefix(_FILE)))
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            yield from file
    except FileNotFoundError as error:
        raise Rejected(f"{address}: there is no such file") from error
