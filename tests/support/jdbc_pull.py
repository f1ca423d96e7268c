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

from onefold.adapters.pulled_files import FolderFiles
from onefold.extract.connection import address_of, jdbc_options
from onefold.extract.part import Destination
from onefold.extract.plan import PullRequest
from onefold.extract.planner import Planner
from onefold.extract.pull import Pull
from onefold.mysql.connection import connect
from onefold.settings.sources import Source, TableLoad, Tls, WatermarkColumn
from onefold.spark.extract.reader import SparkReader
from onefold.spark.job import summary
from onefold.spark.session import open_session


def main(text: str) -> None:
    wanted: dict[str, Any] = json.loads(text)
    password = os.environ["PULL_PASSWORD"]
    source = Source(
        "fraud", wanted["host"], wanted["port"], wanted["user"], "env:PULL_PASSWORD", Tls("off"),
        databases=(wanted["database"],),
        tables={name: table_load(mark) for name, mark in wanted["tables"].items()},
    )  # fmt: skip
    spark = open_session("pull")
    to = Destination(FolderFiles(), wanted["folder"])
    request = PullRequest("fraud", wanted["database"], wanted["window"], datetime.fromisoformat(wanted["at"]), parallel=2)
    loads = RememberedLoads()
    planner = Planner(source, request, to, lambda _: (), loads)
    reader = SparkReader(spark, jdbc_options(source, wanted["database"], password), to)
    report = Pull(planner, lambda: connect(address_of(source, password)), reader, loads, summary).run()
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
