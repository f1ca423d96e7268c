"""Values that Debezium could not tell: never stored, and taken from the latest earlier row of the key that has them."""

from __future__ import annotations

import base64
import itertools
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from support.spark_oracle import live, read_base, run_job, write_lines

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


@pytest.mark.parametrize("splits", [(), (2,), (1, 2, 3)])
def test_any_split_into_batches_gives_the_same_row(spark: SparkSession, tmp_path: Path, splits: tuple[int, ...]) -> None:
    batches = [LONG[start:end] for start, end in itertools.pairwise((0, *splits, len(LONG)))]
    rows, reports = result(spark, tmp_path, *(batch[::-1] for batch in batches))
    assert rows == EXPECTED
    assert (reports[-1].unavailable_values, reports[-1].unknown_values) == (2, 0)


def test_positions_are_those_of_the_change_as_it_came(spark: SparkSession, tmp_path: Path) -> None:
    """So the same change again is known, wherever its value was found."""
    _, reports = result(spark, tmp_path, LONG, LONG[3:], LONG)
    assert [(one.repeated, one.updated, one.disputed) for one in reports[1:]] == [(1, 0, 0), (1, 0, 0)]


def test_the_bases_row_counts_where_it_is_newer_than_the_batchs(spark: SparkSession, tmp_path: Path) -> None:
    """A batch delivers an old change again: the base has known better since."""
    rows, _ = result(spark, tmp_path, LONG[:3], [LONG[0], LONG[3]])
    assert rows == EXPECTED


def test_a_value_that_no_earlier_row_has_is_null_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    rows, reports = result(spark, tmp_path, [LONG[3], event("c", 1, {"id": 2, "n": 1, "v": None, "w": "y"})])
    assert rows == [{"id": 1, "n": 4}, {"id": 2, "n": 1, "w": "y"}]
    assert (reports[0].unavailable_values, reports[0].unknown_values) == (2, 2)


def test_a_value_that_was_null_is_known(spark: SparkSession, tmp_path: Path) -> None:
    first = [event("c", 1, {"id": 1, "n": 1, "v": "old", "w": "x"}), event("u", 2, {"id": 1, "n": 2, "v": None, "w": "x"})]
    rows, reports = result(spark, tmp_path, [*first, event("u", 3, {"id": 1, "n": 3, "v": GONE, "w": "x"})])
    assert rows == [{"id": 1, "n": 3, "w": "x"}]
    assert (reports[0].unavailable_values, reports[0].unknown_values) == (1, 0)


def test_values_of_a_deleted_row_do_not_come_back(spark: SparkSession, tmp_path: Path) -> None:
    gone = event("d", 2, None, {"id": 1, "n": 1, "v": "secret", "w": "x"})
    again = event("u", 4, {"id": 1, "n": 4, "v": GONE, "w": "y"})
    for name, batches in {"one": ([LONG[0], gone, again],), "two": ([LONG[0], gone], [again])}.items():
        rows, _ = result(spark, tmp_path / name, *batches)
        assert rows == [{"id": 1, "n": 4, "w": "y"}], name


def test_keys_of_others_and_null_keys_are_apart(spark: SparkSession, tmp_path: Path) -> None:
    events = [
        event("c", 1, {"id": 1, "v": "one"}), event("c", 1, {"id": None, "v": "none"}), event("c", 1, {"id": 2, "v": "two"}),
        event("u", 2, {"id": None, "v": GONE}), event("u", 2, {"id": 2, "v": GONE}),
    ]  # fmt: skip
    rows, _ = result(spark, tmp_path, events)
    assert rows == [{"id": 1, "v": "one"}, {"id": 2, "v": "two"}, {"v": "none"}]
    rows, _ = result(spark, tmp_path / "two", events[:3], events[3:])
    assert rows == [{"id": 1, "v": "one"}, {"id": 2, "v": "two"}, {"v": "none"}]


BYTES = GONE.encode()
FORMS = {
    "base64": ("bytes", base64.b64encode(BYTES).decode()),
    "hexadecimal": ("bytes", BYTES.hex()),
    "a UUID": (str(uuid.UUID(int=7)), "b0b6f2a1-0000-3000-8000-000000000000"),
    "hstore": ('{"a":"b"}', f'{{"{GONE}":"{GONE}"}}'),
    "texts": (["a", "b"], [GONE]),
    "numbers": ([1, 2], list(BYTES)),
}


@pytest.mark.parametrize("form", [name for name in FORMS if name != "a UUID"])
def test_every_form_of_the_placeholder_is_known(spark: SparkSession, tmp_path: Path, form: str) -> None:
    value, placeholder = FORMS[form]
    events = [event("c", 1, {"id": 1, "v": value}), event("u", 2, {"id": 1, "v": placeholder})]
    rows, reports = result(spark, tmp_path, events)
    assert (rows, reports[0].unavailable_values) == ([{"id": 1, "v": value}], 1)


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


def test_a_key_and_text_that_holds_the_placeholder_are_values(spark: SparkSession, tmp_path: Path) -> None:
    rows, reports = result(spark, tmp_path, [event("c", 1, {"id": GONE, "v": f"{GONE} "})])
    assert (rows, reports[0].unavailable_values) == ([{"id": GONE, "v": f"{GONE} "}], 0)


def test_no_rows_stay_in_memory(spark: SparkSession, tmp_path: Path) -> None:
    spark.catalog.clearCache()
    before = len(spark.sparkContext._jsc.getPersistentRDDs())
    result(spark, tmp_path, LONG[:1], LONG[1:])
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) == before


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
