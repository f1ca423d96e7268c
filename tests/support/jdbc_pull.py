"""A job that pulls all tables of a database by Spark's JDBC source, and prints what was pulled as JSON.

It is a process of its own: the driver's jar has to be there when the JVM starts. The password is in the environment.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from datetime import datetime
from typing import Any

from support.pulls import RememberedLoads, lines

from onefold.batches.source_arguments import PullArguments
from onefold.settings.environment import Settings
from onefold.settings.sources import Source, TableLoad, Tls, WatermarkColumn
from onefold.spark.pull.job import pull
from onefold.spark.pull.session import open_session_with_driver


def main(text: str) -> None:
    wanted: dict[str, Any] = json.loads(text)
    source = Source(
        "fraud", wanted["host"], wanted["port"], wanted["user"], "env:PULL_PASSWORD", Tls("off"),
        databases=(wanted["database"],),
        tables={name: table_load(mark) for name, mark in wanted["tables"].items()},
    )  # fmt: skip
    settings = Settings(sources={"fraud": source}, pulled_files=wanted["folder"])
    at = datetime.fromisoformat(wanted["at"])
    arguments = PullArguments("fraud", wanted["database"], wanted["window"], at=at, parallel=2)
    spark = open_session_with_driver("pull")
    loads = RememberedLoads()
    report = pull(spark, arguments, settings, loads, os.environ)
    pulled = {
        one.plan.structure.table: {
            "lines": lines(one), "losses": sorted([*loss, count] for loss, count in one.losses.items()),
            "watermark": one.watermark, "above": one.rows_above, "missing": one.rows_without_watermark,
            "days": sorted([day.isoformat(), rows] for file in one.files for day, rows in file.days),
        }
        for one in loads.pulled
    }  # fmt: skip
    print(json.dumps({"tables": [asdict(table) for table in report.tables], "pulled": pulled}))
    spark.stop()


def table_load(mark: dict[str, Any] | None) -> TableLoad:
    return TableLoad("incremental", WatermarkColumn(**mark)) if mark else TableLoad()


if __name__ == "__main__":
    main(sys.argv[1])
