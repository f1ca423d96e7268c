"""Generated logs of several versions: any permutation, repetition, split into batches and replay gives the oracle's base.

Many logs are run at once, told apart by a column of the key, since a run of Spark takes seconds and a log none.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from changelogs import change
from pyspark.sql import SparkSession
from spark_oracle import base_of, read_base, run_job, write_lines

Row = dict[str, Any]

LOGS = 120
KEYS = "log,id"
SEQUENCES = (None, "1", "2", "A", "10", "1/9", "1/A", "bin.9", "bin.10")
KINDS = ("INSERT", "UPDATE-INSERT", "UPDATE-DELETE", "DELETE", "something new")


@dataclass(frozen=True)
class Change:
    """One change of a small world, in which equal keys and equal positions are common."""

    version: int
    id: int | None
    kind: str
    sequence: str | None
    timestamp: int | None
    sort_keys: tuple[str, ...]
    value: int | None

    def row(self, log: int) -> Row:
        """As its version writes it: the second turns the key into text, the third brings a column."""
        key = str(self.id) if self.version and self.id is not None else self.id
        added = {"added": self.value} if self.version == 2 else {}
        columns: dict[str, Any] = {"log": log, "id": key, "value": self.value, **added}
        return change(self.kind, self.sequence, timestamp=self.timestamp, sort_keys=self.sort_keys, **columns)


def make_logs(chance: random.Random) -> list[list[Change]]:
    return [[make_change(chance) for _ in range(chance.randint(1, 6))] for _ in range(LOGS)]


def make_change(chance: random.Random) -> Change:
    return Change(
        version=chance.randrange(3),
        id=chance.choice((None, 1, 2)),
        kind=chance.choice(KINDS),
        sequence=chance.choice(SEQUENCES),
        timestamp=chance.choice((None, -1, 5)),
        sort_keys=chance.choice(((), ("9",), ("10",), ("bin.2", "-1"))),
        value=chance.choice((None, 1, 2)),
    )


@pytest.mark.usefixtures("in_parts")
def test_any_order_any_repetition_and_any_split_give_the_oracles_base(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(7)
    batches = split(make_logs(chance), chance)
    expected = base_of([as_text(row) for batch in batches for rows in batch for row in rows], ["log", "id"])
    first = chain(spark, tmp_path / "one", batches, chance)
    second = chain(spark, tmp_path / "other", batches[::-1], chance)
    assert first == second == expected


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


def chain(spark: SparkSession, folder: Path, batches: Sequence[list[list[Row]]], chance: random.Random) -> list[Row]:
    """The base after all batches and a replay of one of them."""
    base: Path | None = None
    for number, batch in enumerate([*batches, chance.choice(batches)]):
        output = folder / f"base_{number}"
        paths = [
            write_lines(folder / f"{number}_{version}" / "rows.jsonl", rows) for version, rows in enumerate(batch) if rows
        ]
        run_job(spark, chance.sample(paths, len(paths)), output, keys=KEYS, base=base)
        base = output
    return read_base(spark, output)
