"""Files of Parquet, made by Arrow in the workers of Python: each is one block."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.tally import BAD_ROWS, EVENT_IDS
from onefold.schema.types import Array, Struct, Type, parse_type
from onefold.spark.shred.blocks import EventBlock
from onefold.spark.shred.form import PARQUET

FILE_BYTES, GROUP_ROWS = 64 << 20, 65_536
"""The bytes from which a file is complete, and the rows of a row group."""
_OWN = {
    BAD_ROWS: pa.schema([pa.field("value", pa.string())]),
    EVENT_IDS: pa.schema([pa.field("event_id", pa.string()), pa.field("fingerprint", pa.string())]),
}
"""The columns of what is no table."""
_SCALARS = {
    "STRING": pa.string(), "JSON": pa.string(), "BYTES": pa.binary(), "BOOL": pa.bool_(), "INT64": pa.int64(),
    "FLOAT64": pa.float64(), "NUMERIC": pa.decimal128(38, 9), "BIGNUMERIC": pa.decimal256(76, 38), "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
}  # fmt: skip


def arrow_type(type_: Type) -> pa.DataType:
    """Return the type of Arrow that holds the values of a type of BigQuery.

    Examples:
        >>> arrow_type(parse_type("ARRAY<INT64>"))
        ListType(list<element: int64>)
    """
    if isinstance(type_, Array):
        return pa.list_(pa.field("element", arrow_type(type_.element)))
    if isinstance(type_, Struct):
        return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in type_.fields])
    return _SCALARS[str(type_)]


def arrow_schema(columns: Iterable[tuple[str, str]]) -> pa.Schema:
    """Return columns as Arrow has them; all may be NULL, since a load job refuses others for columns that may."""
    return pa.schema([pa.field(name, arrow_type(parse_type(type_))) for name, type_ in columns])


@dataclass
class _File:
    """A file that is being written, and the rows that are no row group yet."""

    schema: pa.Schema
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
            self.writer = pq.ParquetWriter(self.buffer, self.schema, compression=PARQUET.compression)
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
            self._files[table] = _File(file.schema, file.number + 1, file.places)

    def _file(self, table: int, places: frozenset[int], number: int = 0) -> _File:
        if table in _OWN:
            return _File(_OWN[table])
        wide = [column for place in sorted(places) if (column := self._tables[place].column)]
        return _File(arrow_schema((*self._tables[table].columns, *wide)), number, places)

    def rest(self) -> Iterator[EventBlock]:
        """Yield what is left."""
        yield from (file.take(table) for table, file in self._files.items() if file.rows or file.waiting)
