"""The command compare, over files of each format and tables of the emulator."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from command_line import Run
from emulator import EmulatedDataset
from pyarrow import Table, parquet

ROWS = [{"id": 1, "name": "Zoë", "price": Decimal("1.10")}, {"id": 2, "name": None, "price": None}]


def write(folder: Path, name: str) -> Path:
    """The same rows in the format that the name says."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".parquet"):
        parquet.write_table(Table.from_pylist(ROWS), path)
    elif name.endswith(".csv"):
        path.write_text("id,name,price\n1,Zoë,1.10\n2,\\N,\n")
    else:
        path.write_text('{"id": 1, "name": "Zoë", "price": 1.1}\n\n{"id": 2, "name": null, "price": null}\n')
    return path


FILES = ["a.parquet", "a.csv", "a.jsonl"]


@pytest.mark.parametrize("left", FILES)
@pytest.mark.parametrize("right", FILES)
def test_the_same_rows_in_any_two_formats_are_the_same(run: Run, tmp_path: Path, left: str, right: str) -> None:
    outcome = run("compare", write(tmp_path / "left", left), write(tmp_path / "right", right), "--keys", "id")
    assert outcome.code == 0
    assert outcome.out == "the same: 2 rows left, 2 right\n"


def test_a_table_is_compared_with_an_export_of_the_source(run: Run, tmp_path: Path, dataset: EmulatedDataset) -> None:
    dataset.land("customer", {"id": "INT64", "name": "STRING", "price": "NUMERIC"}, "1, 'Zoë', 1.1", "2, NULL, NULL")
    outcome = run("compare", f"bigquery:{dataset.name}.customer", write(tmp_path, "a.csv"), "--keys", "id")
    assert outcome.code == 0
    assert outcome.out.startswith("the same")


def test_what_differs_is_shown_and_ends_with_2(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": 1, "name": "Zoe", "price": 1.1}\n{"id": 3, "name": null, "price": null}\n')
    outcome = run("compare", write(tmp_path, "a.parquet"), other, "--keys", "id", "--out", tmp_path / "all.jsonl")
    assert outcome.code == 2
    for part in ("different", "rows only left: 1", "rows only right: 1", "values that differ: 1", "Zoë", "Zoe"):
        assert part in outcome.out
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert lines == [
        {"kind": "only left", "key": {"id": 2}},
        {"kind": "only right", "key": {"id": 3}},
        {"kind": "differs", "key": {"id": 1}, "column": "name", "left": "Zoë", "right": "Zoe"},
    ]


def test_json_holds_all_of_it(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl")
    made = run("compare", path, path, "--keys", "id", "--json").json
    assert made == {
        "same": True,
        "rows": {"left": 2, "right": 2},
        "columns_only": {"left": [], "right": []},
        "differences": [],
    }


def test_a_folder_is_all_its_files_but_not_spark_s_own(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    write(folder, "part-1.parquet")
    (folder / "_SUCCESS").touch()
    assert run("compare", folder, write(tmp_path, "a.csv"), "--keys", "id").code == 0


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("x.csv:id,name\n1\n", "row 2: it has not as many values"),
        ("x.jsonl:{", "line 1: not JSON"),
        ("x.jsonl:[1]", "line 1: not a JSON object"),
        ("x.txt:hello", "rows come in files of one kind of .parquet, .jsonl, .json, .csv; found .txt"),
        ('x.jsonl:{"number": 1}', "has no column id"),
    ],
)
def test_what_cannot_be_compared_is_told(run: Run, tmp_path: Path, content: str, fault: str) -> None:
    name, _, text = content.partition(":")
    (tmp_path / name).write_text(text)
    outcome = run("compare", tmp_path / name, write(tmp_path, "a.csv"), "--keys", "id")
    assert outcome.code == 1
    assert fault in outcome.err


def test_what_is_not_there_is_told(run: Run, tmp_path: Path, dataset: EmulatedDataset) -> None:
    there = write(tmp_path, "a.csv")
    assert "there is no such file" in run("compare", tmp_path / "nowhere.csv", there, "--keys", "id").err
    missing = run("compare", f"bigquery:{dataset.name}.nothing", there, "--keys", "id")
    assert missing.code == 1
    assert "nothing" in missing.err
