"""Copies of Parquet files: which rows they have, which columns are read, and what an error names."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest
from pyarrow import Table, parquet

from onefold.spark.reconcile import parquet_copy
from onefold.spark.reconcile.parquet_copy import FileCopy, copy_file, read_columns


@pytest.mark.parametrize("dropped", [[0], [0, 15, 16, 17, 47, 48, 99], list(range(100)), list(range(16, 32))])
def test_rows_are_left_out_by_their_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dropped: list[int]) -> None:
    """Read a file of row groups of 40 rows in batches of 16 rows."""
    monkeypatch.setattr(parquet_copy, "_BATCH", 16)
    parquet.write_table(Table.from_pylist([{"id": number} for number in range(100)]), tmp_path / "old", row_group_size=40)
    copy = copy_file(FileCopy(f"{tmp_path.as_uri()}/old", tmp_path.as_uri(), "new", array("q", dropped)))
    assert parquet.read_table(tmp_path / copy)["id"].to_pylist() == [
        number for number in range(100) if number not in dropped
    ]


@pytest.mark.parametrize(("bytes_", "groups"), [(10**9, [90]), (16 * 8, [16, 16, 16, 16, 16, 10])])
def test_a_row_group_ends_at_its_size_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_: int, groups: list[int]
) -> None:
    """A row group ends when its rows take so many bytes in memory, not with each batch that is read."""
    monkeypatch.setattr(parquet_copy, "_BATCH", 16)
    monkeypatch.setattr(parquet_copy, "_GROUP", bytes_)
    parquet.write_table(Table.from_pylist([{"id": number} for number in range(100)]), tmp_path / "old", row_group_size=40)
    copy = copy_file(FileCopy(f"{tmp_path.as_uri()}/old", tmp_path.as_uri(), "new", array("q", range(90, 100))))
    file = parquet.ParquetFile(tmp_path / copy)
    assert file.read()["id"].to_pylist() == list(range(90))
    assert [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)] == groups


def test_columns_that_were_read_already_are_taken_over(tmp_path: Path) -> None:
    """The copy's order of columns is the file's, and the values of columns that were read are not read again."""
    parquet.write_table(Table.from_pylist([{"a": n, "b": -n, "c": 2 * n} for n in range(5)]), tmp_path / "old")
    uri = (tmp_path / "old").as_uri()
    read = read_columns(uri, ["c"])
    assert read.column_names == ["c"]
    changed = read.set_column(0, "c", [[7] * 5])
    copy = copy_file(FileCopy(uri, tmp_path.as_uri(), "new", array("q", [0, 4])), changed)
    copied = parquet.read_table(tmp_path / copy)
    assert copied.to_pylist() == [{"a": n, "b": -n, "c": 7} for n in (1, 2, 3)]


def test_a_copy_without_any_row_left_out_has_the_same_bytes(tmp_path: Path) -> None:
    parquet.write_table(Table.from_pylist([{"a": 1}]), tmp_path / "old")
    copy = copy_file(FileCopy((tmp_path / "old").as_uri(), tmp_path.as_uri(), "new", array("q")))
    assert (tmp_path / copy).read_bytes() == (tmp_path / "old").read_bytes()


def test_a_copy_has_no_statistics_of_positions_and_keeps_the_compression(tmp_path: Path) -> None:
    rows = [{"id": n, "_position": f"2{n}"} for n in range(9)]
    parquet.write_table(Table.from_pylist(rows), tmp_path / "old", compression="gzip")
    copy = copy_file(FileCopy((tmp_path / "old").as_uri(), tmp_path.as_uri(), "new", array("q", [3])))
    group = parquet.ParquetFile(tmp_path / copy).metadata.row_group(0)
    columns = {group.column(index).path_in_schema: group.column(index) for index in range(group.num_columns)}
    assert {name: column.is_stats_set for name, column in columns.items()} == {"id": True, "_position": False}
    assert {column.compression for column in columns.values()} == {"GZIP"}


def test_an_unreadable_file_is_named_as_spark_names_it(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"no parquet at all, but long enough to have a footer")
    with pytest.raises(OSError, match=r"\[FAILED_READ_FILE\] file:.*/old: "):
        read_columns((tmp_path / "old").as_uri(), ["a"])
