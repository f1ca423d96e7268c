"""The Spark session of a job, with the settings by which the same rows give the same bytes everywhere."""

from __future__ import annotations

import itertools
import logging
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark import SparkContext
from pyspark.conf import SparkConf
from pyspark.sql import SparkSession

from onefold.spark.java_options import java_options
from onefold.spark.libraries import add_libraries

QUIET = Path(__file__).with_name("log4j2.properties")

_QUERY_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""PySpark's loggers that write each error with Java's whole stack in one line, although PySpark also raises the error."""

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # A cast that fails is an error, never a NULL that nobody sees.
    "spark.sql.ansi.enabled": "true",
    # A name within the body of a lambda means a column of the input, never an output of the same projection.
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "false",
    # Spark may combine small partitions of cached rows, so that few files are written from them.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Days before 1582 in the proleptic Gregorian calendar, which BigQuery uses too; no conversion to the Julian one.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}


def submitted_conf(environ: Mapping[str, str]) -> SparkConf:
    """Return the settings with which the process was submitted; none for a process that nobody submitted.

    A `SparkConf` is empty until Python is connected to Java. Whoever sets what is missing in it would replace the master and
    the jars of the cluster.

    Args:
        environ: the environment of the process: spark-submit names its Java there, others name arguments for spark-submit.
    """
    if "PYSPARK_GATEWAY_PORT" in environ:
        SparkContext._ensure_initialized()
        return SparkConf()
    conf = SparkConf(loadDefaults=False)
    words = shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", ""))
    for option, value in itertools.pairwise(words):
        if option == "--conf":
            conf.set(*value.split("=", 1))
        elif option == "--master":
            conf.setMaster(value)
    return conf


def open_session(name: str, settings: Mapping[str, str] | None = None, reads: Sequence[str] = ()) -> SparkSession:
    """Return the session of the cluster that runs the job; a local session without a cluster.

    Args:
        name: the name of the job.
        settings: further settings of the session; none by default.
        reads: the folders that the job reads, where they are known: on this machine little of them is read sooner by a Java
            that does not optimize its code.
    """
    conf = submitted_conf(os.environ).setAppName(name).setAll(list((settings or {}).items()))
    conf.setIfMissing("spark.master", "local[*]")
    conf.setIfMissing("spark.ui.showConsoleProgress", "false")
    if str(conf.get("spark.master")).startswith("local"):
        _prepare_local(conf, reads)
    session = prepared(SparkSession.builder.config(conf=conf).getOrCreate())
    add_libraries()
    return session


def _prepare_local(conf: SparkConf, reads: Sequence[str]) -> None:
    """Add what a session on this machine needs and nobody has chosen."""
    # The workers use this Python, not the one that comes first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf.setIfMissing("spark.ui.enabled", "false")
    options = java_options(reads)
    if QUIET.is_file():
        # On a cluster Spark's log is needed to examine errors; in a terminal it would hide the job's own lines.
        options += f" -Dlog4j2.configurationFile={QUIET.as_uri()}"
        _keep_quiet()
    conf.setIfMissing("spark.driver.extraJavaOptions", options.strip())


def _keep_quiet() -> None:
    from pyspark.logger import PySparkLogger  # missing in Spark 3.5, with which the connector is tested

    for name in _QUERY_LOGGERS:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def prepared(session: SparkSession) -> SparkSession:
    """Apply the settings to a session, so that results do not depend on a cluster's defaults, and return it."""
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    return session
