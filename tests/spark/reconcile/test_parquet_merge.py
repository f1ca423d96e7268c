"""Files of a base are copied without the rows that were replaced: the result is the same as if Spark had written it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyarrow import Table, parquet
from pyspark.sql import SparkSession
from support.changelogs import change
from support.spark_oracle import live, read_base, run_job, write_lines
from support.sweeps import sweep

from onefold.core.errors import InvalidInput, TryAgain
from onefold.spark.io.filesystem import Folder
from onefold.spark.reconcile import job, parquet_merge

pytestmark = pytest.mark.heavy

Row = dict[str, Any]

NOON = datetime.datetime(1, 1, 1, 12, 0, 0, 123_456)
VALUES: list[Row] = [
    {
        "text": "é", "bytes": b"\xff", "yes": True, "float": 0.1, "numeric": Decimal("1.500000000"), "day": NOON.date(),
        "local": NOON, "instant": NOON.replace(year=2024, tzinfo=datetime.UTC), "list": [1, 2],
        "struct": {"a": 1, "b": ["x"]},
    },
    dict.fromkeys(("text", "bytes", "yes", "float", "numeric", "day", "local", "instant", "list", "struct")),
]  # fmt: skip


def land(folder: Path, rows: list[Row]) -> Path:
    folder.mkdir(parents=True)
    parquet.write_table(Table.from_pylist(rows), folder / "rows.parquet")
    return folder


def prevent_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Spark read and write every row."""
    monkeypatch.setattr(job, "can_copy", lambda *_: False)


def test_copied_files_have_the_values_and_types_that_spark_writes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = land(tmp_path / "1", [change("INSERT", "1", id=number, **VALUES[number % 2]) for number in range(100)])
    second = land(tmp_path / "2", [change("UPDATE-INSERT", "2", id=number, **VALUES[0]) for number in range(0, 300, 7)])
    run_job(spark, first, tmp_path / "base")
    copied = run_job(spark, second, tmp_path / "copied", base=tmp_path / "base")
    prevent_copies(monkeypatch)
    written = run_job(spark, second, tmp_path / "written", base=tmp_path / "base")
    assert copied == written
    assert read_base(spark, tmp_path / "copied") == read_base(spark, tmp_path / "written")
    assert spark.read.parquet(str(tmp_path / "copied")).schema == spark.read.parquet(str(tmp_path / "written")).schema


def test_a_file_that_loses_no_row_is_copied_byte_for_byte(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "a b+é%20"
    for number in range(3):
        rows = [change("INSERT", "1", id=number)]
        base = folder / f"base {number - 1}" if number else None
        run_job(spark, write_lines(folder / f"{number}.jsonl", rows), folder / f"base {number}", base=base)
    last = write_lines(folder / "last.jsonl", [change("UPDATE-INSERT", "2", id=1)])
    run_job(spark, last, folder / "out", base=folder / "base 2")
    before, after = ({path.read_bytes() for path in (folder / name).glob("part-*")} for name in ("base 2", "out"))
    assert len(before) == 3
    assert parquet_merge._can_read(Folder(spark, str(folder)).escaped("last.jsonl"))
    assert len(before & after) == 2
    assert {row["id"] for row in read_base(spark, folder / "out")} == {0, 1, 2}
    assert not (folder / "out" / "_temporary").exists()


@pytest.mark.long
def test_many_small_files_become_few(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_merge, "_MANY", 2)
    for number in range(4):
        base = tmp_path / f"base_{number - 1}" if number else None
        path = write_lines(tmp_path / f"{number}.jsonl", [change("INSERT", "1", id=number)])
        run_job(spark, path, tmp_path / f"base_{number}", base=base)
    counts = [len(list((tmp_path / f"base_{number}").glob("part-*"))) for number in range(4)]
    assert counts[:3] == [1, 2, 3]
    assert counts[3] < 4
    assert {row["id"] for row in read_base(spark, tmp_path / "base_3")} == {0, 1, 2, 3}


@pytest.mark.long
def test_a_base_that_gets_a_column_is_rewritten_in_every_file(spark: SparkSession, tmp_path: Path) -> None:
    run_job(spark, write_lines(tmp_path / "1.jsonl", [change("INSERT", "1", id=1)]), tmp_path / "base")
    path = write_lines(tmp_path / "2.jsonl", [change("INSERT", "1", id=2, added="x")])
    run_job(spark, path, tmp_path / "out", base=tmp_path / "base")
    schemas = {tuple(parquet.read_schema(file).names) for file in (tmp_path / "out").glob("part-*")}
    assert schemas == {("id", "added", "_position", "_deleted")}


@pytest.mark.long
def test_a_column_with_the_name_of_sparks_hidden_column_is_merged(spark: SparkSession, tmp_path: Path) -> None:
    for number, base in enumerate((None, tmp_path / "base_0")):
        rows = [change("INSERT", str(number), id=1, _metadata=number)]
        run_job(spark, write_lines(tmp_path / f"{number}.jsonl", rows), tmp_path / f"base_{number}", base=base)
    assert live(read_base(spark, tmp_path / "base_1")) == [{"id": 1, "_metadata": 1}]


RARE = [pytest.param(name, marks=pytest.mark.long) for name in ("zstd", "none", "gzip", "lz4", "lz4_raw")]


@pytest.mark.long
@pytest.mark.parametrize("codec", ["snappy", *RARE])
def test_a_base_in_any_compression_is_copied(spark: SparkSession, tmp_path: Path, codec: str) -> None:
    """One row is replaced, and the change of another one comes too late, so that the winners' file is copied as well."""
    before = spark.conf.get("spark.sql.parquet.compression.codec")
    spark.conf.set("spark.sql.parquet.compression.codec", codec)
    try:
        old = write_lines(tmp_path / "1.jsonl", [change("INSERT", "5", id=number) for number in range(9)])
        run_job(spark, old, tmp_path / "base")
        new = [change("UPDATE-INSERT", "6", id=1, name="new"), change("UPDATE-INSERT", "4", id=2, name="late")]
        report = run_job(spark, write_lines(tmp_path / "2.jsonl", new), tmp_path / "first", base=tmp_path / "base")
        assert (report.updated, report.lost) == (1, 1)
        again = write_lines(tmp_path / "3.jsonl", [change("UPDATE-INSERT", "7", id=1, name="newer"), new[1]])
        run_job(spark, again, tmp_path / "second", base=tmp_path / "first")
    finally:
        spark.conf.set("spark.sql.parquet.compression.codec", str(before))
    found = {row["id"]: row.get("name") for row in live(read_base(spark, tmp_path / "second"))}
    assert found == {**dict.fromkeys(range(9)), 1: "newer"}


@pytest.mark.parametrize(
    "damage", sweep([lambda content: content[: len(content) // 2], lambda content: b"\0" * 200 + content[200:]])
)
def test_a_damaged_file_of_a_base_is_named_and_no_output_remains(
    spark: SparkSession, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    run_job(spark, write_lines(tmp_path / "1.jsonl", [change("INSERT", "1", id=1, name="x" * 500)]), tmp_path / "base")
    (file,) = (tmp_path / "base").glob("part-*")
    file.write_bytes(damage(file.read_bytes()))
    file.with_name(f".{file.name}.crc").unlink()
    changes = write_lines(tmp_path / "2.jsonl", [change("INSERT", "2", id=1, name="y")])
    with pytest.raises(InvalidInput, match=file.name) as refused:
        run_job(spark, changes, tmp_path / "out", base=tmp_path / "base")
    assert "Traceback" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_missing_staged_file_is_reported_as_another_job_that_writes(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(TryAgain, match="another job writes there at the same time"):
        Folder(spark, str(tmp_path / "out")).rename("_temporary/gone.parquet", "part-0.parquet")


@pytest.mark.parametrize("uri", ["file:///no/such/file", "nonsense:/x", "mock://x"])
def test_a_file_that_a_worker_cannot_open_with_arrow_is_not_copied(uri: str) -> None:
    assert not parquet_merge._can_read(uri)
