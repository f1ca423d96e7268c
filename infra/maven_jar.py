"""Prints where a jar of Maven Central is after Spark's own resolver has brought it; fails where it cannot be had.

Run: `python infra/maven_jar.py GROUP:NAME:VERSION FOLDER`. The jar alone, without what it depends on.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import SparkSession


def main(package: str, folder: str) -> None:
    """Download a jar, and print its path.

    Args:
        package: `GROUP:NAME:VERSION`.
        folder: the resolver's own folder.
    """
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.jars.ivy", folder).getOrCreate()
    jvm: Any = spark._jvm
    uri = jvm.java.net.URI(f"ivy://{package}?transitive=false")
    found = jvm.org.apache.spark.util.DependencyUtils.resolveMavenDependencies(uri).apply(0)
    sys.stdout.write(f"{found}\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
