"""A Spark job as a process of its own on this machine: what the stand-in for Dataproc does with a batch."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from google.cloud import dataproc_v1

from onefold.core.errors import Rejected
from onefold.local.sources import source_folder
from onefold.ports.batches import DRIVER_ENVIRONMENT

LIBRARY = Path(__file__).resolve().parents[2]
JOBS = source_folder("spark_jobs")
MASTER = "local[2]"

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that lives for seconds: a fifth of them would go into optimising code that is not run again."""
_LOOK = 0.1
_MOST_LINES = 10
# What Java, Spark and Python put around the words of the job: records of logs, frames of traces, hints, progress.
_NOISE = re.compile(
    r"\s|\d\d[:/]\d\d[:/]\d\d |\[Stage |Caused by: |Traceback |WARNING: |Picked up |"
    r"Using Spark's |Setting default log level|To adjust logging level"
)
_END_SECONDS = 10.0
# What a laptop wants, and properties of a batch may overrule.
_DEFAULTS = {"spark.ui.enabled": "false", "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "4"}


def run_job(
    batch: dataproc_v1.Batch, cancelled: threading.Event, environ: Mapping[str, str], jobs: Path = JOBS
) -> str | None:
    """Run the job that the batch's main file names; None where it succeeds, else its last words, and where its log is."""
    script = job_file(batch.pyspark_batch.main_python_file_uri, jobs)
    command = [sys.executable, str(script), *batch.pyspark_batch.args]
    with (
        tempfile.NamedTemporaryFile(prefix=f"onefold_{script.stem}_", suffix=".log", delete=False) as log,
        tempfile.TemporaryDirectory() as folder,
    ):
        process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=_environ(batch, environ)
        )
        code = _wait(process, cancelled)
    printed = Path(log.name)
    if code != 0:
        words = last_words(printed.read_text(errors="replace"))
        return f"{script.name} ended with exit code {code}:\n{words}\nIts whole log: {printed}"
    printed.unlink()
    return None


def job_file(uri: str, jobs: Path) -> Path:
    """The job in our folder that has the name of the main file.

    Raises:
        Rejected: there is none.
    """
    script = jobs / uri.rpartition("/")[2]
    if not script.is_file():
        raise Rejected(f"there is no job {script}: run it from a checkout of the project, or install the library anew")
    return script


def _environ(batch: dataproc_v1.Batch, environ: Mapping[str, str]) -> dict[str, str]:
    """Ours without settings, the library as --py-files would ship it, and the batch's Spark properties."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ONEFOLD_")}
    asked = batch.runtime_config.properties
    for_driver = {
        name.removeprefix(DRIVER_ENVIRONMENT): value for name, value in asked.items() if name.startswith(DRIVER_ENVIRONMENT)
    }
    properties = {**_DEFAULTS, **{name: value for name, value in asked.items() if not name.startswith(DRIVER_ENVIRONMENT)}}
    submit = ["--master", MASTER, *(word for pair in properties.items() for word in ("--conf", "=".join(pair)))]
    paths = [str(LIBRARY), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "JAVA_TOOL_OPTIONS": SHORT_LIVED,
        **kept,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": shlex.join([*submit, "pyspark-shell"]),
        **for_driver,
        **environ,
    }


def _wait(process: subprocess.Popen[bytes], cancelled: threading.Event) -> int:
    """The exit code; a process that is cancelled gets the time to end in order."""
    while process.poll() is None and not cancelled.wait(_LOOK):
        pass
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def last_words(log: str) -> str:
    """The last lines that the job itself printed, among all that is printed around it; any lines where there are none."""
    lines = [line for line in re.split(r"[\r\n]+", log) if line.strip()]
    own = [line for line in lines if not _NOISE.match(line)]
    return "\n".join((own or lines)[-_MOST_LINES:])


JAVA_VERSION = 17
# Debian 12 has Java 17 under this name, Debian 13 has 21; neither has both.
COMMAND = "sudo apt-get update && sudo apt-get install --yes default-jre-headless"


def java_version() -> int | None:
    """The major version of the Java that Spark would start: that of JAVA_HOME, else the one on the PATH; None without."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin") if home else None)
    if not java:
        return None
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    match = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(match[1]) if match else None


def java_hint() -> str | None:
    """What to run to get a Java for Spark; None where there is one."""
    found = java_version()
    if found is not None and found >= JAVA_VERSION:
        return None
    have = f"Java {found} was found" if found else "no Java was found"
    return f"Spark's batches need Java {JAVA_VERSION} or later, and {have}. Run: {COMMAND}"
