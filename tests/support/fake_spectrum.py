"""Redshift Spectrum over moto's Glue and S3, with PostgreSQL in the place of Redshift.

What it does as Redshift does: an external schema shows the tables of a database of Glue; a partition reads exactly the files
of the list at its location, each of them mandatory and of the length that the list says; columns of a file go to those of
the table by their names, have their physical types, and one that a file lacks is NULL; the partition is a column. CREATE
EXTERNAL SCHEMA is refused within a transaction. Where Spectrum would cut a text, this fails. What it cannot do: PostgreSQL
binds views when they are made and reads tables of its own, so that `read` copies what the catalogue and the files are at
that moment, and a view is dropped and made again.
"""

from __future__ import annotations

import io
import json
import re
from typing import Any

import boto3
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from support.redshift_runs import arrow_of

_SCHEMA = re.compile(
    r'CREATE EXTERNAL SCHEMA IF NOT EXISTS "(\w+)" FROM DATA CATALOG DATABASE \'(\w+)\' IAM_ROLE \'(arn:[^\']+)\''
)
_VIEW = re.compile(r'CREATE OR REPLACE VIEW ("\w+"\."\w+") AS\n(.+)\nWITH NO SCHEMA BINDING', re.DOTALL)
_TYPES = {"float": "REAL", "double": "DOUBLE PRECISION"}
RUN = "onefold_run"


class SpectrumError(RuntimeError):
    """A statement or a file that Spectrum would refuse."""


class FakeSpectrum:
    """The external schemas of one database, by the databases of Glue that they show."""

    def __init__(self) -> None:
        self.schemas: dict[str, str] = {}

    def run(self, connection: psycopg.Connection[Any], statement: str, *, is_batch: bool) -> bool:
        """Run a statement about external objects; return whether it is one."""
        if statement.startswith("CREATE EXTERNAL"):
            found = _SCHEMA.fullmatch(statement)
            if not found or is_batch:
                raise SpectrumError("CREATE EXTERNAL SCHEMA cannot run inside a transaction block")
            self.schemas.setdefault(found[1], found[2])
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {found[1]}".encode())
            return True
        if view := _VIEW.fullmatch(statement):
            self.read(connection)
            connection.execute(f"DROP VIEW IF EXISTS {view[1]}".encode())
            connection.execute(f"CREATE VIEW {view[1]} AS {view[2]}".encode())
            return True
        return False

    def read(self, connection: psycopg.Connection[Any]) -> None:
        """Bring the copies of all external tables to what the catalogue and the files are now."""
        for schema, database in self.schemas.items():
            tables = boto3.client("glue").get_tables(DatabaseName=database)["TableList"]
            for table in (one for one in tables if one.get("PartitionKeys")):
                _copy(connection, f'"{schema}"."{table["Name"]}"', database, table)


def _copy(connection: psycopg.Connection[Any], name: str, database: str, table: dict[str, Any]) -> None:
    columns = [(one["Name"], _TYPES.get(one["Type"], one["Type"].upper())) for one in table["StorageDescriptor"]["Columns"]]
    # Without their lengths, which may grow under a view: `_rows` looks at them.
    copied = [(column, "VARCHAR" if type_.startswith("VARCHAR") else type_) for column, type_ in columns]
    fields = ", ".join(f'"{column}" {type_}' for column, type_ in copied)
    connection.execute(f'CREATE TABLE IF NOT EXISTS {name} ({fields}, "{RUN}" VARCHAR(2048))'.encode())
    for column, type_ in copied:
        connection.execute(f'ALTER TABLE {name} ADD COLUMN IF NOT EXISTS "{column}" {type_}'.encode())
    connection.execute(f"TRUNCATE {name}".encode())
    pages = boto3.client("glue").get_paginator("get_partitions").paginate(DatabaseName=database, TableName=table["Name"])
    names = ", ".join(f'"{column}"' for column, _ in [*columns, (RUN, "")])
    with connection.cursor().copy(f"COPY {name} ({names}) FROM STDIN".encode()) as copy:
        for partition in (one for page in pages for one in page["Partitions"]):
            for entry in json.loads(_object(partition["StorageDescriptor"]["Location"]))["entries"]:
                data = _object(entry["url"])
                assert entry["mandatory"]
                assert entry["meta"]["content_length"] == len(data)
                for row in _rows(data, columns):
                    copy.write_row([*row, *partition["Values"]])


def _rows(data: bytes, columns: list[tuple[str, str]]) -> list[list[Any]]:
    found = {name.lower(): column for name, column in zip(*_columns_of(data), strict=True)}
    for name, type_ in columns:
        if name in found and found[name].type != arrow_of(type_):
            raise SpectrumError(f"column {name} has an incompatible Parquet schema: {type_} from {found[name].type}")
    count = len(next(iter(found.values())))
    for name, type_ in columns:
        longest = int(type_[8:-1]) if type_.startswith("VARCHAR(") else 0
        if longest and any(len(one.encode()) > longest for one in found.get(name, pa.array([])).to_pylist() if one):
            raise SpectrumError(f"column {name} would be cut to {type_}")
    lists = [found[name].to_pylist() if name in found else [None] * count for name, _ in columns]
    return [[one.replace(tzinfo=None) if hasattr(one, "tzinfo") else one for one in row] for row in zip(*lists, strict=True)]


def _columns_of(data: bytes) -> tuple[list[str], list[Any]]:
    table = pq.ParquetFile(io.BytesIO(data)).read()
    return table.column_names, table.columns


def _object(address: str) -> bytes:
    bucket, _, key = address.removeprefix("s3://").partition("/")
    return bytes(boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read())
