"""The Spark job that compares, run in this process, and the comparison in plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from onefold.adapters.connect import connect
from onefold.batches.arguments import CompareArguments
from onefold.compare.files import open_rows
from onefold.compare.findings import findings
from onefold.compare.rows import compare_sources
from onefold.spark.compare.job import compare


def compare_in_python(left: Path, right: Path, keys: list[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the summary and the findings of `onefold compare`."""
    found = compare_sources(open_rows(left), open_rows(right), keys)
    return found.summary.as_dict(), sorted_rows(one.as_row() for one in findings(found, keys))


def sorted_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    parsed = ({**row, "key": json.loads(row["key"])} for row in rows)
    return sorted(parsed, key=lambda row: json.dumps(row, sort_keys=True))


@dataclass(frozen=True)
class Job:
    spark: SparkSession

    def __call__(
        self, left: object, right: object, output: object = None, keys: str = "id", without: str = ""
    ) -> dict[str, Any]:
        words = [f"--left={left}", f"--right={right}", f"--keys={keys}"]
        words += [f"--{name}={value}" for name, value in (("output", output), ("except", without)) if value]
        return compare(self.spark, CompareArguments.parse(words), lambda: connect(None)).as_dict()

    def found(self, output: Path) -> list[dict[str, Any]]:
        assert (output / "_SUCCESS").exists()
        return sorted_rows(row.asDict() for row in self.spark.read.parquet(str(output)).collect())
