"""The peers of the shredder: Spark's own `from_json`, and a loop in plain Python."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.shred_events import COLUMNS, ENVELOPE, SCHEMA, SPARK_TYPES
from onefold.batches.shred_arguments import ShredArguments
from onefold.core.shred_options import FileFormat
from onefold.spark.shred.job import shred
from onefold.spark.shred.registry import read_registry

Work = Callable[[Path, Path], int]
"""Shreds a folder of events into a folder, and returns the rows."""
_BATCH = 50_000
_CORRUPT = "_corrupt_record"


@dataclass(frozen=True)
class Contest:
    """A format with the session, and the registry of the events."""

    spark: SparkSession
    registry: Path
    format: FileFormat

    def works(self) -> Mapping[str, Work]:
        return {"onefold": self._onefold, "from_json": self._from_json, "python": self._loop}

    def _onefold(self, events: Path, output: Path) -> int:
        arguments = ShredArguments((str(events),), (str(self.registry),), str(output), "self-describing", format=self.format)
        report = shred(self.spark, arguments, partial(read_registry, arguments.registry, None))
        return sum(report.tables.values())

    def _from_json(self, events: Path, output: Path) -> int:
        """A fixed schema, and no validation: a value of another type is NULL, and the row has the record, too."""
        fields = ", ".join(f"{name} {type_}" for name, type_ in SPARK_TYPES.items())
        schema = f"schema STRING, data STRUCT<{fields}>, {_CORRUPT} STRING"
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        found = self.spark.read.text(str(events)).select(F.from_json("value", schema, options).alias("event"))
        rows = found.select("event.schema", "event.data.*", f"event.{_CORRUPT}")
        if self.format == "csv":
            rows.write.csv(str(output), sep="\t", nullValue="\\N", compression="none")
        else:
            rows.write.parquet(str(output), compression="zstd")
        return -1

    def _loop(self, events: Path, output: Path) -> int:
        """Parse, validate, flatten and write, with the same validator, one event after the other."""
        output.mkdir()
        rows = _valid_rows(events, output / "bad.json", self.format)
        if self.format == "csv":
            return _write_csv(rows, output / "rows.csv")
        return _write_parquet(rows, output / "rows.parquet")


def _valid_rows(events: Path, bad: Path, format_: FileFormat) -> Iterator[list[Any]]:
    validator = jsonschema_rs.Draft4Validator(SCHEMA, validate_formats=True)
    names = list(COLUMNS)
    number = 0
    with bad.open("w") as bad_rows:
        for path in sorted(events.iterdir()):
            with path.open() as file:
                for line in file:
                    found = orjson.loads(line)
                    data = found["data"]
                    if not validator.is_valid(data):
                        reasons = [error.message for error in validator.iter_errors(data)]
                        bad_rows.write(json.dumps({"kind": "invalid", "reasons": reasons, "original": line}) + "\n")
                        continue
                    number += 1
                    root = [
                        "com.acme",
                        "ad_click",
                        "jsonschema",
                        "1-0-0",
                        str(number),
                        found["schema"],
                        "events",
                        "[]",
                        "events",
                    ]
                    row = root + [data.get(name) for name in names]
                    yield [_csv_value(value) for value in row] if format_ == "csv" else row


def _csv_value(value: Any) -> Any:
    if value is None:
        return "\\N"
    if value is True or value is False:
        return int(value)
    return json.dumps(value) if isinstance(value, list | dict) else value


def _write_csv(rows: Iterator[list[Any]], path: Path) -> int:
    count = 0
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        for row in rows:
            writer.writerow(row)
            count += 1
    return count


def _write_parquet(rows: Iterator[list[Any]], path: Path) -> int:
    schema = pa.schema([*((name, pa.string()) for name in ENVELOPE), *COLUMNS.items()])
    count, batch = 0, []
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for row in rows:
            batch.append(row)
            if len(batch) == _BATCH:
                count += _write_batch(writer, batch, schema)
                batch = []
        return count + _write_batch(writer, batch, schema)


def _write_batch(writer: Any, batch: list[list[Any]], schema: pa.Schema) -> int:
    if batch:
        arrays = [pa.array(values, field.type) for values, field in zip(zip(*batch, strict=True), schema, strict=True)]
        writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return len(batch)
