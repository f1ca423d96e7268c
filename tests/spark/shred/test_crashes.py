"""The job ends between any two of its steps, or runs are deleted: nothing is lost, and nothing is in two finished runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.shred_job import ShredScene, click, scene_with_clicks

from onefold.spark.io.filesystem import Folder
from onefold.spark.shred import output as module

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class Crash(BaseException):
    """The process ends: nothing catches it."""


class Steps:
    """Ends the job before one of the steps that change the output: creations, writes, renames and removals."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        for place, name in ((module, "create_file"), (Folder, "write"), (Folder, "rename"), (Folder, "remove")):
            monkeypatch.setattr(place, name, self._counted(getattr(place, name)))

    def _counted(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            if self.left is not None:
                if self.left == 0:
                    raise Crash
                self.left -= 1
            return step(*arguments)

        return counted


def ids(scene: ShredScene) -> list[int]:
    tables = [(manifest, table) for manifest in scene.manifests() for table in manifest.tables]
    return sorted(int(row["id"]) for manifest, table in tables for row in scene.rows(manifest, table.name))


@pytest.mark.long
def test_whatever_the_last_step_was_the_next_run_finishes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, steps = scene_with_clicks(tmp_path), Steps(monkeypatch)
    crashes = 0
    while True:
        number = crashes
        scene.write(f"{number}.txt", [click(number), "bad"])
        steps.left = crashes
        try:
            scene.shred(spark)
        except Crash:
            crashes += 1
            steps.left = None
            if crashes % 2:  # a crash may follow another one, or a run that finished
                continue
            scene.shred(spark)
            assert ids(scene) == list(range(crashes))
        else:
            break
    assert crashes >= 5
    assert ids(scene) == list(range(crashes + 1))
    assert [sum(manifest.bad.values()) for manifest in scene.manifests()].count(0) == 0
    assert sum(manifest.events for manifest in scene.manifests()) == 2 * (crashes + 1)
    assert sum(len(scene.bad_rows(manifest)) for manifest in scene.manifests()) == crashes + 1


def test_what_was_read_is_known_when_the_runs_are_deleted(spark: SparkSession, tmp_path: Path) -> None:
    scene = scene_with_clicks(tmp_path)
    scene.write("a.txt", [click(1)])
    scene.shred(spark)
    for run in scene.output.glob("run=*"):
        shutil.rmtree(run)
    scene.write("b.txt", [click(2)])
    report = scene.shred(spark)
    assert (report.inputs, report.taken) == (1, 1)
    (manifest,) = scene.manifests()
    assert [row["id"] for row in scene.rows(manifest, "com_acme_ad_click_1")] == ["2"]


@pytest.mark.long
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(1, 4), st.none() | st.integers(0, 7)), min_size=1, max_size=4))
def test_each_event_is_in_one_finished_run_for_any_crashes(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[int, int | None]]
) -> None:
    scene = scene_with_clicks(tmp_path_factory.mktemp("scene"))
    events = 0
    with pytest.MonkeyPatch.context() as patch:
        steps = Steps(patch)
        for files, crash in turns:
            for _ in range(files):
                scene.write(f"{events}.txt", [click(events)])
                events += 1
            steps.left = crash
            try:
                scene.shred(spark)
            except Crash:
                steps.left = None
                assert len(ids(scene)) == len(set(ids(scene)))
        steps.left = None
        scene.shred(spark)
    assert ids(scene) == list(range(events))
