"""What looking for duplicates costs: the same enriched events with and without `--duplicates-window`, in alternating rounds.

Run: `python -m benchmarks.shred_duplicates [--events 200000] [--repeat 3] [--earlier 1000000] [--folder DIR]`.

Two events in a hundred are delivered twice, and one in a thousand has the id of another one. Half of the events have no
fingerprint. `--earlier` ids of earlier runs lie in the window. The first round warms up Spark and is not counted; each round
reads new copies of the events. `of the processors` are the seconds of this process and its descendants.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import time
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.processor_time import processor_seconds
from benchmarks.quiet import Rounds, described
from benchmarks.report import add_options, machine, markdown, publish, ratio, spread, versions
from benchmarks.shred_events import _data, make_registry
from benchmarks.spark_session import forget, open_spark
from onefold.adapters.folder_objects import FolderObjects
from onefold.batches.shred_arguments import ShredArguments
from onefold.events.registry.json_schema import parse_schema
from onefold.events.registry.open import open_registry_store
from onefold.events.shred.duplicates import DUPLICATE
from onefold.events.shred.event_fields import EVENT_FIELDS
from onefold.events.shred.event_ids import FINGERPRINT, HASH, ID
from onefold.settings.registry import RegistrySettings
from onefold.spark.shred.job import shred
from onefold.spark.shred.registry import read_registry

HEADING = "Duplicates of events"
HEADER = ("", "seconds", "of the processors", "events a second")
_FILES = 4
_TEXTS = ("app_id", "platform", "page_url", "page_title", "useragent", "br_name", "os_name", "domain_userid", "geo_country")


def add_context(folder: Path) -> None:
    """Add the schema of the context of duplicates to a registry."""
    vendor, name, format_, version = DUPLICATE.removeprefix("iglu:").split("/")
    own = {"vendor": vendor, "name": name, "format": format_, "version": version}
    text = {"type": "string", "format": "uuid"}
    store = open_registry_store(str(folder), FolderObjects(folder), RegistrySettings())
    store.add(parse_schema({"self": own, "type": "object", "properties": {"originalEventId": text}}))


def make_enriched(folder: Path, count: int) -> None:
    """Write enriched events, each with one entity of 20 fields, into some files."""
    chance = random.Random(7)
    folder.mkdir()
    lines = [_line(number, chance) for number in range(count)]
    for number in range(0, count, 50):
        lines[number] = lines[chance.randrange(count)]
    for file in range(_FILES):
        (folder / f"events-{file}.tsv").write_text("".join(f"{line}\n" for line in lines[file::_FILES]))


def _line(number: int, chance: random.Random) -> str:
    id_ = uuid.UUID(int=chance.getrandbits(128) if number % 1_000 != 1 else 7, version=4)
    entity = {"schema": "iglu:com.acme/ad_click/jsonschema/1-0-0", "data": _data(number, chance)}
    fields = {name: f"{name} of the event {number}" for name in _TEXTS} | {
        "event_id": str(id_),
        "collector_tstamp": "2026-11-23 08:00:00.123",
        "event_fingerprint": f"{chance.getrandbits(128):032x}" if number % 2 else "",
        "contexts": json.dumps({"schema": "iglu:com.acme/contexts/jsonschema/1-0-0", "data": [entity]}),
    }
    return "\t".join(fields.get(name, "") for name, _ in EVENT_FIELDS)


def add_earlier(spark: SparkSession, output: Path, count: int) -> None:
    """Add the ids of an earlier run of the window to an output folder with one finished run."""
    (ids,) = output.glob("run=*/event_ids")
    chance = random.Random(9)
    names = [str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(count)]
    pq.write_table(pa.table({ID: names, FINGERPRINT: [name[::-1] for name in names]}), output / "ids.parquet")
    earlier = spark.read.parquet(str(output / "ids.parquet")).withColumn(HASH, F.xxhash64(F.col(ID)))
    earlier.coalesce(1).write.mode("append").option("compression", "zstd").parquet(str(ids))
    for path in (*output.glob("_commits/*.json"), *output.glob("run=*/shredding_complete.json")):
        manifest = json.loads(path.read_text())
        manifest["duplicates"]["ids"] += count
        path.write_text(json.dumps(manifest))


def run(spark: SparkSession, registry: Path, events: Path, output: Path, days: int) -> None:
    arguments = ShredArguments(
        (str(events),), (str(registry),), str(output), "enriched-tsv", "bigquery", duplicates_window=days
    )
    report = shred(spark, arguments, partial(read_registry, arguments.registry, None))
    if sum(report.bad.values()) or bool(days) != bool(report.duplicates):
        raise SystemExit(f"expected good events only, got {report.summary()}")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What looking for duplicates costs.")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--earlier", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--folder", type=Path, help="where the data go; a temporary folder by default")
    add_options(parser)
    options = parser.parse_args(argv)
    spark = open_spark(options.memory, [])
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    works = {"all events are taken": 0, "without duplicates": 7}
    rounds = Rounds[tuple[float, float]](options.repeat, again=bool(options.page))
    try:
        make_registry(folder / "registry")
        add_context(folder / "registry")
        make_enriched(folder / "events", options.events)
        make_enriched(folder / "one", 1)
        for number in rounds:
            for name in sorted(works, key=lambda name: (works[name] > 0) ^ (number % 2 > 0)):
                events, output = folder / f"events_{number}_{works[name]}", folder / f"output_{number}_{works[name]}"
                run(spark, folder / "registry", folder / "one", output, works[name])
                if works[name]:
                    add_earlier(spark, output, options.earlier)
                shutil.copytree(folder / "events", events)
                forget(spark)
                started, used = time.perf_counter(), processor_seconds()
                run(spark, folder / "registry", events, output, works[name])
                rounds.note(name, (time.perf_counter() - started, processor_seconds() - used))
                shutil.rmtree(output)
                shutil.rmtree(events)
    finally:
        shutil.rmtree(folder)
    found = {
        name: ([clock for clock, _ in rounds.figures[name]], [used for _, used in rounds.figures[name]]) for name in works
    }
    lines = [
        (name, spread(seconds).text(1), spread(used).text(1), f"{options.events / spread(seconds).median:,.0f}")
        for name, (seconds, used) in found.items()
    ]
    (plain, plain_used), (looked, looked_used) = found.values()
    lines.append(("ratio", ratio(looked, plain).text(), ratio(looked_used, plain_used).text(), ""))
    sizes = f"{options.events:,} enriched events, {options.earlier:,} earlier ids, {described([rounds])}"
    publish(options, HEADING, machine(sizes, versions(Spark="pyspark")), markdown(HEADER, lines), (), [rounds])


if __name__ == "__main__":
    main()
