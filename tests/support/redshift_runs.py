"""Runs of the shredder in S3, written by hand after the contract of their files."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq

from onefold.core.shred_options import FileFormat
from onefold.ports.event_tables import EventFile, EventTable, EventTableLoad

BUCKET = "acme-events"
READ_AT = datetime(2026, 11, 23, 8, 0, 0, 250_000, tzinfo=UTC)
ENVELOPE = (
    ("schema_vendor", "VARCHAR(128)"), ("schema_name", "VARCHAR(128)"), ("schema_format", "VARCHAR(128)"),
    ("schema_version", "VARCHAR(128)"), ("root_id", "CHAR(36)"), ("root_tstamp", "TIMESTAMP"), ("ref_root", "VARCHAR(255)"),
    ("ref_tree", "VARCHAR(1500)"), ("ref_parent", "VARCHAR(255)"),
)  # fmt: skip
_OF_ENVELOPE = ("com.acme", "click", "jsonschema", "1-0-0")
Row = Mapping[str, Any]


def run_address(number: int) -> str:
    return f"s3://{BUCKET}/shredded/run=2026-11-23-08-00-{number:02}"


def event_table(name: str = "com_acme_click_1", addition: int = 0, **columns: str) -> EventTable:
    """Return the table of a schema; the columns of its data are given by their names."""
    base, _, version = name.rpartition("_")
    uri = f"iglu:com.acme/click/jsonschema/1-0-{addition}"
    return EventTable(name, (*ENVELOPE, *columns.items()), uri, base, version)


def field(value: Any) -> str:
    """Return a value as the contract of the files writes it."""
    if value is None:
        return r"\N"
    if isinstance(value, bool):
        return str(int(value))
    text = str(value)
    if text.endswith("N") and set(text[:-1]) == {"\\"}:
        text = "\\" + text
    return '"' + text.replace('"', '""') + '"' if set(text) & set('\t\n\r"') else text


def envelope_of(row: Row, name: str) -> tuple[Any, ...]:
    return (*_OF_ENVELOPE, str(row["id_"]), "2026-11-23 07:59:59.5", "events", f'["events","{name}"]', "events")


def csv_text(table: EventTable, rows: Sequence[Row]) -> str:
    """Return the lines of rows; `id_` is the event's identifier, and other keys are columns."""
    lines = []
    for row in rows:
        whole = dict(zip((name for name, _ in ENVELOPE), envelope_of(row, table.base), strict=True)) | dict(row)
        lines.append("\t".join(field(whole.get(name)) for name, _ in table.columns) + "\n")
    return "".join(lines)


_ARROW = {
    "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(), "REAL": pa.float32(), "DOUBLE PRECISION": pa.float64(),
    "BOOLEAN": pa.bool_(), "DATE": pa.date32(),
}  # fmt: skip
"""The types of columns of files of Parquet by the contract; of TIMESTAMP, TIMESTAMPTZ, DECIMAL and texts see `arrow_of`."""


def arrow_of(type_: str) -> pa.DataType:
    if type_.startswith("TIMESTAMP"):
        return pa.timestamp("us", tz="UTC")
    found = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", type_)
    return pa.decimal128(int(found[1]), int(found[2])) if found else _ARROW.get(type_, pa.string())


def parquet_bytes(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]) -> bytes:
    """Return a file of Parquet with rows of values for columns of Redshift's types."""
    schema = pa.schema([(name, arrow_of(type_)) for name, type_ in columns])
    found = [pa.array([row[number] for row in rows], field.type) for number, field in enumerate(schema)]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(found, schema=schema), buffer, compression="snappy")
    return buffer.getvalue()


def _parquet(table: EventTable, rows: Sequence[Row]) -> bytes:
    time = datetime(2026, 11, 23, 7, 59, 59, 500_000, tzinfo=UTC)
    names = [name for name, _ in ENVELOPE]
    whole = [dict(zip(names, envelope_of(row, table.base), strict=True)) | {"root_tstamp": time} | dict(row) for row in rows]
    return parquet_bytes(table.columns, [[row.get(name) for name, _ in table.columns] for row in whole])


def stored(
    run: int,
    table: EventTable,
    *files: Sequence[Row] | bytes,
    gzipped: bool = False,
    format_: FileFormat = "csv",
) -> EventTableLoad:
    """Write the files of a table of a run, and return its load."""
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    made = []
    for number, rows in enumerate(files):
        data = rows if isinstance(rows, bytes) else _content(table, rows, format_)
        data = gzip.compress(data) if gzipped else data
        address = f"{run_address(run)}/name={table.name}/part-{number}"
        s3.put_object(Bucket=BUCKET, Key=address.removeprefix(f"s3://{BUCKET}/"), Body=data)
        made.append(EventFile(address, 1 if isinstance(rows, bytes) else len(rows), len(data)))
    compression = "snappy" if format_ == "parquet" else "gzip" if gzipped else "none"
    return EventTableLoad(run_address(run), READ_AT, table, tuple(made), compression, format=format_)


def _content(table: EventTable, rows: Sequence[Row], format_: FileFormat) -> bytes:
    return _parquet(table, rows) if format_ == "parquet" else csv_text(table, rows).encode()
