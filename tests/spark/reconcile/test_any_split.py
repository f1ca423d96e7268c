"""Batches over files accept what one batch accepts: the types of versions may differ, and so may the split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.changelogs import change
from support.spark_oracle import live, read_base, run_job, write_lines
from support.sweeps import sweep

from onefold.core.errors import InvalidInput

STRUCT: dict[str, Any] = {"first": "a"}


SPLITS = {"later": ((0, 1), (2,)), "earlier": ((0,), (1, 2)), "one batch": ((0, 1, 2),)}


@pytest.mark.parametrize("split", sweep({name: (split,) for name, split in SPLITS.items()}))
def test_a_column_that_is_a_struct_and_a_text_is_merged_in_any_split(
    spark: SparkSession, tmp_path: Path, split: tuple[tuple[int, ...], ...]
) -> None:
    names = (STRUCT, "b", STRUCT)
    rows = [change("INSERT", str(number), id=number, name=name) for number, name in enumerate(names)]
    files = [write_lines(tmp_path / f"changes_{number}" / "rows.jsonl", [row]) for number, row in enumerate(rows)]
    base: Path | None = None
    for number, batch in enumerate(split):
        output = tmp_path / f"base_{number}"
        run_job(spark, [files[one] for one in batch], output, base=base)
        base = output
    assert base
    assert [row["name"] for row in live(read_base(spark, base))] == ['{"first":"a"}', "b", '{"first":"a"}']


@pytest.mark.long
@pytest.mark.parametrize("split", ["one batch", "later", "twice"])
def test_a_key_that_is_a_number_of_two_kinds_is_merged_as_text_as_in_sql(
    spark: SparkSession, tmp_path: Path, split: str
) -> None:
    whole = write_lines(tmp_path / "whole.jsonl", [change("INSERT", "1", id=1, v="a"), change("INSERT", "1", id=2, v="b")])
    broken = tmp_path / "broken"
    lines = spark.createDataFrame([(1.0, "c", "9")], "id DOUBLE, v STRING, sequence STRING")
    fields = "'change_sequence_number', sequence, 'change_type', 'INSERT', 'source_timestamp', 1L"
    lines.selectExpr("id", "v", f"named_struct({fields}) AS datastream_metadata").write.parquet(str(broken))
    batches = {"one batch": [[whole, broken]], "later": [[whole], [broken]], "twice": [[whole], [broken], [broken], [whole]]}
    base: Path | None = None
    for number, files in enumerate(batches[split]):
        run_job(spark, files, tmp_path / f"out_{number}", base=base)
        base = tmp_path / f"out_{number}"
    assert base
    assert live(read_base(spark, base)) == [{"id": "1", "v": "c"}, {"id": "2", "v": "b"}]
    with pytest.raises(InvalidInput, match="the key id is FLOAT64, which has no equality to group rows by"):
        run_job(spark, broken, tmp_path / "refused")
