"""Runs that set entities of unknown schemas apart, or keep their JSON, and the runs that read them again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.registries import document
from support.shred_job import CLICK, ShredScene, scene_with_clicks
from support.shred_scene import contexts, enriched

from onefold.events.shred.bad_reasons import unknown_schemas
from onefold.events.shred.counts import EVENTS
from onefold.events.shred.unknown import UNKNOWN_TABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
USER = "iglu:com.acme/user/jsonschema/1-0-0"


@pytest.fixture
def scene(tmp_path: Path) -> ShredScene:
    scene = scene_with_clicks(tmp_path)
    entities = [[{"schema": CLICK, "data": {"id": n}}, {"schema": USER, "data": {"id": n}}] for n in range(3)]
    scene.write("a.txt", [enriched("enriched-tsv", contexts=contexts(*some)) for some in entities])
    return scene


def test_a_retry_loads_the_entities_once_and_their_events_never(spark: SparkSession, scene: ShredScene) -> None:
    words = {"input": "enriched-tsv", "unknown": "bad_entity"}
    first = scene.shred(spark, **words)
    assert first.tables == {EVENTS: 3, "com_acme_ad_click_1": 3}
    assert (first.bad, first.bad_entities, first.events) == ({}, {"unknown_schema": 3}, 3)
    bad = f"{scene.output}/run=*/bad"
    again = scene.shred(spark, events=[bad], **words)
    assert (again.events, again.tables, again.bad_entities, again.retried) == (0, {}, {"unknown_schema": 3}, 0)
    scene.add_schemas(document("1-0-0", "user"))
    # Whatever the next run does with unknown entities, and in whichever form its events are.
    last = scene.shred(spark, events=[bad], format="parquet")
    assert (last.events, last.tables, last.bad_entities, last.retried) == (0, {"com_acme_user_1": 3}, {}, 3)
    manifest = scene.manifests()[-1]
    assert sorted(row["id"] for row in scene.rows(manifest, "com_acme_user_1")) == [0, 1, 2]
    assert (manifest.retried, [one.uri for one in manifest.schemas]) == (3, [USER])
    assert scene.shred(spark, events=[bad], **words).run is None


def test_the_json_of_unknown_entities_is_a_table_of_the_run(spark: SparkSession, scene: ShredScene) -> None:
    report = scene.shred(spark, input="enriched-tsv", unknown="keep_json", format="parquet")
    assert report.tables == {EVENTS: 3, "com_acme_ad_click_1": 3, UNKNOWN_TABLE: 3}
    (manifest,) = scene.manifests()
    rows = scene.rows(manifest, UNKNOWN_TABLE)
    assert {row["run"] for row in rows} == {f"file://{scene.output}/{manifest.folder}"}
    assert sorted(row["data"] for row in rows) == ['{"id":0}', '{"id":1}', '{"id":2}']
    assert [one.uri for one in manifest.schemas] == [CLICK]
    assert unknown_schemas(manifest.reasons) == [USER]
    assert {path.name for path in (scene.output / manifest.folder).iterdir() if path.is_dir()} == {
        EVENTS, UNKNOWN_TABLE, "vendor=com.acme"
    }  # fmt: skip
