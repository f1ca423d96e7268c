"""Delta Lake's jars for Spark, downloaded from Maven Central once by Spark's resolver.

`python -m benchmarks.delta_jars FOLDER` brings them in a process of its own: a session that finds no package cannot start.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

VERSION = "4.0.1"
"""The newest release for Spark 4.0: Delta Lake's releases page names the Spark of each (https://delta.io/, 2025-11)."""
PACKAGE = f"io.delta:delta-spark_2.13:{VERSION}"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onefold"
_SECONDS = 300


def delta_jars() -> list[Path]:
    """Return the jars; an empty list if they cannot be downloaded."""
    folder = CACHE / f"delta-{VERSION}"
    if not (folder / "complete").exists():
        command = [sys.executable, "-m", "benchmarks.delta_jars", str(folder)]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS, cwd=Path(__file__).parents[1])
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return []
        (folder / "complete").touch()
    return sorted((folder / "jars").glob("*.jar"))


def main(folder: str) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.jars.ivy", folder).getOrCreate()
    jvm: Any = spark._jvm
    uri = jvm.java.net.URI(f"ivy://{PACKAGE}?transitive=true")
    if jvm.org.apache.spark.util.DependencyUtils.resolveMavenDependencies(uri).isEmpty():
        raise SystemExit(f"expected the jars of {PACKAGE}, got none: see whether Maven Central can be reached")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
