"""Generated logs of several versions: any permutation, repetition, split into batches and replay gives the oracle's base.

Many logs are run at once, told apart by a column of the key, since a run of Spark takes seconds and a log none. Each run
of the tests draws other logs, and other columns of those of every type (`seeding.py`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.changelogs import change
from support.spark_oracle import Typed, base_of, positions_sort_as, run_job, texts, without_positions

from onefold.changelog.generator import METADATA_TYPE
from onefold.changelog.generator_files import parquet_rows
from onefold.changelog.generator_values import TYPES, column_value
from onefold.changelog.metadata import METADATA
from onefold.schema.types import parse_type

Row = dict[str, Any]

LOGS = 120
KEYS = ["log", "id"]
SEQUENCES = (None, "1", "2", "A", "10", "1/9", "1/A", "bin.9", "bin.10")
KINDS = ("INSERT", "UPDATE-INSERT", "UPDATE-DELETE", "DELETE", "insert", "Update-Delete", "REFRESH")
"""Any case counts; what is none of these is an upsert."""
SOME = 3
"""Columns of the every-type ones in a run, besides a FLOAT64: the time of a run grows with them."""


@dataclass(frozen=True)
class Change:
    """One change of a small world, in which equal keys and equal positions are common."""

    version: int
    id: int | None
    kind: str
    sequence: str | None
    timestamp: int | None
    sort_keys: tuple[str, ...]
    values: Row

    def row(self, log: int) -> Row:
        """As its version writes it: the second turns the key into text, the third brings a column."""
        key = str(self.id) if self.version and self.id is not None else self.id
        added = {"added": str(len(self.values))} if self.version == 2 else {}
        columns: dict[str, Any] = {"log": log, "id": key, **self.values, **added}
        return change(self.kind, self.sequence, timestamp=self.timestamp, sort_keys=self.sort_keys, **columns)


def make_logs(chance: random.Random, names: Sequence[str]) -> list[list[Change]]:
    return [make_log(chance, names) for _ in range(LOGS)]


def make_log(chance: random.Random, names: Sequence[str]) -> list[Change]:
    contents = [{name: column_value(chance, name) for name in names} for _ in range(2)]
    return [make_change(chance, chance.choice(contents)) for _ in range(chance.randint(1, 6))]


def make_change(chance: random.Random, values: Row) -> Change:
    return Change(
        version=chance.randrange(3),
        id=chance.choice((None, 1, 2)),
        kind=chance.choice(KINDS),
        sequence=chance.choice(SEQUENCES),
        timestamp=chance.choice((None, -1, 5)),
        sort_keys=chance.choice(((), ("9",), ("10",), ("bin.2", "-1"))),
        values=values,
    )


def types_of(version: int, names: Sequence[str]) -> dict[str, str]:
    """The columns of a version."""
    added = {"added": "STRING"} if version == 2 else {}
    return {"log": "INT64", "id": "STRING" if version else "INT64", **{name: TYPES[name] for name in names}, **added}


@pytest.mark.long
@pytest.mark.usefixtures("in_parts")
def test_any_order_any_repetition_and_any_split_give_the_oracles_base(
    spark: SparkSession, tmp_path: Path, chance: random.Random
) -> None:
    names = ["v_float64", *chance.sample(sorted(TYPES.keys() - {"v_float64"}), SOME)]
    batches = split(make_logs(chance, names), chance)
    typed = Typed(types_of(2, names))
    changes = [as_text(typed.held(row)) for batch in batches for rows in batch for row in rows]
    first = chain(spark, tmp_path / "one", batches, chance, names)
    second = chain(spark, tmp_path / "other", batches[::-1], chance, names)
    assert texts(first) == texts(second)
    assert texts(without_positions(first)) == texts(base_of(changes, KEYS, (), typed.types))
    assert positions_sort_as(first, changes, KEYS, typed.types)


def as_text(row: Row) -> Row:
    """With the key as the unified schema has it."""
    return {**row, "id": str(row["id"])} if row.get("id") is not None else row


def split(logs: Sequence[Sequence[Change]], chance: random.Random) -> list[list[list[Row]]]:
    """Two batches of three versions each. Every change is in one of them, or in both, or in one of them twice."""
    batches: list[list[list[Row]]] = [[[], [], []], [[], [], []]]
    for number, log in enumerate(logs):
        for one in log:
            for place in chance.choice(((0,), (1,), (0, 1), (0, 0))):
                batches[place][one.version].append(one.row(number))
    for batch in batches:
        for rows in batch:
            chance.shuffle(rows)
    return batches


def chain(
    spark: SparkSession, folder: Path, batches: Sequence[list[list[Row]]], chance: random.Random, names: Sequence[str]
) -> list[Row]:
    """The base after all batches and a replay of one of them."""
    base: Path | None = None
    for number, batch in enumerate([*batches, chance.choice(batches)]):
        output = folder / f"base_{number}"
        paths = [write(folder / f"{number}_{version}", rows, version, names) for version, rows in enumerate(batch) if rows]
        run_job(spark, chance.sample(paths, len(paths)), output, keys=",".join(KEYS), base=base)
        base = output
    return Typed(types_of(2, names)).read(output)


def write(folder: Path, rows: Sequence[Row], version: int, names: Sequence[str]) -> Path:
    folder.mkdir(parents=True)
    types = {**types_of(version, names), METADATA: METADATA_TYPE}
    parquet_rows(rows, {name: parse_type(type_) for name, type_ in types.items()}, folder / "rows.parquet")
    return folder
