"""Jars of Maven Central, which Spark's resolver brings once into the cache of this machine."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 300
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "onefold", "jars")
# The modules of the SDK that S3A calls: its bundle has 558 MB. In 2.24.6, the SDK of hadoop-aws 3.4.1, one is missing.
S3A = (
    "org.apache.hadoop:hadoop-aws:3.4.1",
    *(f"+software.amazon.awssdk:{name}:2.29.52" for name in ("s3", "s3-transfer-manager", "sts", "dynamodb")),
)
"""S3A for the Hadoop of Spark 4.0; `+`: with what the package depends on."""


def fetch_jars(packages: Sequence[str]) -> list[Path] | None:
    """Return the jars of packages, or `None` if one cannot be downloaded. One process at a time downloads."""
    folder = _CACHE / hashlib.sha256(" ".join(packages).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    complete = folder / "complete"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            words = [sys.executable, str(ROOT / "tests" / "support" / "maven_jar.py"), str(folder), *packages]
            if subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False).returncode:
                return None
            complete.touch()
    return sorted((folder / "jars").glob("*.jar"))


def s3a_jars() -> list[Path]:
    """The jars with which Spark reads and writes `s3a://`; skips the test if they cannot be downloaded."""
    jars = fetch_jars(S3A)
    if jars is None:
        pytest.skip(f"{S3A[0]} and modules of the AWS SDK cannot be downloaded from Maven Central")
    return jars


def s3a_arguments(endpoint: str) -> str:
    """The arguments for `PYSPARK_SUBMIT_ARGS` by which Spark reaches a server of S3 with any credentials.

    Args:
        endpoint: its URL.
    """
    settings = {
        "endpoint": endpoint,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "access.key": "a",
        "secret.key": "b",
        "connection.ssl.enabled": "false",
    }
    words = " ".join(f"--conf spark.hadoop.fs.s3a.{name}={value}" for name, value in settings.items())
    return f"--jars {','.join(map(str, s3a_jars()))} {words}"
