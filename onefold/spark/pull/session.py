"""The session of a pull: with the JDBC driver, which no runtime of Spark has."""

from __future__ import annotations

import os
from typing import Any

from pyspark.conf import SparkConf
from pyspark.sql import SparkSession

from onefold.pull.read.connection import DRIVER_PACKAGE
from onefold.spark.session import open_session, submitted_conf

FETCH_ROWS = 1_000
"""Rows of the driver's memory, and of a batch of Arrow, which holds 2 GB of lines at most: rows of up to 2 MB on average."""
_CONNECTIONS = "org.apache.spark.sql.execution.datasources.jdbc.connection"
"""Of the JDBC source of Spark 4.0: `BasicConnectionProvider` logs properties."""


def open_session_with_driver(name: str) -> SparkSession:
    """Return a session that has the driver: a batch brings its jar; a laptop gets it from Maven Central once."""
    spark = open_session(name, driver_settings(submitted_conf(os.environ)))
    _hide_connections(spark)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", FETCH_ROWS)
    return spark


def _hide_connections(spark: SparkSession) -> None:
    """Keep the properties of connections, which Spark logs with the password at DEBUG, out of the driver's log."""
    jvm: Any = spark._jvm
    log4j = jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel(_CONNECTIONS, log4j.Level.INFO)


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
