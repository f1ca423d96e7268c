"""Runs of a shredder in a folder, written by pyarrow: real Parquet files, and the manifest that lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from onefold.events.shred.counts import EVENTS
from onefold.events.shred.manifest import MANIFEST, RunManifest, ShreddedFile, ShreddedTable, UsedSchema
from onefold.events.shred.plan import PlannedTable
from onefold.schema.types import Array, Scalar, Struct, Type, parse_type

ENVELOPE = (
    ("schema_vendor", "STRING"), ("schema_name", "STRING"), ("schema_format", "STRING"), ("schema_version", "STRING"),
    ("root_id", "STRING"), ("root_tstamp", "TIMESTAMP"), ("ref_root", "STRING"), ("ref_tree", "STRING"),
    ("ref_parent", "STRING"),
)  # fmt: skip
_ARROW = {
    "STRING": pa.string(), "INT64": pa.int64(), "FLOAT64": pa.float64(), "BOOL": pa.bool_(), "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"), "NUMERIC": pa.decimal128(38, 9),
}  # fmt: skip
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)

Row = Mapping[str, Any]
Columns = Sequence[tuple[str, str]]


def arrow_type(type_: Type) -> pa.DataType:
    match type_:
        case Scalar(name):
            return _ARROW[name]
        case Array(element):
            return pa.list_(arrow_type(element))
        case Struct(fields):
            return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in fields])
    raise AssertionError(type_)


def click_table(version: str, columns: Columns, name: str = "com_acme_click_1") -> ShreddedTable:
    """A table of the schema com.acme/click without files; `version` is that of the schema, 1-0-0."""
    model = version.split("-")[0]
    folder = f"vendor=com.acme/name=click/format=jsonschema/model={model}"
    uri = f"iglu:com.acme/click/jsonschema/{version}"
    return ShreddedTable(name, "com_acme_click", model, uri, (*ENVELOPE, *columns), folder, ())


def shredded_table(planned: PlannedTable) -> ShreddedTable:
    """A table of a run as its plan has it, without files."""
    own = (planned.name, planned.base, planned.version, planned.uri, planned.columns, planned.folder)
    return ShreddedTable(*own, (), adopted=planned.adopted)


def envelope(id_: str) -> dict[str, Any]:
    return {**{name: name for name, type_ in ENVELOPE if type_ == "STRING"}, "root_id": id_, "root_tstamp": NOON}


def manifest_of(run: str, tables: tuple[ShreddedTable, ...], **fields: Any) -> RunManifest:
    """The manifest of a complete run of Parquet files; `fields` are those that differ."""
    started = datetime.strptime(run, "%Y-%m-%d-%H-%M-%S").replace(tzinfo=UTC)
    bad = fields.get("bad", {})
    good = sum(table.rows for table in tables if table.name == EVENTS) or sum(table.rows for table in tables)
    usual: dict[str, Any] = {
        "format": "parquet", "compression": "snappy", "registry": "/registry", "inputs": (f"/in/{run}",), "bad": bad,
        "schemas": tuple(map(UsedSchema, sorted({table.uri for table in tables if table.uri}))),
        "events": good + sum(bad.values()), "started_at": started, "completed_at": started,
    }  # fmt: skip
    return RunManifest(run=run, tables=tables, **{**usual, **fields})


def write_run(
    folder: Path, run: str, tables: Sequence[tuple[ShreddedTable, Sequence[Row]]], *, complete: bool = True, **fields: Any
) -> RunManifest:
    """Write a run with one file for each table, two where there are several rows; the registry was read at its start."""
    home = folder / f"run={run}"
    home.mkdir(parents=True)
    manifest = manifest_of(run, tuple(_write(home, table, rows) for table, rows in tables), **fields)
    if complete:
        (home / MANIFEST).write_text(manifest.to_json())
    return manifest


def _write(home: Path, table: ShreddedTable, rows: Sequence[Row]) -> ShreddedTable:
    schema = pa.schema([pa.field(name, arrow_type(parse_type(type_))) for name, type_ in table.columns])
    place = home / table.folder
    place.mkdir(parents=True)
    parts = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    files = []
    for number, part in enumerate(part for part in parts if part):
        path = place / f"part-{number:05}.snappy.parquet"
        full = [{name: row.get(name) for name, _ in table.columns} for row in part]
        pq.write_table(pa.Table.from_pylist(full, schema), path)
        files.append(ShreddedFile(path.name, len(part), path.stat().st_size))
    return ShreddedTable(**{**vars(table), "files": tuple(files)})
