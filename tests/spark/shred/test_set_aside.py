"""Files of events that cannot be read are named and set aside, and all others go on."""

from __future__ import annotations

import bz2
import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.shred_job import ShredScene, click, scene_with_clicks
from support.sweeps import sweep

from spark_jobs.shred import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def scene(tmp_path: Path) -> ShredScene:
    return scene_with_clicks(tmp_path)


CUT = "cut off"
PROBLEMS = {"not gzip": "it is damaged", CUT: "its end is missing"}
BROKEN = {"not gzip": b"not gzip", CUT: gzip.compress(random.Random(1).randbytes(9_999), mtime=0)[:-9]}


@pytest.mark.parametrize("content", sweep(tuple(BROKEN)))
def test_files_that_cannot_be_read_are_set_aside_and_the_others_go_on(
    spark: SparkSession, scene: ShredScene, content: str
) -> None:
    scene.write("a.txt", [click(1)])
    broken, other = scene.events / "broken one%20.gz", scene.events / "other.gz"
    broken.write_bytes(BROKEN[content])
    other.write_bytes(BROKEN[content])
    dry = scene.shred(spark, "--dry-run")
    assert (dry.inputs, sorted(dry.set_aside)) == (1, [f"file:{broken}", f"file:{other}"])
    report = scene.shred(spark)
    assert (report.inputs, report.events, report.found_unreadable) == (1, 1, tuple(dry.set_aside))
    assert f"set aside: file:{broken}: it is no gzip, or {PROBLEMS[content]}: replace the file" in report.summary()
    (manifest,) = scene.manifests()
    assert manifest.inputs == (f"file:{scene.events}/a.txt",)
    assert [path.name for path in scene.output.glob("run=*")] == [manifest.folder]
    scene.write("b.txt", [click(2)])
    later = scene.shred(spark)
    assert (later.inputs, later.taken, later.found_unreadable, later.set_aside) == (1, 1, (), report.set_aside)
    broken.write_bytes(gzip.compress(f"{click(3)}\n".encode()))
    repaired = scene.shred(spark)
    assert (repaired.events, list(repaired.set_aside)) == (1, [f"file:{other}"])


def test_bzip2_that_lacks_its_end_or_is_none_is_set_aside(spark: SparkSession, scene: ShredScene) -> None:
    text = "".join(f"{click(number)}\n" for number in range(2_000)).encode()
    whole = bz2.compress(text, 1)
    broken = {"half.bz2": whole[: len(whole) // 2], "no_end.bz2": whole[:-9], "text.bz2": text, "short.bz2": b"BZh9"}
    for name, content in {"whole.bz2": whole, "empty.bz2": b"", **broken}.items():
        (scene.events / name).parent.mkdir(exist_ok=True)
        (scene.events / name).write_bytes(content)
    report = scene.shred(spark)
    assert (report.inputs, report.events, report.bad) == (2, 2_000, {})
    assert [address.rpartition("/")[2] for address in report.set_aside] == sorted(broken)
    problems = [reason.split(", or ")[1] for reason in report.set_aside.values()]
    assert Counter(problems) == {"its end is missing: replace the file": 3, "it is damaged: replace the file": 1}
    (manifest,) = scene.manifests()
    assert [address.rpartition("/")[2] for address in sorted(manifest.inputs)] == ["empty.bz2", "whole.bz2"]


def test_names_that_tell_that_a_file_cannot_be_read_set_it_aside(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a.txt", [click(1)])
    for name in ("x.snappy", "x.lz4", "x.zst", "day=1/b:c.txt"):
        scene.write(name, [click(2)])
    for events in (scene.events, f"{scene.events}/*", f"file:{scene.events}/day=1/b:c.txt"):
        scene.shred(spark, events=[events])
    (manifest,) = scene.manifests()
    assert manifest.inputs == (f"file:{scene.events}/a.txt",)
    reasons = scene.shred(spark).set_aside
    assert [address.rpartition("/")[2] for address in sorted(reasons)] == ["b:c.txt", "x.lz4", "x.snappy", "x.zst"]
    assert reasons[f"file:{scene.events}/x.snappy"].startswith("its name ends in .snappy")
    assert "its name has a colon" in reasons[f"file:{scene.events}/day=1/b:c.txt"]


def test_a_folder_of_a_colon_is_matched_by_a_pattern(spark: SparkSession, scene: ShredScene) -> None:
    scene.write("a:1/a.txt", [click(1)])
    scene.write("b/_b:2.txt", [click(2)])
    report = scene.shred(spark, events=[f"file:{scene.events}/?:*", f"{scene.events}/b/*2.txt"])
    assert list(report.set_aside) == [f"file:{scene.events}/a:1/a.txt"]


@pytest.mark.usefixtures("spark")
def test_the_job_fails_once_where_it_finds_a_file_that_cannot_be_read(
    scene: ShredScene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.events.mkdir()
    (scene.events / "a.gz").write_bytes(b"not gzip")
    assert main(scene.words()) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["run"], report["inputs"], report["found_unreadable"]) == (None, 0, [f"file:{scene.events}/a.gz"])
    assert main(scene.words()) == 0
    assert scene.manifests() == []
