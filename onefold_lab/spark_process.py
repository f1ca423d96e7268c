"""Spark jobs as processes of this machine: the emulator of Dataproc runs its batches so."""

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

import onefold
from onefold.core.errors import Rejected
from onefold.core.sources import source_folder
from onefold.ports.batches import DRIVER_ENVIRONMENT
from onefold.spark.java_options import SHORT_LIVED
from onefold_lab.processes import end_process

LIBRARY = Path(onefold.__file__).resolve().parents[1]
JOBS = source_folder("spark_jobs")
MASTER = "local[2]"

_POLL_SECONDS = 0.1
_MAX_LINES = 10
# Lines that Java, Spark and Python print around those of the job: log records, frames of traces, hints, progress, and those
# of the resolver of packages. What a job says in JSON it says for people, too.
_NOISE = re.compile(
    r"\s|\d\d[:/]\d\d[:/]\d\d |\[Stage |Caused by: |Traceback |WARNING: |Picked up |"
    r"Using Spark's |Setting default log level|To adjust logging level|"
    r":: |\S+#\S+ added as a dependency|Ivy |The jars for the packages|downloading |found \S+#\S+|\{\"(severity|dataset)\""
)
# Spark properties for a laptop. The properties of a batch override them.
_DEFAULTS = {"spark.ui.enabled": "false", "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "4"}


def run_job(
    batch: dataproc_v1.Batch, cancelled: threading.Event, environ: Mapping[str, str], jobs: Path = JOBS
) -> str | None:
    """Run the job that the main file of a batch names.

    Args:
        batch: its main file, arguments and Spark properties.
        cancelled: when the event is set, the process is ended.
        environ: variables of the job in addition to those of this process.
        jobs: the folder of the jobs.

    Returns:
        None if the job succeeds, else its last lines and the path of its log.

    Raises:
        Rejected: the folder has no such job.
    """
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
    log_file = Path(log.name)
    if output := batch.runtime_info.output_uri.removeprefix("file://"):
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log_file, f"{output}.000000000")
    if code != 0:
        lines = last_lines(log_file.read_text(errors="replace"))
        return f"{script.name} ended with exit code {code}:\n{lines}\nIts whole log: {log_file}"
    log_file.unlink()
    return None


def job_file(uri: str, jobs: Path) -> Path:
    """Return the file in the folder `jobs` that has the name of a batch's main file.

    Raises:
        Rejected: there is no such file.
    """
    script = jobs / uri.rpartition("/")[2]
    if not script.is_file():
        raise Rejected(f"there is no job {script}: run it from a checkout of the project, or install the library again")
    return script


def _environ(batch: dataproc_v1.Batch, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a job.

    It is that of this process without the settings of Onefold, with the library on PYTHONPATH as --py-files would give
    it, and with the Spark properties of the batch.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ONEFOLD_")}
    requested = batch.runtime_config.properties
    for_driver = {
        name.removeprefix(DRIVER_ENVIRONMENT): value
        for name, value in requested.items()
        if name.startswith(DRIVER_ENVIRONMENT)
    }
    properties = {
        **_DEFAULTS,
        **{name: value for name, value in requested.items() if not name.startswith(DRIVER_ENVIRONMENT)},
    }
    submit = ["--master", MASTER, *(word for pair in properties.items() for word in ("--conf", "=".join(pair)))]
    paths = [str(LIBRARY), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "JAVA_TOOL_OPTIONS": SHORT_LIVED,
        **inherited,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": shlex.join([*submit, "pyspark-shell"]),
        **for_driver,
        **environ,
    }


def _wait(process: subprocess.Popen[bytes], cancelled: threading.Event) -> int:
    """Return the exit code of a process. A cancelled process gets 10 seconds to end by itself."""
    while process.poll() is None and not cancelled.wait(_POLL_SECONDS):
        pass
    if process.poll() is None:
        end_process(process)
    return process.wait()


def last_lines(log: str) -> str:
    """Return the last lines that the job itself printed; if it printed none, the last lines of Java and Spark."""
    lines = [line for line in re.split(r"[\r\n]+", log) if line.strip()]
    own = [line for line in lines if not _NOISE.match(line)]
    return "\n".join((own or lines)[-_MAX_LINES:])
