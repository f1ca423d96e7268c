"""The job is killed at random points: what it has left is never loaded, and the next run reads the events again.

A process is the real job in a loop, so that Spark starts once; it is killed with its workers, and started again.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.python_process import ROOT, python_environ
from support.registries import document
from support.shred_job import ShredScene, click, scene_with_clicks
from support.shred_scene import contexts, enriched

pytestmark = pytest.mark.spark
SECONDS = 600
ROUNDS, EVENTS = 10, 300
RETRIES = 3
USER = "iglu:com.acme/user/jsonschema/1-0-0"
LOOP = """
import sys
from spark_jobs.shred import main
print("ready", flush=True)
while True:
    line = sys.stdin.readline()
    if not line:
        break
    print("done", main(sys.argv[1:]), flush=True)
"""


class Job:
    """The process of the job, which runs once for each line that it reads."""

    def __init__(self, words: Sequence[str]) -> None:
        submit = "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false pyspark-shell"
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOOP, *words],
            env=python_environ({"PYSPARK_SUBMIT_ARGS": submit}), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        self._wait_for("ready")

    def start(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def run(self) -> None:
        self.start()
        assert self._wait_for("done").split() == ["done", "0"]

    def kill(self) -> None:
        """Kill Python, Java and the workers at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _wait_for(self, word: str) -> str:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith(word):
                return line
        raise AssertionError(f"the job ended before {word}: {self.process.wait()}")


def check_each_event_once(scene: ShredScene, files: int) -> None:
    """Each event is a row or a bad row of exactly one finished run, and the counts add up."""
    manifests = scene.manifests()
    inputs = Counter(place for manifest in manifests for place in manifest.inputs)
    assert set(inputs.values()) == {1}
    assert len(inputs) == files
    rows = [scene.rows(manifest, table.name) for manifest in manifests for table in manifest.tables]
    good = Counter(int(row["id"]) for some in rows for row in some)
    bad = sum(len(scene.bad_rows(manifest)) for manifest in manifests)
    assert good == Counter(number for number in range(files * EVENTS) if number % 10)
    for manifest in manifests:
        assert manifest.events == sum(table.rows for table in manifest.tables) + sum(manifest.bad.values())
    assert bad == sum(sum(manifest.bad.values()) for manifest in manifests) == files * EVENTS // 10


def write_file(scene: ShredScene, number: int) -> None:
    """Write a file of which each tenth event is bad."""
    numbers = range(number * EVENTS, (number + 1) * EVENTS)
    scene.write(f"{number}.txt", [click(one) if one % 10 else f"bad {one}" for one in numbers])


@pytest.mark.long
@pytest.mark.parametrize("format_", ["csv"])
def test_each_event_is_in_one_finished_run_after_ten_kills(tmp_path: Path, format_: str) -> None:
    scene = scene_with_clicks(tmp_path)
    write_file(scene, 0)
    chance = random.Random(int(os.environ.get("TEST_SEED", "0")))
    words = scene.words(format=format_)
    job = Job(words)
    started = time.monotonic()
    job.run()
    first = time.monotonic() - started
    for number in range(1, ROUNDS + 1):
        write_file(scene, number)
        job.start()
        time.sleep(chance.uniform(0, first))
        job.kill()
        job = Job(words)
    job.run()
    job.kill()
    check_each_event_once(scene, ROUNDS + 1)


def write_unknown(scene: ShredScene, number: int) -> None:
    """Write a file of events with one entity each, whose schema the registry does not have yet."""
    numbers = range(number * EVENTS, (number + 1) * EVENTS)
    entities = (contexts({"schema": USER, "data": {"id": one}}) for one in numbers)
    scene.write(f"{number}.txt", [enriched("enriched-tsv", contexts=one) for one in entities])


@pytest.mark.long
def test_entities_that_were_set_apart_are_loaded_once_and_their_events_never_again_after_kills(tmp_path: Path) -> None:
    """Each round has new events; the job reads them and all bad rows, at first without the schema, then with it."""
    scene = scene_with_clicks(tmp_path)
    chance = random.Random(int(os.environ.get("TEST_SEED", "0")))
    write_unknown(scene, 0)
    places = [scene.events, f"{scene.output}/run=*/bad"]
    words = scene.words(events=places, input="enriched-tsv", unknown="bad_entity")
    job = Job(words)
    started = time.monotonic()
    job.run()
    first = time.monotonic() - started
    for number in range(1, RETRIES + 1):
        write_unknown(scene, number)
        if number == RETRIES // 2:
            scene.add_schemas(document("1-0-0", "user"))
        job.start()
        time.sleep(chance.uniform(0, first))
        job.kill()
        job = Job(words)
    job.run()
    job.run()
    job.run()
    job.kill()
    manifests = scene.manifests()
    inputs = Counter(place for manifest in manifests for place in manifest.inputs)
    assert set(inputs.values()) == {1}
    tables = [(manifest, table.name) for manifest in manifests for table in manifest.tables]
    entities = [row["id"] for manifest, name in tables if name == "com_acme_user_1" for row in scene.rows(manifest, name)]
    assert sorted(map(int, entities)) == list(range((RETRIES + 1) * EVENTS))
    events = sum(len(scene.rows(manifest, name)) for manifest, name in tables if name == "events")
    assert events == (RETRIES + 1) * EVENTS
