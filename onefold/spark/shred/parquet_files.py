"""Files of Parquet, made by Arrow in the workers of Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from onefold.events.shred.event_ids import FINGERPRINT, HASH, ID
from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.tally import EVENT_IDS, WrittenFile
from onefold.spark.shred.arrow_types import arrow_schema
from onefold.spark.shred.form import compression_of
from onefold.spark.shred.table_files import Target

FILE_BYTES, GROUP_ROWS = 64 << 20, 65_536
"""The bytes from which a file is complete, and the rows of a row group."""
_IDS = pa.schema([pa.field(ID, pa.string()), pa.field(FINGERPRINT, pa.string()), pa.field(HASH, pa.int64())])
"""The columns of the ids of events, which are no table."""


@dataclass
class _File:
    """A file that is being written, and the rows that are no row group yet."""

    schema: pa.Schema
    number: int = 0
    places: frozenset[int] = frozenset()
    rows: int = 0
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    waiting_rows: int = 0
    name: str = ""
    stream: Any = None
    writer: Any = None


class ParquetFiles:
    """Files of Parquet. With wide columns, a file has those of its events only."""

    def __init__(self, plan: ShredPlan, target: Target) -> None:
        self._tables = plan.tables
        self._warehouse = plan.form.warehouse
        self._compression = compression_of(plan.form)
        self._is_wide = plan.is_wide
        self._target = target
        self._files: dict[int, _File] = {}
        self.written: list[WrittenFile] = []

    def add(self, table: int, rows: Sequence[Sequence[Any]]) -> None:
        """Take rows of a table. Its file is complete where it is large enough, or lacks wide columns of the rows."""
        file, wide = self._files.get(table), list[Mapping[int, Any]]()
        if self._is_wide and table == 0:
            wide = [columns for _, columns in rows]
            rows = [own for own, _ in rows]
        places = frozenset(place for columns in wide for place in columns)
        if file and not places <= file.places:
            self._close(table, file)
            file = self._files[table] = self._file(table, places | file.places, file.number + 1)
        if file is None:
            file = self._files[table] = self._file(table, places)
        values = [*zip(*rows, strict=True), *([columns.get(place) for columns in wide] for place in sorted(file.places))]
        arrays = [pa.array(column, one.type) for column, one in zip(values, file.schema, strict=True)]
        file.waiting.append(pa.RecordBatch.from_arrays(arrays, schema=file.schema))
        file.waiting_rows += len(rows)
        if file.waiting_rows >= GROUP_ROWS:
            self._write(table, file)
            if file.stream.tell() >= FILE_BYTES:
                self._close(table, file)
                self._files[table] = _File(file.schema, file.number + 1, file.places)

    def close(self) -> None:
        """Write what is left."""
        for table, file in self._files.items():
            if file.rows or file.waiting:
                self._close(table, file)

    def _file(self, table: int, places: frozenset[int], number: int = 0) -> _File:
        if table == EVENT_IDS:
            return _File(_IDS)
        wide = [column for place in sorted(places) if (column := self._tables[place].column)]
        return _File(arrow_schema((*self._tables[table].columns, *wide), self._warehouse), number, places)

    def _write(self, table: int, file: _File) -> None:
        if file.writer is None:
            file.name, file.stream = self._target.create(table, file.number, ".parquet")
            # Ids differ from each other, so that a dictionary of them takes time alone.
            options = {"compression": self._compression, "use_dictionary": table != EVENT_IDS}
            file.writer = pq.ParquetWriter(file.stream, file.schema, **options)
        file.writer.write_table(pa.Table.from_batches(file.waiting, file.schema), row_group_size=GROUP_ROWS)
        file.rows += file.waiting_rows
        file.waiting, file.waiting_rows = [], 0

    def _close(self, table: int, file: _File) -> None:
        if file.waiting:
            self._write(table, file)
        file.writer.close()
        size = file.stream.tell()
        file.stream.close()
        self.written.append(WrittenFile(table, file.name, file.rows, size))
