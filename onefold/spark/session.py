"""The Spark session of a job: settings without which the same rows would not give the same bytes everywhere."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from pyspark.conf import SparkConf
from pyspark.sql import SparkSession

QUIET = Path(__file__).with_name("log4j2.properties")

_QUERY_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Of PySpark: each writes an error with all of Java's stack in one line, besides raising it."""

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # A cast that fails is an error, never a NULL that nobody sees.
    "spark.sql.ansi.enabled": "true",
    # A name within the body of a lambda means the column that is read, never an output of the same projection.
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "false",
    # What is held in memory comes in as few parts as its size asks for, and so do the files that are written from it.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Days before 1582 as they are, in the calendar that BigQuery uses.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}


def open_session(name: str) -> SparkSession:
    """The session of the cluster that runs the job; a local one where there is none."""
    conf = SparkConf().setAppName(name)
    conf.setIfMissing("spark.master", "local[*]")
    conf.setIfMissing("spark.ui.showConsoleProgress", "false")
    if conf.get("spark.master", "").startswith("local"):
        # The workers' Python is this one, and not whichever comes first on the path.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if str(conf.get("spark.master")).startswith("local") and QUIET.is_file():
        # On a cluster the log is the only witness; in a terminal it would hide what the job has to say.
        conf.setIfMissing("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={QUIET.as_uri()}")
        _keep_quiet()
    return prepared(SparkSession.builder.config(conf=conf).getOrCreate())


def _keep_quiet() -> None:
    from pyspark.logger import PySparkLogger  # Spark 3.5, by which the connector is tested, has none

    for name in _QUERY_LOGGERS:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def prepared(session: SparkSession) -> SparkSession:
    """The session with our settings: results must not depend on a cluster's defaults."""
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return session
