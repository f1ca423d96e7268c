"""The real job as a process that can be killed, with its JVM."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_SETTINGS = "--master local[2] --driver-memory 1g --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2"
_SECONDS = 1_200
KILLS = int(os.environ.get("TEST_KILLS", "1"))
"""Rounds of kills in a test: each run of the job takes ten seconds or more."""


@dataclass
class Job:
    """`spark_jobs/reconcile.py` with the same arguments each time.

    folder: where it runs.
    words: its arguments.
    environ: what it needs besides the environment of the tests.
    seconds: how long the last run took that came to its end.
    """

    folder: Path
    words: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def start(self) -> subprocess.Popen[str]:
        environ = {**os.environ, **self.environ, "PYTHONPATH": str(ROOT)}
        environ["PYSPARK_SUBMIT_ARGS"] = f"{_SETTINGS} pyspark-shell"
        command = [sys.executable, str(ROOT / "spark_jobs" / "reconcile.py"), *self.words]
        return subprocess.Popen(
            command, cwd=self.folder, env=environ, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self) -> dict[str, Any]:
        """Let it come to its end, and return its report."""
        started = time.monotonic()
        with self.start() as process:
            printed, errors = process.communicate(timeout=_SECONDS)
        self.seconds = time.monotonic() - started
        assert process.returncode == 0, errors
        report = json.loads(printed)
        assert isinstance(report, dict)
        return report

    def kill(self, after: float, since: Callable[[], bool]) -> bool:
        """Kill it some seconds after something holds, unless it ends before. Return whether it was killed."""
        with self.start() as process:
            kill_group(process, after, since)
            return process.returncode == -signal.SIGKILL


def kill_group(process: subprocess.Popen[str], after: float, since: Callable[[], bool]) -> None:
    """Kill a process and its children some seconds after something holds, unless it ends before."""
    deadline = time.monotonic() + _SECONDS
    while process.poll() is None and not since() and time.monotonic() < deadline:
        time.sleep(0.002)
    try:
        process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
