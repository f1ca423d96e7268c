"""The jar of the JDBC driver, which Spark's resolver brings once into the cache of this machine."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from onefold.pull.read.connection import DRIVER_PACKAGE

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 300
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "onefold", "jdbc")
_JAR = _CACHE / "jars" / f"{DRIVER_PACKAGE.replace(':', '_', 1).replace(':', '-')}.jar"


def fetch_driver() -> Path | None:
    """Return the jar, or `None` if it cannot be downloaded. The resolver has no lock: one process at a time downloads."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _JAR.exists():
            run_python([str(ROOT / "infra" / "maven_jar.py"), str(_CACHE), DRIVER_PACKAGE], {})
    return _JAR if _JAR.exists() else None


def driver_jar() -> Path:
    """The jar; skips the test if it cannot be downloaded."""
    jar = fetch_driver()
    if jar is None:
        pytest.skip(f"{DRIVER_PACKAGE} cannot be downloaded")
    return jar


def run_python(words: Sequence[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], env=python_environ(environ), capture_output=True, text=True, timeout=_SECONDS, check=False
    )


def python_environ(environ: dict[str, str]) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    return {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, **environ}
