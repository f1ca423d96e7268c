"""Redshift's COPY of CSV files in S3, into PostgreSQL; of Parquet files by `support.redshift_copy_parquet`.

As Redshift does: exactly the files of a manifest, of which mandatory ones have to exist; quotes are doubled within quotes;
a field that equals NULL AS is NULL, whether it is quoted or not; an empty field of text is an empty text, and NULL of any
other type; VARCHAR counts bytes, and CHAR takes single-byte characters only; a row has exactly the columns of the list; one
row that fails ends the whole statement; PG_LAST_COPY_COUNT tells the rows afterwards. Nothing unescapes a backslash. It
knows the options that onefold writes only.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import psycopg
from botocore.exceptions import ClientError
from support.redshift_copy_parquet import COPY, UnreadColumn, columns_of, rows_of

_COPY = re.compile(
    r'COPY ("[^"]+"\."[^"]+") \((?P<columns>.+?)\) FROM \'(?P<manifest>s3://(?:[^\']|\'\')+)\' '
    r"IAM_ROLE '(?P<role>[^']+)' FORMAT AS CSV DELIMITER '\\t' NULL AS '\\\\N' DATEFORMAT 'auto' TIMEFORMAT 'auto' "
    r"COMPUPDATE OFF MANIFEST(?P<gzip> GZIP)?"
)
_NULL = "\\N"
_TEXTS = ("character varying", "character")
csv.field_size_limit(10_000_000)


class CopyFailed(Exception):
    """A row that could not be loaded, or a file that could not be read."""

    def __init__(self, table: str, file: str, line: int, column: str, reason: str) -> None:
        self.file, self.line, self.column, self.reason = file, line, column, reason
        name = table.split(".")[-1].strip('"')
        super().__init__(f"ERROR: Load into table '{name}' failed.  Check 'sys_load_error_detail' system table for details.")


@dataclass(frozen=True)
class _Column:
    name: str
    type: str
    length: int | None


def copy_into(connection: psycopg.Connection[Any], statement: str, role: str) -> None:
    """Run COPY on a connection, within its transaction."""
    if (parquet := COPY.fullmatch(statement)) and parquet["role"] == role:
        _copy_parquet(connection, parquet["table"], parquet["manifest"].replace("''", "'"))
        return
    found = _COPY.fullmatch(statement)
    if not found or found["role"] != role:
        raise CopyFailed("?", "", 0, "", f"not a COPY that Redshift would run here: {statement}")
    table, names = found[1], [name.replace('""', '"') for name in re.findall(r'"((?:[^"]|"")+)"', found["columns"])]
    columns = _columns(connection, table, names)
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    copied = 0
    for file, text in _files(table, found["manifest"].replace("''", "'"), bool(found["gzip"])):
        rows = list(_rows(table, file, text, columns))
        _write(connection, table, f"({quoted})", file, rows)
        copied += len(rows)
    connection.execute("SELECT set_config('onefold.copied', %s, false)", [str(copied)])


def _write(connection: psycopg.Connection[Any], table: str, columns: str, file: str, rows: list[list[Any]]) -> None:
    try:
        with connection.transaction(), connection.cursor().copy(f"COPY {table} {columns} FROM STDIN".encode()) as copy:
            for row in rows:
                copy.write_row(row)
    except psycopg.Error as error:
        raise CopyFailed(table, file, 0, "", str(error).splitlines()[0]) from error


def _copy_parquet(connection: psycopg.Connection[Any], table: str, manifest: str) -> None:
    columns, copied = columns_of(connection, table), 0
    for entry in _entries(table, manifest):
        data = _read(table, entry["url"])
        if entry["meta"]["content_length"] != len(data):
            raise CopyFailed(table, entry["url"], 0, "", "the file has another length than the manifest says")
        try:
            rows = list(rows_of(data, columns))
        except UnreadColumn as error:
            raise CopyFailed(table, entry["url"], error.line, error.column, error.reason) from error
        _write(connection, table, "", entry["url"], rows)
        copied += len(rows)
    connection.execute("SELECT set_config('onefold.copied', %s, false)", [str(copied)])


def _columns(connection: psycopg.Connection[Any], table: str, names: list[str]) -> list[_Column]:
    schema, _, name = table.replace('"', "").partition(".")
    sql = (
        "SELECT column_name, data_type, character_maximum_length FROM information_schema.columns "
        "WHERE table_schema = %s AND table_name = %s"
    )
    known = {row[0]: _Column(*row) for row in connection.execute(sql, [schema, name])}
    if missing := [one for one in names if one not in known]:
        raise CopyFailed(table, "", 0, missing[0], f"column {missing[0]} of {name} does not exist")
    return [known[one] for one in names]


def _files(table: str, manifest: str, gzipped: bool) -> Iterator[tuple[str, str]]:
    for entry in _entries(table, manifest):
        data = _read(table, entry["url"])
        text = gzip.decompress(data) if gzipped else data
        yield entry["url"], text.decode()


def _entries(table: str, manifest: str) -> list[dict[str, Any]]:
    entries = json.loads(_read(table, manifest))["entries"]
    assert all(entry["mandatory"] is True for entry in entries)
    if not entries:
        raise CopyFailed(table, manifest, 0, "", "the manifest has no files")
    return list(entries)


def _read(table: str, address: str) -> bytes:
    bucket, _, name = address.removeprefix("s3://").partition("/")
    try:
        return bytes(boto3.client("s3").get_object(Bucket=bucket, Key=name)["Body"].read())
    except ClientError as error:
        raise CopyFailed(table, address, 0, "", f"the file cannot be read: {error}") from error


def _rows(table: str, file: str, text: str, columns: list[_Column]) -> Iterator[list[str | None]]:
    # A file is read as it is: line breaks within quotes belong to the value.
    for line, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True), 1):
        if len(row) != len(columns):
            raise CopyFailed(table, file, line, "", f"expected {len(columns)} columns, got {len(row)}")
        for column, value in zip(columns, row, strict=True):
            if problem := _problem(column, value):
                raise CopyFailed(table, file, line, column.name, problem)
        yield [_value(column, value) for column, value in zip(columns, row, strict=True)]


def _problem(column: _Column, value: str) -> str | None:
    if column.type not in _TEXTS or value == _NULL:
        return None
    if "\0" in value:
        return "Missing newline: unexpected character 0x00"
    if column.length is not None and len(value.encode()) > column.length:
        return "String length exceeds DDL length"
    return "CHAR takes single-byte characters" if column.type == "character" and not value.isascii() else None


def _value(column: _Column, value: str) -> str | None:
    return None if value == _NULL or (not value and column.type not in _TEXTS) else value
