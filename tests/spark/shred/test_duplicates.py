"""Duplicates on real files: within a run, over runs, after a kill and in a repeated run."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSystem
from support.registries import document
from support.shred_job import CLICK, ShredScene, scene_with_clicks
from support.shred_scene import contexts, enriched

from onefold.core.errors import InvalidInput
from onefold.core.shred_options import InputForm
from onefold.events.registry.registry import Registry
from onefold.events.shred.bad_rows import BadRow
from onefold.events.shred.duplicates import DUPLICATE, derived_id, id_reader
from onefold.events.shred.event import EventKey
from onefold.events.shred.event_ids import HASH, hash_of
from onefold.events.shred.manifest import MANIFEST, RunManifest
from onefold.events.shred.plan import plan_shred
from onefold.events.shred.runs import IDS
from onefold.spark.shred import repeated
from onefold.spark.shred.output import InputsTaken, Output
from onefold.spark.shred.records import FilePart
from onefold.spark.shred.repeated import EarlierIds, ids_of
from onefold.spark.shred.stores import Stores
from onefold.spark.shred.tasks import ReadTask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
WINDOW = "--duplicates-window=7"
FIRST, SECOND, THIRD = (f"00000000-0000-4000-8000-00000000000{number}" for number in range(3))
DUPLICATES = "com_snowplowanalytics_snowplow_duplicate_1"


def event(id_: str, fingerprint: str = "", number: object = 1, **fields: str) -> str:
    data = contexts({"schema": CLICK, "data": {"id": number}})
    return enriched("enriched-tsv", event_id=id_, event_fingerprint=fingerprint, contexts=data, **fields)


@pytest.fixture
def scene(tmp_path: Path) -> ShredScene:
    scene = scene_with_clicks(tmp_path)
    original = {"type": "string", "format": "uuid"}
    scene.add_schemas(document(name="duplicate", vendor="com.snowplowanalytics.snowplow", originalEventId=original))
    return scene


def manifest_of(run: str, duplicates: Mapping[str, int]) -> RunManifest:
    start = datetime(2026, 11, 23, 8, tzinfo=UTC)
    return RunManifest(run, "csv", "none", "r", (), (), (), 0, {}, start, start, duplicates=duplicates)


def run(spark: SparkSession, scene: ShredScene, *more: str, format_: str = "csv") -> dict[str, int]:
    report = scene.shred(spark, WINDOW, *more, format=format_, input="enriched-tsv")
    return {name: report.duplicates[name] for name in ("runs", "ids", "left_out", "renamed")}


def ids(scene: ShredScene, place: int = -1) -> list[str]:
    """The ids of the events of a run."""
    manifest = scene.manifests()[place]
    has_rows = any(table.name == "events" for table in manifest.tables)
    return sorted(row["event_id"] for row in scene.rows(manifest, "events")) if has_rows else []


@pytest.mark.parametrize("format_", ["csv", pytest.param("parquet", marks=pytest.mark.long)])
def test_each_event_is_one_row_within_a_run_and_over_runs(spark: SparkSession, scene: ShredScene, format_: str) -> None:
    other = derived_id(EventKey(FIRST, "f2"))
    scene.write("a.txt", [event(FIRST, "f2"), "", event(SECOND, app_id="a"), event(THIRD, number="bad")])
    scene.write("b.txt", [event(FIRST, "f1"), event(SECOND, app_id="a", etl_tstamp="2026-11-23 09:00:00")])
    scene.write("c.txt", [event(FIRST, "f1", etl_tstamp="2026-11-23 09:00:00")])
    assert run(spark, scene, "--dry-run", format_=format_) == {"runs": 0, "ids": 0, "left_out": 2, "renamed": 1}
    assert run(spark, scene, format_=format_) == {"runs": 0, "ids": 3, "left_out": 2, "renamed": 1}
    assert ids(scene) == sorted([FIRST, SECOND, other])
    manifest = scene.manifests()[-1]
    (context,) = scene.rows(manifest, DUPLICATES)
    assert (context["root_id"], context["original_event_id"]) == (other, FIRST)
    assert (manifest.events, manifest.bad) == (6, {"invalid": 1})
    assert manifest.duplicates == {"window_days": 7, "runs": 0, "ids": 3, "left_out": 2, "renamed": 1}
    # The bad event has no id that a later run could know: it is a row when it is right.
    scene.write(
        "d.txt", [event(FIRST, "f1"), event(FIRST, "f2"), event(FIRST, "f0"), event(THIRD), event(SECOND, app_id="a")]
    )
    assert run(spark, scene, format_=format_) == {"runs": 1, "ids": 2, "left_out": 3, "renamed": 1}
    assert ids(scene) == sorted([THIRD, derived_id(EventKey(FIRST, "f0"))])


def test_a_run_some_of_whose_ids_are_gone_is_named(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a.txt", [event(FIRST, "f1"), event(SECOND, "f1")])
    run(spark, scene)
    (kept,) = scene.output.rglob("event_ids/**/*.parquet")
    some = pq.read_table(kept).slice(1)
    pq.write_table(some, kept.with_name("part-1.parquet"))
    kept.unlink()
    scene.write("b.txt", [event(FIRST, "f1")])
    with pytest.raises(InvalidInput, match=r"event_ids: ids of event_ids are gone"):
        run(spark, scene)


@pytest.mark.long
def test_a_repeated_run_gives_the_same_ids_and_a_bad_copy_takes_no_id(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a.txt", [event(FIRST, "f2"), event(FIRST, "f0", number="bad")])
    scene.write("b.txt", [event(FIRST, "f3"), event(SECOND, "f1"), event(SECOND, "f1", number="bad")])
    found = []
    for _ in range(2):
        assert run(spark, scene) == {"runs": 0, "ids": 3, "left_out": 0, "renamed": 1}
        found.append(ids(scene))
        shutil.rmtree(scene.output)
    assert found == [sorted([FIRST, SECOND, derived_id(EventKey(FIRST, "f3"))])] * 2


@pytest.mark.parametrize("form", ["enriched-tsv", "enriched-json", "self-describing"])
def test_the_id_of_every_event_is_read_however_it_is_written(form: InputForm) -> None:
    ids = [FIRST, 'say"x"', "back\\slash", "grün", "{", ""]
    events = {id_: with_event_id(form, id_) for id_ in ids}
    bad = BadRow("invalid", ("x",), events[FIRST]).to_json()
    written = [*events.items(), (FIRST, bad), (FIRST, events[FIRST] + "\r")]
    if form != "enriched-tsv":
        escaped = events[FIRST].replace('"event_id"', '"event\\u005fid"').replace("-", "\\u002d").replace(":", " : ")
        inner = {"a": [{"event_id": SECOND}], "event_id": FIRST, "z": {"event_id": SECOND}}
        written += [(FIRST, escaped), (FIRST, f" {json.dumps(inner)} "), ("", "{}"), ("", '{"event_id": null}')]
    assert [id_reader(form)(record.removesuffix("\r")) or "" for _, record in written] == [id_ for id_, _ in written]
    lines = "\n\n".join(record for _, record in written).encode()
    assert [id_ or b"" for id_ in ids_of(lines, form)] == [id_.encode() for id_, _ in written]


def with_event_id(form: InputForm, id_: str) -> str:
    if form == "self-describing":
        return json.dumps({"schema": CLICK, "data": {"event_id": SECOND}, "event_id": id_}, ensure_ascii=False)
    return enriched(form, event_id=id_, app_id="é")


def test_only_finished_runs_of_the_window_that_are_still_there_count(spark: SparkSession, tmp_path: Path) -> None:
    output = Output(spark, str(tmp_path))
    counts = {"window_days": 7, "ids": 1}
    without_ids: dict[int, dict[str, int]] = {23: {**counts, "ids": 0}, 24: {}}
    days = {day: f"2026-11-{day}-08-00-00" for day in range(20, 26)}
    for day, run in days.items():
        (tmp_path / f"run={run}" / "event_ids").mkdir(parents=True)
        output.read()
        output.finish(manifest_of(run, without_ids.get(day, counts)))
    (tmp_path / f"run={days[25]}" / MANIFEST).unlink()
    (tmp_path / "_commits" / "0000000006.json").unlink()
    shutil.rmtree(tmp_path / f"run={days[22]}")
    output.read()
    found = output.ids_since(datetime(2026, 11, 21, 8, tzinfo=UTC))
    assert found == {f"{tmp_path}/run={days[21]}/event_ids": 1}
    assert len(output.ids_since(datetime(2026, 11, 20, 8, tzinfo=UTC))) == 2
    # A rule that removes what is old may have taken the ids before the manifest.
    shutil.rmtree(tmp_path / f"run={days[20]}" / "event_ids")
    with pytest.raises(InvalidInput, match=f"run={days[20]}: ids of event_ids are gone, so duplicates"):
        output.ids_since(datetime(2026, 11, 20, 8, tzinfo=UTC))


def test_a_run_gives_way_to_another_one_with_which_it_was_not_compared(spark: SparkSession, scene: ShredScene) -> None:
    output = Output(spark, str(scene.output))
    output.read()
    scene.write("a.txt", [event(FIRST, "f1")])
    run(spark, scene)
    mine = manifest_of("2026-11-23-08-00-00", {"window_days": 7, "ids": 1})
    (scene.output / mine.folder).mkdir()
    with pytest.raises(InputsTaken, match="another run has finished, with whose events this one was not compared"):
        output.finish(mine)
    assert not (scene.output / mine.folder).exists()


def test_without_the_schema_of_the_context_there_is_no_run(spark: SparkSession, tmp_path: Path) -> None:
    scene = scene_with_clicks(tmp_path)
    scene.write("a.txt", [event(FIRST)])
    with pytest.raises(InvalidInput, match=re.escape(f"no usable schema {DUPLICATE}")):
        run(spark, scene)
    assert [path.name for path in scene.output.iterdir()] == ["_registries"]


def test_without_the_option_all_events_are_taken_and_no_ids_are_kept(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a.txt", [event(FIRST, "f1"), event(FIRST, "f1"), event(FIRST, "f2")])
    report = scene.shred(spark, input="enriched-tsv")
    assert (ids(scene), report.duplicates, scene.manifests()[0].duplicates) == ([FIRST] * 3, {}, {})
    assert not [*scene.output.rglob(IDS)]


@pytest.mark.parametrize("id_", ["", "e1", "e9c2\u00e9 \U0001f600", "a" * 100])
def test_a_hash_is_that_of_spark_which_earlier_releases_kept(spark: SparkSession, id_: str) -> None:
    ((expected,),) = spark.createDataFrame([(id_,)], "id string").selectExpr("xxhash64(id)").collect()
    assert hash_of(id_) == expected


def test_more_ids_than_the_driver_compares_are_compared_by_tasks(
    spark: SparkSession, scene: ShredScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated, "_PART_IDS", 1)
    scene.write("a.txt", [event(FIRST, "f1"), event(SECOND, "f1"), event(SECOND, "f1")])
    assert run(spark, scene) == {"runs": 0, "ids": 2, "left_out": 1, "renamed": 0}
    scene.write("b.txt", [event(FIRST, "f1"), event(SECOND, "f2"), event(THIRD, "f1"), event(THIRD, "f1")])
    assert run(spark, scene) == {"runs": 1, "ids": 2, "left_out": 2, "renamed": 1}
    assert ids(scene) == sorted([THIRD, derived_id(EventKey(SECOND, "f2"))])


def test_the_driver_reads_the_ids_of_earlier_runs_at_the_same_time(spark: SparkSession, tmp_path: Path) -> None:
    both = Barrier(2)

    class Waiting(Stores):
        """Answers two at once alone."""

        def find(self, address: str) -> tuple[FileSystem, str]:
            both.wait(30)
            return super().find(address)

    events, kept = tmp_path / "a.txt", pa.table({HASH: [hash_of(SECOND)]})
    events.write_text(f"{event(FIRST)}\n{event(SECOND)}\n")
    for name in "bc":
        (tmp_path / name).mkdir()
        pq.write_table(kept, tmp_path / name / "ids.parquet")
    earlier = {EarlierIds(Waiting(), str(tmp_path / name)): 1 for name in "bc"}
    plan = plan_shred(Registry({}, ""), "parquet", "enriched-tsv", datetime(2026, 11, 23, tzinfo=UTC))
    task = ReadTask(0, (FilePart(str(events), 0, events.stat().st_size),))
    assert repeated.find_repeated(spark, plan, Stores(), [task], earlier) == ([1], [hash_of(SECOND)])
