"""`--continuous`: one session runs again and again, reads the registry each time, and ends by SIGTERM after a run."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.capture import eventually
from support.registries import document
from support.shred_job import CLICK, click, scene_with_clicks

from onefold.events.shred.runs import COMMITS
from spark_jobs.shred import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_runs_follow_one_another_until_the_process_is_told_to_end(spark: SparkSession, tmp_path: Path) -> None:
    scene = scene_with_clicks(tmp_path)
    newer = CLICK.replace("1-0-0", "1-0-2")

    def commits() -> int:
        return len([*(scene.output / COMMITS).glob("*.json")])

    def use() -> None:
        try:
            eventually(lambda: commits() == 1)
            scene.add_schemas(document("1-0-2", page={"type": "string"}, size={"type": "integer"}))
            # A run may look at any time: it passes over the file until it is whole.
            scene.write(".b.txt", [click(2, newer)]).rename(scene.events / "b.txt")
            eventually(lambda: commits() == 2)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    scene.write("a.txt", [click(1)])
    user = threading.Thread(target=use)
    user.start()
    assert main(scene.words("--continuous=1")) == 0
    user.join()
    assert [(one.events, one.bad) for one in scene.manifests()] == [(1, {}), (1, {})]
    assert spark.sparkContext.applicationId, "the session is still there"
