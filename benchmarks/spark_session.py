"""The Spark session of the benchmarks, and the rows that its stages read."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from onefold.spark.session import prepared


def open_spark(memory: str, jars: list[Path]) -> SparkSession:
    """Start a local session on all cores. It has Delta's extension if the jars exist, for the job as well."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = {
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.showConsoleProgress": "false",
    }
    if jars:
        options |= {
            "spark.jars": ",".join(map(str, jars)),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            # The default of 50 partitions is for logs of large tables, and costs a small machine a second a round.
            "spark.databricks.delta.snapshotPartitions": "2",
        }
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]").appName("benchmark").config(map=dict(options))
    spark = prepared(builder.getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def forget(spark: SparkSession) -> None:
    """Clear the cache and collect garbage, so that no run profits from an earlier one or pays for it."""
    spark.catalog.clearCache()
    jvm: Any = spark._jvm
    jvm.java.lang.System.gc()


@dataclass(frozen=True)
class Rows:
    """Rows of stages. read: by scans of files, without rows that Arrow copies. shuffled: sent between partitions."""

    read: int
    shuffled: int


class RowCounter:
    """A counter of the rows that the stages of a session read. Rows of a cached frame are read by no stage."""

    def __init__(self, spark: SparkSession) -> None:
        gateway: Any = spark.sparkContext._gateway
        self._context: Any = spark._jsc.sc()
        self._no_quantiles: Any = gateway.new_array(gateway.jvm.double, 0)
        self._seen = frozenset(self._stages())

    def take(self) -> Rows:
        """Return the rows of the stages that started since the last call."""
        stages = self._stages()
        new = [rows for stage, rows in stages.items() if stage not in self._seen]
        self._seen = frozenset(stages)
        return Rows(sum(rows.read for rows in new), sum(rows.shuffled for rows in new))

    def _stages(self) -> dict[tuple[int, int], Rows]:
        self._context.listenerBus().waitUntilEmpty()
        listed = self._context.statusStore().stageList(None, False, False, self._no_quantiles, None)
        stages = [listed.apply(place) for place in range(listed.size())]
        return {
            (stage.stageId(), stage.attemptId()): Rows(stage.inputRecords(), stage.shuffleWriteRecords()) for stage in stages
        }
