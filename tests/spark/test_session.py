"""The session of a job: with spark-submit it is that of the cluster, which no default of ours replaces."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from onefold.doctor.java import java_hint
from onefold.spark.session import submitted_conf

ROOT = Path(__file__).resolve().parents[2]
JOB = """
from onefold.spark.session import open_session

spark = open_session("job")
conf = spark.sparkContext.getConf()
print(spark.sparkContext.master, conf.get("spark.jars").rpartition("/")[2], conf.get("spark.jars.packages"))
"""


@pytest.mark.long
@pytest.mark.skipif(java_hint() is not None, reason=str(java_hint()))
def test_the_master_and_the_jars_of_spark_submit_are_kept(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    (tmp_path / "driver.jar").write_bytes(b"PK\x05\x06" + bytes(18))  # an archive without entries
    submit = [str(Path(sys.prefix) / "bin" / "spark-submit"), "--master", "local[1]", "--conf", "spark.ui.enabled=false"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [*submit, "--driver-memory", "1g", "--jars", "driver.jar", "job.py"],
        cwd=tmp_path, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["local[1]", "driver.jar", "None"]


def test_arguments_of_the_environment_are_settings() -> None:
    words = "--master local[2] --conf spark.jars=gs://code/driver.jar --conf 'spark.x=a = b' pyspark-shell"
    conf = submitted_conf({"PYSPARK_SUBMIT_ARGS": words})
    assert (conf.get("spark.master"), conf.get("spark.x")) == ("local[2]", "a = b")
