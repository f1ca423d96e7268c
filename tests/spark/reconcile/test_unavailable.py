"""Values that Debezium could not tell: never stored, and taken from the latest earlier row of the key that has them.

Only here Spark looks for them, within a batch and in the base; one job has the rows of many cases, with keys apart.
"""

from __future__ import annotations

import base64
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from support.spark_oracle import in_order, live, read_base, run_job, write_lines

from onefold.batches.arguments import ReconcileArguments
from onefold.core.errors import InvalidInput

pytestmark = pytest.mark.long

Row = dict[str, Any]
GONE = "__debezium_unavailable_value"
DEBEZIUM = ("--format", "debezium")


def event(op: str, lsn: int, after: Row | None, before: Row | None = None) -> Row:
    return {"op": op, "before": before, "after": after, "source": {"lsn": lsn}, "ts_ms": 1}


def result(
    spark: SparkSession, folder: Path, *batches: list[Row], more: tuple[str, ...] = ()
) -> tuple[list[Row], list[Any]]:
    """The live rows after one batch after another, and the reports."""
    base, reports = None, []
    for number, events in enumerate(batches):
        path = write_lines(folder / f"{number}.jsonl", events)
        reports.append(run_job(spark, path, folder / f"base_{number}", *DEBEZIUM, *more, base=base))
        base = folder / f"base_{number}"
    assert base
    return live(read_base(spark, base)), reports


LONG = [
    event("c", 1, {"id": 1, "n": 1, "v": "long", "w": "x"}),
    event("u", 2, {"id": 1, "n": 2, "v": GONE, "w": "x"}),
    event("u", 3, {"id": 1, "n": 3, "v": "longer", "w": GONE}),
    event("u", 4, {"id": 1, "n": 4, "v": GONE, "w": GONE}),
]
EXPECTED = [{"id": 1, "n": 4, "v": "longer", "w": "x"}]


GONE_ROW = event("d", 2, None, {"id": 1, "n": 1, "v": "secret", "w": "x"})
AGAIN = event("u", 4, {"id": 1, "n": 4, "v": GONE, "w": "y"})
NULL = [event("c", 1, {"id": 1, "n": 1, "v": "old", "w": "x"}), event("u", 2, {"id": 1, "n": 2, "v": None, "w": "x"})]
KEYS = [
    event("c", 1, {"id": 1, "v": "one"}), event("c", 1, {"id": None, "v": "none"}), event("c", 1, {"id": 2, "v": "two"}),
    event("u", 2, {"id": None, "v": GONE}), event("u", 2, {"id": 2, "v": GONE}),
]  # fmt: skip
OF_KEYS: list[Row] = [{"id": 1, "v": "one"}, {"id": 2, "v": "two"}, {"v": "none"}]
Cases = dict[str, tuple[list[list[Row]], list[Row]]]
"""The batches of each case, and its live rows in the end. Only the last one may have a key that is NULL."""
ONE_BATCH: Cases = {
    "all changes": ([LONG[::-1]], EXPECTED),
    "no earlier row has the value": (
        [[LONG[3], event("c", 1, {"id": 2, "n": 1, "v": None, "w": "y"})]], [{"id": 1, "n": 4}, {"id": 2, "n": 1, "w": "y"}],
    ),
    "the value was NULL": ([[*NULL, event("u", 3, {"id": 1, "n": 3, "v": GONE, "w": "x"})]], [{"id": 1, "n": 3, "w": "x"}]),
    "the row was deleted": ([[LONG[0], GONE_ROW, AGAIN]], [{"id": 1, "n": 4, "w": "y"}]),
    "keys of others, and NULL": ([KEYS], OF_KEYS),
}  # fmt: skip
BATCHES: Cases = {
    "two": ([LONG[1::-1], LONG[:1:-1]], EXPECTED),
    "one for each change": ([[one] for one in LONG], EXPECTED),
    # It delivers an old change again: the base has known better since.
    "a base that is newer than the batch": ([LONG[:3], [LONG[0], LONG[3]]], EXPECTED),
    "the row was deleted before": ([[LONG[0], GONE_ROW], [AGAIN]], [{"id": 1, "n": 4, "w": "y"}]),
    "keys of others, and NULL": ([KEYS[:3], KEYS[3:]], OF_KEYS),
}
APART = 10
"""What is added to the keys of each case, so that one job has the rows of all cases."""


def moved(one: Row, by: int) -> Row:
    rows = {name: one[name] for name in ("before", "after") if one[name] and one[name]["id"] is not None}
    return {**one, **{name: {**row, "id": row["id"] + by} for name, row in rows.items()}}


@dataclass(frozen=True)
class Played:
    """What became of the cases: the live rows of each, the reports of the jobs, and how many RDDs they left in memory."""

    rows: dict[str, list[Row]]
    reports: list[Any]
    left: int


def play(spark: SparkSession, folder: Path, cases: Cases, *more: list[Row]) -> Played:
    """Run all cases at once, batch by batch, and then `more` batches."""
    spark.catalog.clearCache()
    before = len(spark.sparkContext._jsc.getPersistentRDDs())
    placed = [(APART * number, batches) for number, (batches, _) in enumerate(cases.values())]
    steps = [
        [moved(one, by) for (by, _), batch in zip(placed, step, strict=True) for one in batch]
        for step in itertools.zip_longest(*(batches for _, batches in placed), fillvalue=[])
    ]
    rows, reports = result(spark, folder, *steps, *more)
    found: dict[str, list[Row]] = {name: [] for name in cases}
    for row in rows:
        number, key = divmod(row.pop("id", APART * (len(cases) - 1)), APART)
        found[list(cases)[number]].append({"id": key, **row} if key else row)
    return Played(found, reports, len(spark.sparkContext._jsc.getPersistentRDDs()) - before)


@pytest.fixture(scope="module")
def one_batch(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The cases of one batch; then the last change again, and all of them."""
    return play(spark, tmp_path_factory.mktemp("one"), ONE_BATCH, LONG[3:], LONG)


@pytest.fixture(scope="module")
def batches(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(spark, tmp_path_factory.mktemp("several"), BATCHES)


@pytest.mark.parametrize("case", ONE_BATCH)
def test_the_values_of_one_batch_are_those_of_the_latest_earlier_row(one_batch: Played, case: str) -> None:
    assert in_order(one_batch.rows[case]) == in_order(ONE_BATCH[case][1])


@pytest.mark.parametrize("case", BATCHES)
def test_any_split_into_batches_gives_the_same_row(batches: Played, case: str) -> None:
    assert in_order(batches.rows[case]) == in_order(BATCHES[case][1])


def test_values_that_no_earlier_row_has_are_counted(one_batch: Played) -> None:
    """Two of the second case: a change after a deletion begins anew, and lacks nothing."""
    assert (one_batch.reports[0].unavailable_values, one_batch.reports[0].unknown_values) == (8, 2)


def test_positions_are_those_of_the_change_as_it_came(one_batch: Played) -> None:
    """So the same change again is known, wherever its value was found."""
    assert [(one.repeated, one.updated, one.disputed) for one in one_batch.reports[1:]] == [(1, 0, 0), (1, 0, 0)]


def test_no_rows_stay_in_memory(one_batch: Played, batches: Played) -> None:
    assert (one_batch.left, batches.left) == (0, 0)


BYTES = GONE.encode()
FORMS = {
    "base64": ("bytes", base64.b64encode(BYTES).decode()),
    "hexadecimal": ("bytes", BYTES.hex()),
    "hstore": ('{"a":"b"}', f'{{"{GONE}":"{GONE}"}}'),
    "texts": (["a", "b"], [GONE]),
    "numbers": ([1, 2], list(BYTES)),
}


def test_every_form_of_the_placeholder_is_known_and_a_key_or_text_that_holds_it_is_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    values, placeholders = ({name: pair[side] for name, pair in FORMS.items()} for side in (0, 1))
    text = {"id": GONE, "base64": f"{GONE} "}
    events = [event("c", 1, {"id": "1", **values}), event("u", 2, {"id": "1", **placeholders}), event("c", 1, text)]
    rows, reports = result(spark, tmp_path, events)
    assert rows == in_order([{"id": "1", **values}, text])
    assert (reports[0].unavailable_values, reports[0].unknown_values) == (len(FORMS), 0)


def test_bytes_and_their_lists_in_parquet(spark: SparkSession, tmp_path: Path) -> None:
    events = [
        event("c", 1, {"id": 1, "v": b"\xff", "w": [b"a"], "f": [1.5]}),
        event("u", 2, {"id": 1, "v": BYTES, "w": [BYTES], "f": [float(one) for one in BYTES]}),
    ]
    table = pa.Table.from_pylist([{name: value for name, value in one.items() if name != "before"} for one in events])
    parquet.write_table(table, tmp_path / "e.parquet")
    run_job(spark, tmp_path / "e.parquet", tmp_path / "out", *DEBEZIUM)
    (row,) = live(read_base(spark, tmp_path / "out"))
    assert row == {"id": 1, "v": b"\xff", "w": [b"a"], "f": [1.5]}


@pytest.mark.parametrize(("option", "text"), [("(gone)", "(gone)"), ("hex:28676f6e6529", "(gone)")])
def test_the_placeholder_is_configurable(spark: SparkSession, tmp_path: Path, option: str, text: str) -> None:
    events = [
        event("c", 1, {"id": 1, "v": "a", "w": GONE}),
        event("u", 2, {"id": 1, "v": text, "w": GONE}),
    ]
    rows, reports = result(spark, tmp_path, events, more=("--unavailable-value", option))
    assert rows == [{"id": 1, "v": "a", "w": GONE}]
    assert reports[0].unavailable_values == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--unavailable-value", "x"),
        ("--format", "debezium", "--unavailable-value", "hex:0"),
        (*DEBEZIUM, "--unavailable-value="),
    ],
)
def test_a_wrong_placeholder_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match="--unavailable-value: expected"):
        ReconcileArguments.parse(["--changes", "a", "--output", "b", "--keys", "id", *words])
