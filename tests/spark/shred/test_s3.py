"""The job from and to `s3a://`, with the real file system of Hadoop against moto's server."""

from __future__ import annotations

import bz2
import json
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
from support.maven_jars import s3a_arguments
from support.python_process import ROOT, python_environ
from support.shred_job import click, scene_with_clicks

from onefold.events.shred.manifest import parse_manifest

pytestmark = [pytest.mark.spark, pytest.mark.long]
SECONDS = 300
TWICE = "import sys; from spark_jobs.shred import main; sys.exit(main(sys.argv[1:]) or main(sys.argv[1:]))"


def test_events_are_shredded_from_s3_to_s3_once(s3_server: str, tmp_path: Path) -> None:
    arguments = s3a_arguments(s3_server)
    scene = scene_with_clicks(tmp_path)
    client = boto3.client("s3")
    client.create_bucket(Bucket="lake")
    client.put_object(Bucket="lake", Key="in/a b.txt", Body="\n".join([click(1), click(2)]).encode())
    client.put_object(Bucket="lake", Key="in/c d.bz2", Body=bz2.compress(b"nonsense"))
    words = scene.words(events=["s3://lake/in"], output="s3a://lake/out", registry=scene.registry)
    submit = f"--master local[2] --driver-memory 1g --conf spark.ui.enabled=false {arguments} pyspark-shell"
    done = subprocess.run(
        [sys.executable, "-c", TWICE, *words],
        env=python_environ({"PYSPARK_SUBMIT_ARGS": submit}), cwd=ROOT, capture_output=True, text=True, timeout=SECONDS,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["events"], first["bad"], second["inputs"], second["taken"]) == (3, {"unreadable": 1}, 0, 2)

    def read(key: str) -> str:
        return str(client.get_object(Bucket="lake", Key=key)["Body"].read().decode())

    keys = [one["Key"] for one in client.list_objects_v2(Bucket="lake", Prefix="out/")["Contents"]]
    (place,) = (key for key in keys if key.endswith("/shredding_complete.json"))
    manifest = parse_manifest(read(place), place)
    assert manifest.inputs == ("s3://lake/in/a b.txt", "s3://lake/in/c d.bz2")
    assert read("out/_commits/0000000001.json") == read(place)
    (table,) = manifest.tables
    rows = read(f"out/{manifest.folder}/{table.folder}/{table.files[0].name}")
    place_of_id = [name for name, _ in table.columns].index("id")
    assert [line.split("\t")[place_of_id] for line in rows.splitlines()] == ["1", "2"]
    (bad,) = (key for key in keys if "/bad/part-" in key)
    assert json.loads(read(bad))["original"] == "nonsense"
