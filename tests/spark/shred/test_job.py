"""The shredder's job on real files: which inputs a run takes, what it writes, and what its manifest says."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.registries import document
from support.shred_job import CLICK, ShredScene, click, events_in, scene_with_clicks

from onefold.batches.shred_arguments import ShredArguments
from onefold.core.errors import InvalidInput
from onefold.events.registry.copies import Copies
from onefold.events.registry.frozen import Wanted
from onefold.events.registry.registry import Registry
from onefold.spark.shred.job import shred
from onefold.spark.shred.output import InputsTaken
from onefold.spark.shred.registry import read_registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
NEWER = CLICK.replace("1-0-0", "1-0-1")
NEXT = CLICK.replace("1-0-0", "1-0-2")


@pytest.fixture
def scene(tmp_path: Path) -> ShredScene:
    return scene_with_clicks(tmp_path)


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_each_event_is_a_row_or_a_bad_row(spark: SparkSession, scene: ShredScene, format_: str) -> None:
    scene.write("a.txt", [*map(click, range(5)), "nonsense", click("x"), click(9, NEXT), "\udcff"])  # type: ignore[arg-type]
    scene.write("b.txt", [click(5, NEWER, page='tab\t, line\n and "quote"', größe="\\N")])
    report = scene.shred(spark, format=format_)
    (manifest,) = scene.manifests()
    rows = scene.rows(manifest, "com_acme_ad_click_1")
    assert sorted(int(row["id"]) for row in rows) == list(range(6))
    (newer,) = (row for row in rows if int(row["id"]) == 5)
    assert newer["page"] == 'tab\t, line\n and "quote"'
    assert newer["größe"] == ("\\\\N" if format_ == "csv" else "\\N")
    assert {row["page"] for row in rows if row is not newer} == {None}
    assert {(row["schema_version"], row["ref_tree"]) for row in rows} == {
        ("1-0-0", '["events","ad_click"]'),
        ("1-0-1", '["events","ad_click"]'),
    }
    bad = scene.bad_rows(manifest)
    assert Counter(one["kind"] for one in bad) == {"unreadable": 2, "invalid": 1, "newer_version": 1} == report.bad
    assert all(one["reasons"] for one in bad)
    assert {one["original"] for one in bad} == {"nonsense", click("x"), click(9, NEXT), "\udcff"}  # type: ignore[arg-type]
    assert (manifest.events, report.events, manifest.format) == (10, 10, format_)
    registry = str(scene.registry)
    assert [(one.uri, one.registry) for one in manifest.schemas] == [(CLICK, registry), (NEWER, registry)]
    assert report.tables == {"com_acme_ad_click_1": 6}


def test_the_manifest_lists_the_files_with_their_sizes_and_the_columns(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a.txt", map(click, range(3)))
    scene.shred(spark)
    (manifest,) = scene.manifests()
    (table,) = manifest.tables
    (path,) = scene.files(manifest, table)
    assert table.folder == "vendor=com.acme/name=ad_click/format=jsonschema/model=1"
    assert path.stat().st_size == table.files[0].bytes
    assert len(path.read_text().splitlines()) == table.files[0].rows == 3
    assert (table.base, table.version, table.uri) == ("com_acme_ad_click", "1", NEWER)
    assert [name for name, _ in table.columns][9:] == ["größe", "id", "page"]
    assert manifest.inputs == (f"file:{scene.events}/a.txt",)
    assert manifest.started_at <= manifest.completed_at
    found = {one.name for one in (scene.output / manifest.folder).rglob("*") if one.is_file() and one.name[0] != "."}
    assert found == {"_started", "shredding_complete.json", table.files[0].name}


def test_a_run_takes_the_files_that_no_manifest_lists(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("2026/a.txt", [click(1)])
    assert scene.shred(spark).inputs == 1
    scene.write("2026/b.txt", [click(2)])
    packed = scene.events / "2027" / "c.txt.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(click(3).encode()))
    scene.write("2026/_temporary/d.txt", [click(4)])
    scene.write("2026/.e.txt", [click(4)])
    assert (scene.shred(spark, events=[f"{scene.events}/202?/*"]).inputs, len(scene.manifests())) == (2, 2)
    nothing = scene.shred(spark)
    assert (nothing.run, nothing.inputs, nothing.taken, len(scene.manifests())) == (None, 0, 3, 2)
    assert "no new files" in nothing.summary()
    ids = [row["id"] for manifest in scene.manifests() for row in scene.rows(manifest, "com_acme_ad_click_1")]
    assert sorted(ids) == ["1", "2", "3"]


def test_bad_rows_are_shredded_again_when_the_registry_has_the_version(
    spark: SparkSession, scene: ShredScene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.write("a.txt", [click(1, NEXT), "nonsense", "\udcff"])
    scene.shred(spark)
    assert events_in(capsys.readouterr().err) == ["run_shredded", "many_bad_events", "unknown_schema", "new_bad_reason"]
    scene.add_schemas(document("1-0-2", page={"type": "string"}, size={"type": "integer"}))
    report = scene.shred(spark, events=[f"{scene.output}/run=*/bad"])
    assert events_in(capsys.readouterr().err) == ["run_shredded", "many_bad_events"], "the reason is known"
    first, second = scene.manifests()
    assert first.tables == ()
    assert list(first.reasons.values()) == [1, 1, 1]
    assert [row["id"] for row in scene.rows(second, "com_acme_ad_click_1")] == ["1"]
    assert (report.events, report.bad) == (3, {"unreadable": 2})
    assert [one["original"] for one in scene.bad_rows(second)] == ["nonsense", "\udcff"]


def test_rows_of_runs_are_no_events(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a.txt", [click(1), "nonsense"])
    scene.shred(spark)
    with pytest.raises(InvalidInput, match="holds rows of a run"):
        scene.shred(spark, events=[scene.output])
    unfinished = scene.output / "run=2026-01-01-00-00-00" / "bad"
    unfinished.mkdir(parents=True)
    (unfinished / "part-0.json").write_text("x\n")
    with pytest.raises(InvalidInput, match="not finished"):
        scene.shred(spark, events=[unfinished])
    # A pattern leaves it out: its inputs are read again, and a run that was killed stops no later one.
    assert scene.shred(spark, "--dry-run", events=[f"{scene.output}/run=*/bad"]).events == 1


def test_places_that_do_not_exist_are_named_together(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a.txt", [click(1)])
    with pytest.raises(InvalidInput) as error:
        scene.shred(spark, events=[scene.events, scene.folder / "no", "none", f"{scene.folder}/x*"])
    assert [problem.split(": ")[1] for problem in error.value.problems] == ["there is no such file or folder"] * 2


def test_a_dry_run_counts_and_writes_nothing(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a.txt", [click(1), click(2, NEWER), "nonsense"])
    report = scene.shred(spark, "--dry-run")
    assert (report.events, report.tables, report.bad) == (3, {"com_acme_ad_click_1": 2}, {"unreadable": 1})
    assert not scene.output.exists()
    assert "nothing written" in report.summary()
    assert json.loads(report.to_json())["dry_run"] is True


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_many_batches_and_files_keep_all_rows(
    spark: SparkSession, scene: ShredScene, format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workers run in processes of their own, so small sizes are set in what they get."""
    monkeypatch.setattr("onefold.spark.shred.write.READ_BYTES", 50_000)
    scene.write("a.txt", map(click, range(5_000)))
    scene.shred(spark, format=format_)
    (manifest,) = scene.manifests()
    assert sorted(int(row["id"]) for row in scene.rows(manifest, "com_acme_ad_click_1")) == list(range(5_000))


def test_many_tables_with_few_rows_are_written_in_one_pass(spark: SparkSession, scene: ShredScene) -> None:
    """Hadoop starts a process for the mode of each local folder, so a test of more tables would take long."""
    scene.add_schemas(*(document("1-0-0", f"event_{number}") for number in range(30)))
    scene.write("a.txt", [click(n, f"iglu:com.acme/event_{n % 30}/jsonschema/1-0-0") for n in range(60)])
    scene.shred(spark)
    (manifest,) = scene.manifests()
    assert (len(manifest.tables), {table.rows for table in manifest.tables}) == (30, {2})
    assert {len(table.files) for table in manifest.tables} == {1}
    assert [row["id"] for row in scene.rows(manifest, "com_acme_event_7_1")] == ["7", "37"]


def test_of_two_runs_with_the_same_files_the_later_one_gives_way(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a.txt", [click(1)])
    arguments = ShredArguments.parse(scene.words())

    def meanwhile(wanted: Wanted, copies: Copies) -> Registry:
        scene.shred(spark)
        return read_registry(arguments.registry, None, wanted, copies)

    with pytest.raises(InputsTaken, match=r"a\.txt meanwhile"):
        shred(spark, arguments, meanwhile)
    (manifest,) = scene.manifests()
    assert [path.name for path in scene.output.glob("run=*")] == [manifest.folder]


def test_two_runs_at_once_with_different_files_both_finish(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a/1.txt", [click(1)])
    scene.write("b/2.txt", [click(2)])
    arguments = ShredArguments.parse(scene.words(events=[scene.events / "a"]))

    def meanwhile(wanted: Wanted, copies: Copies) -> Registry:
        scene.shred(spark, events=[scene.events / "b"])
        return read_registry(arguments.registry, None, wanted, copies)

    shred(spark, arguments, meanwhile)
    first, second = scene.manifests()
    assert {first.inputs[0][-5:], second.inputs[0][-5:]} == {"1.txt", "2.txt"}
    assert len(list((scene.output / "_commits").glob("0*.json"))) == 2


def test_a_manifest_that_a_killed_run_did_not_write_is_written_by_the_next_one(
    spark: SparkSession, scene: ShredScene
) -> None:
    scene.write("a.txt", [click(1)])
    scene.shred(spark)
    (manifest,) = scene.manifests()
    place = scene.output / manifest.folder / "shredding_complete.json"
    text = place.read_text()
    place.unlink()
    assert scene.shred(spark).inputs == 0
    assert place.read_text() == text


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", '{"run": 5}'])
def test_a_broken_commit_is_an_error_that_names_it(spark: SparkSession, scene: ShredScene, text: str) -> None:
    scene.write("a.txt", [click(1)])
    (scene.output / "_commits").mkdir(parents=True)
    (scene.output / "_commits" / "0000000001.json").write_text(text)
    with pytest.raises(InvalidInput, match=r"0000000001\.json"):
        scene.shred(spark)


def test_files_of_failed_tasks_are_not_in_the_manifest(
    spark: SparkSession, scene: ShredScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    from onefold.spark.shred.write import write_run

    def write_and_leave(*arguments: object) -> object:
        tally = write_run(*arguments)  # type: ignore[arg-type]
        (folder,) = scene.output.glob("run=*/vendor=*/name=*/format=*/model=1")
        (folder / "part-00007-0000.c000.txt").write_text("half a row")
        return tally

    monkeypatch.setattr("onefold.spark.shred.job.write_run", write_and_leave)
    scene.write("a.txt", [click(1)])
    scene.shred(spark)
    (manifest,) = scene.manifests()
    assert [len(table.files) for table in manifest.tables] == [1]
    assert [row["id"] for row in scene.rows(manifest, "com_acme_ad_click_1")] == ["1"]


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_every_end_of_a_line_in_a_text_survives(spark: SparkSession, scene: ShredScene, format_: str) -> None:
    text = "a\rb\r\nc\nd\u2028e\x85f"
    scene.write("a.txt", [click(1, NEWER, page=text), f"x\r{text.replace(chr(10), '')}"])
    scene.shred(spark, format=format_)
    (manifest,) = scene.manifests()
    assert [row["page"] for row in scene.rows(manifest, "com_acme_ad_click_1")] == [text]
    assert [row["original"] for row in scene.bad_rows(manifest)] == ["x\ra\rb\rcd\u2028e\x85f"]


def test_files_of_parquet_say_so_by_their_names(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a.txt", [click(1)])
    scene.shred(spark, format="parquet")
    (manifest,) = scene.manifests()
    (table,) = manifest.tables
    assert {Path(file.name).suffix for file in table.files} == {".parquet"}
    assert {path.suffix for path in (scene.output / manifest.folder).glob("vendor=*/*/*/*/part-*")} == {".parquet"}


def test_names_of_files_are_never_patterns(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("day=1/a [1] {x}%20.txt", [click(1)])
    scene.write("day=2/hour=3/b,c.txt", [click(2)])
    scene.shred(spark)
    (manifest,) = scene.manifests()
    assert sorted(row["id"] for row in scene.rows(manifest, "com_acme_ad_click_1")) == ["1", "2"]
