"""The jar of the JDBC driver, which Spark's resolver brings once into the cache of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from onefold.extract.connection import DRIVER_PACKAGE

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 300
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "onefold", "jdbc")
KEPT = _CACHE / "jars" / f"{DRIVER_PACKAGE.replace(':', '_', 1).replace(':', '-')}.jar"


def driver_jar() -> Path:
    """The jar; skips the test if it cannot be downloaded."""
    if not KEPT.exists():
        run_python([str(ROOT / "infra" / "maven_jar.py"), DRIVER_PACKAGE, str(_CACHE)], {})
    if not KEPT.exists():
        pytest.skip(f"{DRIVER_PACKAGE} cannot be downloaded")
    return KEPT


def run_python(words: Sequence[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], env=python_environ(environ), capture_output=True, text=True, timeout=_SECONDS, check=False
    )


def python_environ(environ: dict[str, str]) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    return {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, **environ}
