"""Runs that were killed: their files are read again, an alarm tells of them, and in the end they are removed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.shred_job import ShredScene, click, events_in, scene_with_clicks

from onefold.events.shred.counts import EVENTS
from onefold.events.shred.runs import ABANDONED_AFTER, STARTED, run_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def scene(tmp_path: Path) -> ShredScene:
    return scene_with_clicks(tmp_path)


def test_unfinished_runs_are_read_again_and_removed_when_nobody_can_be_at_work(
    spark: SparkSession, scene: ShredScene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.write("a.txt", [click(1)])
    now = datetime.now(UTC)
    ages = {"old": ABANDONED_AFTER + timedelta(days=1), "young": timedelta(days=1)}
    runs = {name: run_name(now - age) for name, age in ages.items()}
    for run in runs.values():
        folder = scene.output / f"run={run}" / EVENTS
        folder.mkdir(parents=True)
        (folder.parent / STARTED).touch()
        (folder / "part-0").write_text("half")
    report = scene.shred(spark)
    assert (report.removed, report.inputs) == ((runs["old"],), 1)
    assert {path.name for path in scene.output.glob("run=*")} == {f"run={runs['young']}", f"run={report.run}"}
    assert events_in(capsys.readouterr().err) == ["run_without_manifest", "run_shredded"]
    assert scene.shred(spark).run is None
    assert events_in(capsys.readouterr().err) == [], "a later run has read the files"


def test_a_folder_that_no_run_has_started_is_not_removed(
    spark: SparkSession, scene: ShredScene, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = scene.output / f"run={run_name(datetime.now(UTC) - ABANDONED_AFTER * 2)}"
    folder.mkdir(parents=True)
    (folder / "rows_of_another_program").write_text("precious")
    scene.write("a.txt", [click(1)])
    assert scene.shred(spark).removed == ()
    assert events_in(capsys.readouterr().err) == ["run_shredded"]
    assert [path.name for path in folder.iterdir()] == ["rows_of_another_program"]
