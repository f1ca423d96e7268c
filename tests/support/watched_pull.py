"""A pull by Spark that looks at itself: its properties, the pages of its user interface, its readers, and all processes.

It writes what it saw into a file. The password is in the environment.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from support.pulls import RememberedLoads

from onefold.batches.source_arguments import PullArguments
from onefold.core.errors import OnefoldError
from onefold.pull.read.part import PartResult
from onefold.pull.read.plan import TablePlan
from onefold.settings.environment import Settings
from onefold.settings.sources import Source, TableLoad, Tls
from onefold.spark.job import summary
from onefold.spark.pull.job import pull
from onefold.spark.pull.reader import SparkReader
from onefold.spark.session import open_session

PAGES = ("environment", "sql?details=true&planDescription=true", "jobs", "stages?details=true", "allexecutors")
"""Of the REST API, which has what the pages have."""
_READERS: list[str] = []


def main(text: str) -> None:
    wanted: dict[str, Any] = json.loads(text)
    source = Source(
        "fraud", wanted["host"], wanted["port"], wanted["user"], "env:PULL_PASSWORD", Tls("off"),
        databases=(wanted["database"],), tables={"*": TableLoad("full")},
    )  # fmt: skip
    settings = Settings(sources={"fraud": source}, pulled_files=wanted["folder"])
    arguments = PullArguments("fraud", wanted["database"], "full", at=datetime.now(UTC))
    spark = open_session("pull")
    seen: dict[str, Any] = {"error": None, "outcomes": {}}
    read = SparkReader.read

    def watched_read(self: SparkReader, plan: TablePlan, part: int) -> PartResult:
        _READERS.append(repr(self))
        return read(self, plan, part)

    SparkReader.read = watched_read  # type: ignore[method-assign]
    with processes() as found:
        try:
            report = pull(spark, arguments, settings, RememberedLoads(), os.environ)
            seen["outcomes"] = {table.table: table.outcome for table in report.tables}
            seen["report"] = report.to_json()
        except OnefoldError as error:
            seen["error"] = str(error)
            seen["summary"] = summary(error)
    seen |= {"processes": sorted(found), "reader": "\n".join(_READERS), "pages": pages(spark)}
    seen["properties"] = spark.sparkContext.getConf().getAll()
    Path(wanted["seen"]).write_text(json.dumps(seen))
    spark.stop()


def pages(spark: SparkSession) -> dict[str, str]:
    context = spark.sparkContext
    jvm: Any = spark._jvm
    context._jsc.sc().listenerBus().waitUntilEmpty()
    root = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
    found = {"properties": str(jvm.java.lang.System.getProperties().toString())}
    for page in PAGES:
        with urllib.request.urlopen(f"{root}/{page}") as answer:
            found[page] = answer.read().decode()
    return found


@contextlib.contextmanager
def processes() -> Iterator[set[str]]:
    """The words of all processes that are there meanwhile and have the folder of temporary files of this one."""
    found: set[str] = set()
    own = os.environ["TMPDIR"].encode()
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    if own in path.with_name("environ").read_bytes():
                        found.add(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1])
