"""Redshift's COPY of Parquet files in S3, into PostgreSQL, after "COPY from columnar data formats" of its documents.

As Redshift does: exactly the files of a manifest, each with its length in bytes, which has to be right; no list of columns,
no option but MANIFEST; values go to columns by their places, as many as the table has; a column of a file has the physical
type of that of the table, and a decimal its precision and scale; TIMESTAMPTZ cannot be read; VARCHAR counts bytes, and CHAR
takes single-byte characters only; files are not compressed, or by Snappy or gzip; one file that fails ends the whole
statement. Of Redshift's own texts of errors it knows none.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

COPY = re.compile(
    r'COPY (?P<table>"[^"]+"(?:\."[^"]+")?) FROM \'(?P<manifest>s3://(?:[^\']|\'\')+)\' '
    r"IAM_ROLE '(?P<role>[^']+)' FORMAT AS PARQUET MANIFEST"
)
_CODECS = {"UNCOMPRESSED", "SNAPPY", "GZIP"}
_COLUMNS = (
    "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
    "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)
_TYPES = {
    "smallint": pa.int16(), "integer": pa.int32(), "bigint": pa.int64(), "real": pa.float32(), "boolean": pa.bool_(),
    "double precision": pa.float64(), "date": pa.date32(), "timestamp without time zone": pa.timestamp("us", tz="UTC"),
}  # fmt: skip
_SIZED = re.compile(r"(character varying|character|numeric)\(([0-9]+)(?:,([0-9]+))?\)")


class UnreadColumn(Exception):
    """A column of a file, or the whole file where the column is empty, that COPY cannot read."""

    def __init__(self, column: str, reason: str, line: int = 0) -> None:
        self.column, self.reason, self.line = column, reason, line
        super().__init__(reason)


def columns_of(connection: psycopg.Connection[Any], table: str) -> list[tuple[str, str]]:
    return list(connection.execute(_COLUMNS, [table]).fetchall())


def rows_of(data: bytes, columns: list[tuple[str, str]]) -> Iterator[list[Any]]:
    """Yield the rows of a file for the columns of a table; raises UnreadColumn."""
    file = pq.ParquetFile(io.BytesIO(data))
    codecs = {
        file.metadata.row_group(group).column(number).compression
        for group in range(file.metadata.num_row_groups)
        for number in range(file.metadata.num_columns)
    }
    if codecs - _CODECS:
        raise UnreadColumn("", f"compression {codecs - _CODECS} is not read")
    if len(file.schema_arrow) != len(columns):
        raise UnreadColumn("", f"expected {len(columns)} columns, got {len(file.schema_arrow)}")
    for field, (name, type_) in zip(file.schema_arrow, columns, strict=True):
        if field.type != _arrow_type(name, type_):
            raise UnreadColumn(name, f"has an incompatible Parquet schema: {type_} from {field.type}")
    table = file.read()
    for line, row in enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True), 1):
        for value, (name, type_) in zip(row, columns, strict=True):
            _check(name, type_, value, line)
        yield [value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value for value in row]


def _arrow_type(name: str, type_: str) -> pa.DataType:
    if found := _SIZED.fullmatch(type_):
        return pa.decimal128(int(found[2]), int(found[3] or 0)) if found[1] == "numeric" else pa.string()
    if type_ not in _TYPES:
        raise UnreadColumn(name, f"{type_} is not read from Parquet")
    return _TYPES[type_]


def _check(name: str, type_: str, value: Any, line: int) -> None:
    found = _SIZED.fullmatch(type_)
    if not isinstance(value, str) or not found:
        return
    if len(value.encode()) > int(found[2]):
        raise UnreadColumn(name, "String length exceeds DDL length", line)
    if found[1] == "character" and not value.isascii():
        raise UnreadColumn(name, "CHAR takes single-byte characters", line)
