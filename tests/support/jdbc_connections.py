"""Opens connections of Spark's JDBC source, each with its own settings, and prints what became of each as JSON.

The argument is a list of mappings: host, port, tls mode, and the file of the authority. The password is in the environment.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyspark.sql import SparkSession
from support.pull_job import CLUSTER, USER

from onefold.pull.read.connection import jdbc_options
from onefold.settings.sources import Source, Tls
from onefold.spark.job import summary
from onefold.spark.pull.session import open_session_with_driver

INFILE = "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t"


def main(text: str) -> None:
    spark = open_session_with_driver("connections")
    print(json.dumps([_tried(spark, wanted) for wanted in json.loads(text)]))
    spark.stop()


def _tried(spark: SparkSession, wanted: dict[str, Any]) -> dict[str, str]:
    """The rows of a query, and what the driver says to a file of this machine; or the error."""
    tls = Tls(wanted["mode"], wanted["ca"])
    try:
        options = jdbc_options(
            Source(CLUSTER, wanted["host"], wanted["port"], USER, tls=tls), wanted["database"], os.environ["PULL_PASSWORD"]
        )
        schema, table = (
            ("performance_schema", "session_status") if wanted["mysql"] else ("information_schema", "SESSION_STATUS")
        )
        query = f"(SELECT VARIABLE_VALUE AS v FROM {schema}.{table} WHERE VARIABLE_NAME = 'Ssl_cipher') s"
        (row,) = spark.read.format("jdbc").options(**options).option("dbtable", query).load().collect()
        return {"cipher": row[0], "infile": _infile(spark, options)}
    except Exception as error:  # noqa: BLE001 the driver raises errors of Py4J
        return {"error": summary(error)}


def _infile(spark: SparkSession, options: dict[str, str]) -> str:
    jvm: Any = spark._jvm
    properties = jvm.java.util.Properties()
    for name in options.keys() - {"url", "driver"}:
        properties.setProperty(name, options[name])
    connection = jvm.java.sql.DriverManager.getConnection(options["url"], properties)
    try:
        connection.createStatement().execute(INFILE)
    except Exception as error:  # noqa: BLE001 the driver raises errors of Py4J
        return summary(error)
    finally:
        connection.close()
    return "loaded"


if __name__ == "__main__":
    main(sys.argv[1])
