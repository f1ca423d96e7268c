"""Files of Parquet, made by Arrow in the workers of Python: each is one block."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.tally import BAD_ROWS, EVENT_IDS
from onefold.spark.shred.arrow_types import arrow_schema
from onefold.spark.shred.blocks import EventBlock
from onefold.spark.shred.form import PARQUET, file_form

FILE_BYTES, GROUP_ROWS = 64 << 20, 65_536
"""The bytes from which a file is complete, and the rows of a row group."""
_OWN = {
    BAD_ROWS: pa.schema([pa.field("value", pa.string())]),
    EVENT_IDS: pa.schema([pa.field("event_id", pa.string()), pa.field("fingerprint", pa.string())]),
}
"""The columns of what is no table."""


@dataclass
class _File:
    """A file that is being written, and the rows that are no row group yet."""

    schema: pa.Schema
    compression: str
    number: int = 0
    places: frozenset[int] = frozenset()
    rows: int = 0
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    buffer: io.BytesIO = field(default_factory=io.BytesIO)
    writer: Any = None

    @property
    def waiting_rows(self) -> int:
        return sum(batch.num_rows for batch in self.waiting)

    def flush(self) -> None:
        if self.writer is None:
            self.writer = pq.ParquetWriter(self.buffer, self.schema, compression=self.compression)
        self.rows += self.waiting_rows
        self.writer.write_table(pa.Table.from_batches(self.waiting, self.schema), row_group_size=GROUP_ROWS)
        self.waiting = []

    def take(self, table: int) -> EventBlock:
        if self.waiting:
            self.flush()
        self.writer.close()
        return EventBlock(table, self.number, self.rows, self.buffer.getvalue()[: -len(PARQUET.end)])


class ParquetBlocks:
    """Blocks that are files of Parquet. With wide columns, a file has those of its events only."""

    def __init__(self, plan: ShredPlan) -> None:
        self._tables = plan.tables
        self._warehouse = plan.form.warehouse
        self._compression = file_form(plan.form).compression
        self._is_wide = plan.is_wide
        self._files: dict[int, _File] = {}

    def add(self, table: int, rows: Sequence[Sequence[Any]]) -> Iterator[EventBlock]:
        """Take rows of a table, and yield its file where that is large enough, or lacks wide columns of the rows."""
        file, wide = self._files.get(table), list[Mapping[int, Any]]()
        if self._is_wide and table == 0:
            wide = [columns for _, columns in rows]
            rows = [own for own, _ in rows]
        places = frozenset(place for columns in wide for place in columns)
        if file and not places <= file.places:
            yield file.take(table)
            file = self._files[table] = self._file(table, places | file.places, file.number + 1)
        if file is None:
            file = self._files[table] = self._file(table, places)
        values = [*zip(*rows, strict=True), *([columns.get(place) for columns in wide] for place in sorted(file.places))]
        arrays = [pa.array(column, one.type) for column, one in zip(values, file.schema, strict=True)]
        file.waiting.append(pa.RecordBatch.from_arrays(arrays, schema=file.schema))
        if file.waiting_rows >= GROUP_ROWS:
            file.flush()
        if file.buffer.tell() >= FILE_BYTES:
            yield file.take(table)
            self._files[table] = _File(file.schema, self._compression, file.number + 1, file.places)

    def _file(self, table: int, places: frozenset[int], number: int = 0) -> _File:
        if table in _OWN:
            return _File(_OWN[table], self._compression)
        wide = [column for place in sorted(places) if (column := self._tables[place].column)]
        schema = arrow_schema((*self._tables[table].columns, *wide), self._warehouse)
        return _File(schema, self._compression, number, places)

    def rest(self) -> Iterator[EventBlock]:
        """Yield what is left."""
        yield from (file.take(table) for table, file in self._files.items() if file.rows or file.waiting)
