"""The real job, killed at random points and run again: nothing is lost, nothing is doubled, the old base is whole."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from spark_oracle import base_of, lowest, read_base, snapshot

from onefold.workload import Options, make_workload
from onefold.workload_files import write_workload

ROOT = Path(__file__).resolve().parents[1]
KILLS = 10


@dataclass
class Job:
    """The job as a process of its own, in a session of its own: a kill takes its JVM with it."""

    folder: Path
    seconds: float = 0.0

    @property
    def output(self) -> Path:
        return self.folder / "out"

    def start(self) -> subprocess.Popen[str]:
        words = ["--changes", "work/changes", "--base", "work/base.jsonl", "--keys", "id", "--output", "out"]
        command = [sys.executable, str(ROOT / "spark_jobs" / "reconcile.py"), *words]
        settings = "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2"
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_SUBMIT_ARGS": f"{settings} pyspark-shell"}
        return subprocess.Popen(
            command, cwd=self.folder, env=environ, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def run(self) -> dict[str, object]:
        """To its end, and what it reports."""
        started = time.monotonic()
        with self.start() as process:
            printed = process.communicate()[0]
        self.seconds = time.monotonic() - started
        assert process.returncode == 0
        report = json.loads(printed)
        assert isinstance(report, dict)
        return report

    def run_and_kill(self, after: float, *, writing: bool) -> None:
        """Kill it some seconds after its start, or after it began to write, unless it ends before."""
        before = self._began()
        with self.start() as process:
            while writing and process.poll() is None and self._began() == before:
                time.sleep(0.01)
            try:
                process.wait(timeout=after)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

    def unfinished(self) -> bool:
        return self.output.exists() and not (self.output / "_SUCCESS").exists()

    def _began(self) -> int | None:
        """When it last began to write."""
        manifest = self.output / "_onefold.json"
        return manifest.stat().st_mtime_ns if manifest.exists() else None


@pytest.fixture
def job(tmp_path: Path) -> Job:
    workload = make_workload(Options(operations=300, key_changes=0.2, duplicates=0.2, shuffle=True))
    write_workload(workload, tmp_path / "work")
    return Job(tmp_path)


def test_a_killed_job_runs_again_and_gives_the_whole_base(spark: SparkSession, job: Job) -> None:
    untouched = snapshot(job.folder / "work")
    first = job.run()
    whole = read_base(spark, job.output)
    assert whole == expected(job)
    chance = random.Random(7)
    unfinished = 0
    for kill in range(KILLS):
        if not job.unfinished():
            shutil.rmtree(job.output, ignore_errors=True)
        writing = kill % 2 == 1
        job.run_and_kill(chance.random() * (0.6 if writing else job.seconds), writing=writing)
        unfinished += job.unfinished()
        assert job.unfinished() or not job.output.exists() or read_base(spark, job.output) == whole
        assert snapshot(job.folder / "work") == untouched
    assert unfinished
    if not job.unfinished():
        shutil.rmtree(job.output, ignore_errors=True)
    assert job.run() == first
    assert read_base(spark, job.output) == whole
    assert job.run() == {**first, "already": True}


def expected(job: Job) -> list[dict[str, object]]:
    changes = [json.loads(line) for path in (job.folder / "work" / "changes").iterdir() for line in path.open()]
    base = [json.loads(line) for line in (job.folder / "work" / "base.jsonl").open()]
    return base_of(changes, ["id"], lowest(base))
