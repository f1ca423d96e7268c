"""The time to make the table of a model from its versions. Run: `python -m benchmarks.registry [--page docs/benchmarks.md]`.

Each version has all columns of the version before it, and makes one text longer; each tenth one adds a column. 500 columns
are there from the start. Measured is the way from schemas in memory to the statement that creates the table. The versions
are parsed from texts of their own before, so that no two of them share objects. The time is the best of five: it is one
computation in one process, which others can only make slower. The growth is the exponent between neighbouring rows: 1.0 is
linear.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.report import add_options, machine, markdown, publish
from onefold.events.registry.ddl import TARGETS, Target, build_table, create_statements
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.schema_key import SchemaKey, SchemaVer

HEADING = "Schema registry"
HEADER = ("target", "versions", "columns", "ms", "µs per version", "growth")
COLUMNS = 500
VERSIONS = (10, 100, 1_000)
_KINDS: tuple[dict[str, Any], ...] = (
    {"type": "string", "maxLength": 40}, {"type": "integer"}, {"type": ["number", "null"]}, {"type": "boolean"},
    {"type": "string", "format": "date-time"}, {"type": "string", "enum": ["card", "cash", "voucher"]},
)  # fmt: skip


def history(versions: int) -> Iterator[JsonSchema]:
    """Yield the versions of a model: each makes a text longer, and each tenth one adds a column."""
    properties = {f"column{number}": dict(_KINDS[number % len(_KINDS)]) for number in range(COLUMNS)}
    for addition in range(versions):
        properties[f"column{addition * 6 % (COLUMNS - 8)}"] = {"type": "string", "maxLength": 40 + addition}
        if addition % 10 == 9:
            properties[f"added{addition}"] = dict(_KINDS[addition % len(_KINDS)])
        text = json.dumps({"type": "object", "properties": properties, "required": ["column1"]})
        yield JsonSchema(SchemaKey("com.acme", "ad_click", "jsonschema", SchemaVer(1, 0, addition)), json.loads(text))


def best_of_five(versions: Sequence[JsonSchema], target: Target) -> float:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        create_statements(build_table(versions, target))
        times.append(time.perf_counter() - started)
    return min(times)


def lines() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of figures."""
    for target in TARGETS:
        before: tuple[int, float] | None = None
        for count in VERSIONS:
            versions = list(history(count))
            columns = len(build_table(versions, target).columns)
            seconds = best_of_five(versions, target)
            growth = f"{math.log(seconds / before[1]) / math.log(count / before[0]):.2f}" if before else ""
            before = (count, seconds)
            yield target, f"{count:,}", f"{columns:,}", f"{seconds * 1e3:.1f}", f"{seconds / count * 1e6:.0f}", growth


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="How long it takes to make a table from the versions of a model.")
    add_options(parser)
    publish(parser.parse_args(argv), HEADING, machine("the best of five", {}), markdown(HEADER, list(lines())))


if __name__ == "__main__":
    main()
