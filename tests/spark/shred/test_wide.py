"""Runs with wide columns: their files, and their way into a table of BigQuery and its views."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.registries import document
from support.shred_job import CLICK, ShredScene, scene_with_clicks
from support.shred_scene import contexts, enriched, unstruct

from onefold.adapters.bigquery.event_tables import BigQueryEventTables
from onefold.adapters.connect import connect
from onefold.adapters.folder_objects import FolderObjects
from onefold.events.load.load import Loader
from onefold.events.load.runs import FolderRuns, runs_address
from onefold.events.shred.counts import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
USER = "iglu:com.acme/user/jsonschema/1-0-0"
WIDE = {"input": "enriched-tsv", "format": "parquet", "layout": "wide"}


@pytest.fixture
def scene(tmp_path: Path) -> ShredScene:
    scene = scene_with_clicks(tmp_path)
    scene.add_schemas(document("1-0-0", "user"), document("1-0-0", "unused"))
    click, user = ({"schema": uri, "data": {"id": number}} for number, uri in enumerate((CLICK, USER)))
    scene.write("a.txt", [enriched("enriched-tsv", event_id="e1", unstruct_event=unstruct(click))])
    scene.write("b.txt", [enriched("enriched-tsv", event_id="e2", contexts=contexts(user, click))])
    return scene


def test_a_run_has_the_columns_of_its_entities_and_each_file_those_of_its_events(
    spark: SparkSession, scene: ShredScene
) -> None:
    report = scene.shred(spark, **WIDE)
    names = ["unstruct_event_com_acme_ad_click_1", "contexts_com_acme_ad_click_1", "contexts_com_acme_user_1"]
    assert report.tables == {EVENTS: 2, **dict.fromkeys(names, 1)}
    (manifest,) = scene.manifests()
    (table,) = manifest.tables
    assert (table.name, [name for name, _ in table.columns[128:]], [one.uri for one in manifest.schemas]) == (
        EVENTS,
        names,
        [CLICK, USER],
    )
    rows = {row["event_id"]: row for row in scene.rows(manifest, EVENTS)}
    assert rows["e1"][names[0]]["id"] == 0
    assert [rows["e2"][name][0]["id"] for name in names[1:]] == [0, 1]
    for path in scene.files(manifest, table):
        assert set(pq.ParquetFile(path).schema_arrow.names[128:]) <= set(names)


@pytest.mark.long
def test_rows_are_loaded_by_the_names_of_columns_and_read_by_the_views_of_their_schemas(
    spark: SparkSession, scene: ShredScene, dataset: EmulatedDataset, run: Run
) -> None:
    warehouse = BigQueryEventTables(connect(None), dataset.name)
    loader = Loader(FolderRuns(runs_address(str(scene.output)), FolderObjects(scene.output)), warehouse)
    scene.shred(spark, **WIDE)
    assert [str(error) for report in loader.load() for error in report.errors] == []
    user = {"schema": USER, "data": {"id": 7}}
    scene.write("c.txt", [enriched("enriched-tsv", event_id="e3", unstruct_event=unstruct(user))])
    scene.shred(spark, **WIDE)
    assert [str(error) for report in loader.load() for error in report.errors] == []

    Path("onefold.yaml").write_text(f"tables: {{{dataset.name}.events: {{tool: Snowplow, rows: current}}}}\n")
    assert run("refresh", f"{dataset.name}.events").code == 0
    users = dataset.quoted("com_acme_user_unified")
    assert dataset.run(f"SELECT root_id, id FROM {users} ORDER BY 1") == [("e2", 1), ("e3", 7)]
    clicks = dataset.quoted("com_acme_ad_click_unified")
    assert dataset.run(f"SELECT root_id, id FROM {clicks} ORDER BY 1") == [("e1", 0), ("e2", 0)]
    for view, name in ((users, "user"), (clicks, "ad_click")):
        schema = dataset.run(
            f"SELECT schema_vendor, schema_name, schema_format, ref_tree FROM {view} "
            f"WHERE root_id = 'e2' AND schema_version = '1-0-0'"
        )
        assert schema == [("com.acme", name, "jsonschema", f'["events","{name}"]')]
    assert len(dataset.run(f"SELECT event_id FROM {dataset.quoted('events_current')}")) == 3
