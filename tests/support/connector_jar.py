"""Prints where a jar of Maven Central is after Spark's own resolver has brought it; fails where it cannot be had.

The jar alone: the connector has all that it needs in it.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import SparkSession


def main(package: str, folder: str) -> None:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.jars.ivy", folder).getOrCreate()
    jvm: Any = spark._jvm
    uri = jvm.java.net.URI(f"ivy://{package}?transitive=false")
    print(jvm.org.apache.spark.util.DependencyUtils.resolveMavenDependencies(uri).apply(0))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
