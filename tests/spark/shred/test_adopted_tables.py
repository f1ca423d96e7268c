"""The shredder's job for a table that another loader made and that the registry has as adopted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.registries import schema
from support.shred_job import click, scene_with_clicks

from onefold.adapters.folder_objects import FolderObjects
from onefold.events.registry.adopted import record_adopted
from onefold.events.registry.column_mapping import TableColumn
from onefold.events.registry.legacy_table import LegacyTable, adopt
from onefold.schema.redshift_ddl import ENVELOPE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_the_manifest_has_the_columns_of_the_files_and_all_columns_of_the_table(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    scene = scene_with_clicks(tmp_path)
    columns = (TableColumn("ID", "SMALLINT"), TableColumn("mine", "DATE"), *(TableColumn(*one[:2]) for one in ENVELOPE))
    adoption = adopt([schema("1-0-0")], "redshift", LegacyTable("atomic.old_clicks", columns, {}))
    record_adopted(str(scene.registry), FolderObjects(scene.registry), adoption.table)
    scene.write("a.txt", [click(1), click(40_000)])
    report = scene.shred(spark, warehouse="redshift", format=format_)
    (manifest,) = scene.manifests()
    (table,) = manifest.tables
    assert (table.name, table.columns[-3:]) == (
        "old_clicks", (("größe", "VARCHAR(20)"), ("ID", "SMALLINT"), ("page", "VARCHAR(4096)")),
    )  # fmt: skip
    assert table.adopted == tuple((column.name, column.type) for column in columns)
    assert [row["ID"] for row in scene.rows(manifest, "old_clicks")] == ["1" if format_ == "csv" else 1]
    assert report.bad == {"does_not_fit": 1}
    assert "ID: 40000 is beyond SMALLINT" in scene.bad_rows(manifest)[0]["reasons"][0]
