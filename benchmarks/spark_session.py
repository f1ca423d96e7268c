"""The Spark session of the benchmarks, and what its stages have read."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from onefold.spark.session import prepared


def open_spark(memory: str, jars: list[Path]) -> SparkSession:
    """A local session on all cores. Delta's extension is in it where its jars are, for the job as well."""
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
            # The default of 50 is for logs of large tables, and would cost a small machine a second a round.
            "spark.databricks.delta.snapshotPartitions": "2",
        }
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]").appName("benchmark").config(map=dict(options))
    spark = prepared(builder.getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def forget(spark: SparkSession) -> None:
    """Let nothing of an earlier run serve the next one, or be paid for by it: no cached frame, no garbage."""
    spark.catalog.clearCache()
    jvm: Any = spark._jvm
    jvm.java.lang.System.gc()


@dataclass(frozen=True)
class Rows:
    """read: what Spark's scans have read from files, without what Arrow copies. shuffled: what went from part to part."""

    read: int
    shuffled: int


class RowCounter:
    """Counts the rows of the stages that a session runs. What comes from a cached frame is read by none."""

    def __init__(self, spark: SparkSession) -> None:
        gateway: Any = spark.sparkContext._gateway
        self._context: Any = spark._jsc.sc()
        self._no_quantiles: Any = gateway.new_array(gateway.jvm.double, 0)
        self._seen = frozenset(self._stages())

    def take(self) -> Rows:
        """Return the rows of the stages that have begun since the last call."""
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
