"""Prints where jars of Maven Central are after Spark's own resolver has brought them; fails where one cannot be had.

Run: `python tests/support/maven_jar.py FOLDER GROUP:NAME:VERSION...`. Each jar alone, without what it depends on; with `+`
before the name of a package, its dependencies too.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import SparkSession

_WITH_DEPENDENCIES = "+"


def main(folder: str, *packages: str) -> None:
    """Download jars, and print their paths.

    Args:
        folder: the resolver's own folder.
        packages: `GROUP:NAME:VERSION` of each, with `+` before it for its dependencies too.
    """
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.jars.ivy", folder).getOrCreate()
    jvm: Any = spark._jvm
    for package in packages:
        transitive = str(package.startswith(_WITH_DEPENDENCIES)).lower()
        uri = jvm.java.net.URI(f"ivy://{package.removeprefix(_WITH_DEPENDENCIES)}?transitive={transitive}")
        found = jvm.org.apache.spark.util.DependencyUtils.resolveMavenDependencies(uri)
        for number in range(found.size()):
            sys.stdout.write(f"{found.apply(number)}\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
