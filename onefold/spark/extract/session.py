"""The session of a pull: with the JDBC driver, which no runtime of Spark has."""

from __future__ import annotations

import os

from pyspark.conf import SparkConf
from pyspark.sql import SparkSession

from onefold.extract.connection import DRIVER_PACKAGE
from onefold.spark.session import open_session, submitted_conf


def open_session_with_driver(name: str) -> SparkSession:
    """Return a session that has the driver: a batch brings its jar; a laptop gets it from Maven Central once."""
    return open_session(name, driver_settings(submitted_conf(os.environ)))


def driver_settings(conf: SparkConf) -> dict[str, str]:
    """Return the settings that bring the driver; none on a cluster, or where a jar or a package is named already.

    Args:
        conf: the settings of the process.
    """
    named = any(conf.contains(name) for name in ("spark.jars", "spark.jars.packages"))
    if named or not str(conf.get("spark.master", "local")).startswith("local"):
        return {}
    # Its other packages are for logins of Windows and of clouds.
    return {"spark.jars.packages": DRIVER_PACKAGE, "spark.jars.excludes": "com.github.waffle:waffle-jna,org.slf4j:*"}
