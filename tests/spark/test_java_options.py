"""The options of Java for a job on this machine follow from how much it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from onefold.spark.java_options import SHORT_LIVED, java_options

MEGABYTE = 1024 * 1024


def folder(path: Path, megabytes: int) -> str:
    (path / "day=1").mkdir(parents=True)
    with (path / "day=1" / "part.parquet").open("wb") as file:
        file.truncate(megabytes * MEGABYTE)
    return str(path)


@pytest.mark.parametrize(("sizes", "options"), [((1, 2), SHORT_LIVED), ((40, 30), ""), ((65,), ""), ((), "")])
def test_a_job_that_reads_little_has_its_code_not_optimized(tmp_path: Path, sizes: tuple[int, ...], options: str) -> None:
    assert java_options([folder(tmp_path / str(size), size) for size in sizes]) == options


def test_what_is_elsewhere_may_be_large_and_what_is_missing_is_empty(tmp_path: Path) -> None:
    small = folder(tmp_path / "small", 1)
    assert java_options([small, "gs://bucket/base"]) == ""
    assert java_options([small, "bigquery:shop.customer"]) == ""
    assert java_options([f"file:{small}", f"file://{small}", str(tmp_path / "missing")]) == SHORT_LIVED
