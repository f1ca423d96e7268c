"""Spark's classes as Java keeps them once they are read: each Spark that finds them takes half the work to start.

There are some thirty of them in a run of all tests. The archive is made by the first, next to pytest's own cache, and is
good for this checkout alone: Java leaves out one that was made for other paths.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

from onefold.changelog.generator import WorkloadOptions, make_workload
from onefold.changelog.generator_files import write_workload
from onefold.spark.java_options import SHORT_LIVED

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT / ".pytest_cache" / "spark.jsa"
_QUIET = "-Xlog:disable -Xlog:all=error:stderr"


def quick_java() -> None:
    """Of every Java that is started from here on."""
    os.environ.setdefault("JAVA_TOOL_OPTIONS", f"{SHORT_LIVED} -XX:SharedArchiveFile={ARCHIVE} {_QUIET}")


def make_archive(folder: Path) -> None:
    """Create a missing archive by a small job in its own folder; of several workers one does it, and the others wait."""
    ARCHIVE.parent.mkdir(exist_ok=True)
    with ARCHIVE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ARCHIVE.exists():
            made = ARCHIVE.with_suffix(".new")  # in the same folder: a file of another disk could not be renamed
            _run_job(folder, made)
            made.rename(ARCHIVE)


def _run_job(folder: Path, made: Path) -> None:
    write_workload(make_workload(WorkloadOptions(operations=50, every_type=False)), folder)
    job = [str(ROOT / "spark_jobs" / "reconcile.py"), "--changes", str(folder / "changes"), "--keys", "id"]
    command = [
        str(Path(sys.prefix) / "bin" / "spark-submit"), "--master", "local[2]", "--conf", "spark.ui.enabled=false",
        "--driver-java-options", f"-XX:ArchiveClassesAtExit={made}", *job, "--output", str(folder / "out"),
    ]  # fmt: skip
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "JAVA_TOOL_OPTIONS": SHORT_LIVED}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
