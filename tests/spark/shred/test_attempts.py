"""Several attempts of one task are harmless: what an attempt has left that ended before its end is in no manifest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.python_process import ROOT, python_environ
from support.shred_job import click, scene_with_clicks

pytestmark = [pytest.mark.spark, pytest.mark.long]
SECONDS = 300
UNSTEADY = """
import os, sys
from onefold.spark.session import open_session
open_session("unsteady")
from pyspark import TaskContext
from onefold.spark.shred import write
from onefold.spark.shred.worker import Worker

class Unsteady(Worker):
    def run(self, task):
        tally = super().run(task)
        if TaskContext.get().attemptNumber() == 0:
            os._exit(1)  # the files are written, and nobody hears of them
        return tally

write.Worker = Unsteady
from spark_jobs.shred import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_files_of_an_attempt_whose_worker_has_ended_do_not_count(tmp_path: Path, format_: str) -> None:
    scene = scene_with_clicks(tmp_path)
    scene.write("a.txt", [click(1), click(2), "bad"])
    submit = "--master local[2,3] --driver-memory 1g --conf spark.ui.enabled=false pyspark-shell"
    done = subprocess.run(
        [sys.executable, "-c", UNSTEADY, *scene.words(format=format_)],
        env=python_environ({"PYSPARK_SUBMIT_ARGS": submit}), cwd=ROOT, capture_output=True, text=True, timeout=SECONDS,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (manifest,) = scene.manifests()
    (table,) = manifest.tables
    assert sorted(int(row["id"]) for row in scene.rows(manifest, table.name)) == [1, 2]
    assert [one["original"] for one in scene.bad_rows(manifest)] == ["bad"]
    (listed,) = scene.files(manifest, table)
    left = [path for path in listed.parent.iterdir() if path != listed]
    assert len(left) == 1
    assert left[0].suffix == listed.suffix
