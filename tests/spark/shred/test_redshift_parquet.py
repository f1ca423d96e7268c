"""The shredder's job for Redshift in Parquet: PyArrow reads the files back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.registries import document
from support.shred_job import ShredScene, click
from support.shred_scene import contexts, enriched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROPERTIES: dict[str, Any] = {
    "small": {"type": "integer", "maximum": 100}, "price": {"type": "number", "multipleOf": 0.01},
    "flag": {"type": "boolean"}, "ratio": {"type": "number"}, "day": {"type": "string", "format": "date"},
    "key": {"type": "string", "format": "uuid"},
    "whole": {"type": "integer", "maximum": 2**31 - 1}, "many": {"type": "array"},
    "at": {"type": "string", "format": "date-time"},
    "inner": {"type": "object", "properties": {"deep": {"type": "string"}}},
}  # fmt: skip
DATA = {
    "small": 1, "price": 12.5, "flag": True, "ratio": 0.25, "day": "1970-01-02",
    "key": "c6ef3124-b53a-4b13-a233-0088f79dcbcb",
    "whole": 7, "many": [1, None], "at": "2026-11-23T08:00:00+01:00", "inner": {"deep": "\\N"},
}  # fmt: skip


def test_files_are_flat_and_have_the_types_and_the_compression_that_redshift_reads(
    spark: SparkSession, tmp_path: Path
) -> None:
    scene = ShredScene(tmp_path)
    scene.add_schemas(document("1-0-0", "all", **PROPERTIES))
    uri = "iglu:com.acme/all/jsonschema/1-0-0"
    scene.write("a.txt", [enriched("enriched-tsv", contexts=contexts({"schema": uri, "data": DATA | {"id": 5}}))])
    report = scene.shred(spark, warehouse="redshift", format="parquet", input="enriched-tsv")
    assert report.bad == {}
    (manifest,) = scene.manifests()
    assert (manifest.warehouse, manifest.format, manifest.compression) == ("redshift", "parquet", "snappy")
    events, table = manifest.tables
    assert len(events.columns) == 128
    (path,) = scene.files(manifest, table)
    file = pq.ParquetFile(path)
    assert file.metadata.row_group(0).column(0).compression == "SNAPPY"
    types = {field.name: field.type for field in file.schema_arrow}
    assert list(types) == [name for name, _ in table.columns]
    assert {name: str(types[name]) for name in ("small", "whole", "id", "price", "ratio", "flag", "day", "at", "key")} == {
        "small": "int16", "whole": "int32", "id": "int64", "price": "decimal128(36, 2)", "ratio": "double", "flag": "bool",
        "day": "date32[day]", "at": "timestamp[us, tz=UTC]", "key": "string",
    }  # fmt: skip
    assert not any(pa.types.is_nested(type_) for type_ in types.values())
    (row,) = file.read().to_pylist()
    assert (row["price"], row["many"], row["inner.deep"]) == (Decimal("12.50"), "[1,null]", "\\N")
    assert row["at"] == datetime(2026, 11, 23, 7, tzinfo=UTC)


def test_a_run_of_before_names_no_warehouse_and_its_format_says_it(spark: SparkSession, tmp_path: Path) -> None:
    scene = ShredScene(tmp_path)
    scene.add_schemas(document("1-0-0"))
    scene.write("a.txt", [click(1)])
    scene.shred(spark, format="csv")
    (manifest,) = scene.manifests()
    assert (manifest.warehouse, manifest.target) == (None, "redshift")
    (path,) = tmp_path.glob("output/run=*/shredding_complete.json")
    assert "warehouse" not in json.loads(path.read_text())
