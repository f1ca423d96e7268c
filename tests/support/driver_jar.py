"""The jar that the deploying build packages, which Spark's resolver brings once into the cache of this machine."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest
from support.python_process import ROOT, run_python

from infra.libraries import DRIVER_VERSION

DRIVER_PACKAGE = f"org.mariadb.jdbc:mariadb-java-client:{DRIVER_VERSION}"
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
