"""Runs of CSV files in moto's S3, and loaders of them into Redshift."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from support.redshift_loads import warehouse
from support.redshift_runs import BUCKET, ENVELOPE, csv_text, parquet_bytes
from support.redshift_server import SCHEMA, RedshiftServer
from support.shredded_runs import click_table, manifest_of
from support.turns import at_once

from onefold.adapters.objects_at import run_objects_at
from onefold.adapters.redshift.event_tables import RedshiftEventTables
from onefold.core.errors import TryAgain
from onefold.events.load.load import Loader
from onefold.events.load.report import RunReport
from onefold.events.load.runs import FolderRuns
from onefold.events.shred.manifest import MANIFEST, ShreddedFile, ShreddedTable
from onefold.ports.event_tables import EventTable, EventWarehouse

RUNS = f"s3://{BUCKET}/shredded"
TABLE = "com_acme_click_1"
Row = Mapping[str, Any]
Columns = Sequence[tuple[str, str]]


def run_name(second: int) -> str:
    return f"2026-11-23-08-00-{second:02}"


def table_of(*columns: tuple[str, str], name: str = TABLE) -> ShreddedTable:
    """Return a table for runs in Parquet."""
    return replace(click_table("1-0-0", ()), name=name, folder=f"name={name}", columns=(*ENVELOPE, *columns))


def row_of(id_: str, *values: Any) -> tuple[Any, ...]:
    """Return a row of such a table."""
    time_ = datetime(2026, 11, 23, 7, 59, 59, tzinfo=UTC)
    return ("com.acme", "click", "jsonschema", "1-0-0", id_, time_, "events", "[]", "events", *values)


@dataclass
class RedshiftScene:
    """An empty schema and a bucket; a run is known by its second."""

    server: RedshiftServer

    def __post_init__(self) -> None:
        self._s3 = boto3.client("s3")
        self._s3.create_bucket(Bucket=BUCKET)

    @property
    def warehouse(self) -> RedshiftEventTables:
        return warehouse()

    def loader(self, warehouse: EventWarehouse | None = None) -> Loader:
        return Loader(FolderRuns(RUNS, run_objects_at(RUNS)), warehouse or self.warehouse)

    def load(self) -> list[RunReport]:
        return list(self.loader().load())

    def shred(self, second: int, version: str, columns: Columns, *rows: Row, name: str = TABLE) -> None:
        """Write a complete run with rows of one table; each row has its event's identifier as `id_`."""
        self.write(second, [(replace(click_table(version, ()), name=name, columns=(*ENVELOPE, *columns)), rows)])

    def write(self, second: int, tables: Sequence[tuple[ShreddedTable, Sequence[Row]]], **fields: Any) -> None:
        """Write the files of a run and its manifest."""
        self.write_lines(second, [(table, [_line(table, row) for row in rows]) for table, rows in tables], **fields)

    def write_lines(self, second: int, tables: Sequence[tuple[ShreddedTable, Sequence[str]]], **fields: Any) -> None:
        """Write the rows of a run, each a text with its end, and its manifest."""
        files = [(table, "".join(rows).encode(), len(rows)) for table, rows in tables]
        self._write(second, "csv", files, **{"format": "csv", "compression": "none", **fields})

    def write_values(self, second: int, tables: Sequence[tuple[ShreddedTable, Sequence[Any]]], **fields: Any) -> None:
        """Write the rows of a run as Parquet, each the values of its columns, and its manifest."""
        files = [(table, parquet_bytes(table.columns, rows), len(rows)) for table, rows in tables]
        self._write(second, "parquet", files, **{"warehouse": "redshift", **fields})

    def _write(self, second: int, end: str, files: Sequence[tuple[ShreddedTable, bytes, int]], **fields: Any) -> None:
        folder, name, written = f"shredded/run={run_name(second)}", f"part-00000.{end}", []
        for table, data, rows in files:
            self._s3.put_object(Bucket=BUCKET, Key=f"{folder}/{table.folder}/{name}", Body=data)
            written.append(replace(table, files=(ShreddedFile(name, rows, len(data)),)))
        manifest = manifest_of(run_name(second), tuple(written), **fields)
        self._s3.put_object(Bucket=BUCKET, Key=f"{folder}/{MANIFEST}", Body=manifest.to_json().encode())

    def change_manifest(self, second: int, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the manifest of a run, as nobody should."""
        key = f"shredded/run={run_name(second)}/{MANIFEST}"
        found = json.loads(self._s3.get_object(Bucket=BUCKET, Key=key)["Body"].read())
        change(found)
        self._s3.put_object(Bucket=BUCKET, Key=key, Body=json.dumps(found).encode())

    def empty(self) -> None:
        """Begin with an empty schema and an empty bucket."""
        self.server.run(f"DROP SCHEMA {SCHEMA} CASCADE", f"CREATE SCHEMA {SCHEMA}")
        listed = self._s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())
        for one in listed:
            self._s3.delete_object(Bucket=BUCKET, Key=one["Key"])

    def columns(self, table: str = TABLE) -> list[tuple[str, str]]:
        found = self.warehouse.find(table)
        return [] if found is None else list(found.columns[len(ENVELOPE) :])

    def rows(self, *names: str, table: str = TABLE) -> list[tuple[Any, ...]]:
        quoted = "".join(', "' + name.replace('"', '""') + '"' for name in names)
        found = self.server.query(f'SELECT TRIM(root_id){quoted} FROM {SCHEMA}."{table}" ORDER BY 1')
        return list(found)


def _line(table: ShreddedTable, row: Row) -> str:
    return csv_text(EventTable(table.name, table.columns, base=table.base), [row])


def together(scene: RedshiftScene, count: int) -> None:
    """Load by some loaders at once. One may give way to the other, whose work it then finds done."""
    failed: list[str] = []

    def work() -> None:
        try:
            reports = scene.load()
        except TryAgain:
            return
        failed.extend(str(error) for report in reports for error in report.errors if not isinstance(error, TryAgain))

    at_once(*[work] * count)
    assert failed == []


@pytest.fixture
def redshift_scene(redshift: RedshiftServer) -> RedshiftScene:
    return RedshiftScene(redshift)
