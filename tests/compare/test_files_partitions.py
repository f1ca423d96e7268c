"""Partition folders in the files that `onefold compare` reads: rows have the columns that the folders name."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyarrow import Table, parquet

from onefold.compare.files import read_rows
from onefold.core.errors import InvalidInput


def write(path: Path, row: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffix:
        case ".parquet":
            parquet.write_table(Table.from_pylist([row]), path)
        case ".csv":
            path.write_text(f"{','.join(row)}\n{','.join(map(str, row.values()))}\n")
        case _:
            path.write_text(json.dumps(row))
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_a_row_has_the_columns_of_its_folders(tmp_path: Path, suffix: str) -> None:
    write(tmp_path / "day=2024-01-01" / "_n=1" / f"a{suffix}", {"id": 7})
    write(tmp_path / "day=__HIVE_DEFAULT_PARTITION__" / "_n=2" / f"a{suffix}", {"id": 8})
    write(tmp_path / "_temporary" / f"a{suffix}", {"id": 9})
    typed = [{"id": 7, "day": datetime.date(2024, 1, 1), "_n": 1}, {"id": 8, "day": None, "_n": 2}]
    text = [{"id": "7", "day": "2024-01-01", "_n": "1"}, {"id": "8", "day": None, "_n": "2"}]
    assert list(read_rows(tmp_path)) == (text if suffix == ".csv" else typed)
    assert (
        next(iter(read_rows(tmp_path / "day=2024-01-01" / "_n=1" / f"a{suffix}")))
        == (text if suffix == ".csv" else typed)[0]
    )


@pytest.mark.parametrize(
    ("own", "folder"),
    [("x", "x"), (1, "01"), (Decimal("1.5"), "1.5"), (datetime.date(2024, 1, 1), "2024-01-01"), (None, "x")],
)
def test_a_column_of_the_file_may_have_the_value_of_its_folder(tmp_path: Path, own: Any, folder: str) -> None:
    path = write(tmp_path / f"P={folder}" / "a.parquet", {"id": 1, "p": own})
    assert list(read_rows(path)) == [{"id": 1, "p": folder if own is None else own}]


@pytest.mark.parametrize(("own", "folder"), [("x", "y"), (1, "2"), (1, "x"), (1, "__HIVE_DEFAULT_PARTITION__")])
def test_a_column_of_the_file_with_another_value_than_its_folder_is_refused(tmp_path: Path, own: Any, folder: str) -> None:
    path = write(tmp_path / f"P={folder}" / "a.parquet", {"id": 1, "p": own})
    with pytest.raises(InvalidInput, match=rf"a\.parquet: expected one value of the column p, got {own} in the file"):
        list(read_rows(path))
