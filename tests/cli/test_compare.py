"""The command compare, over files of each format and tables of the emulator."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyarrow import Table, array, parquet, timestamp
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run

from onefold.compare.files import read_rows

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
def test_equal_rows_in_two_formats_are_equal(run: Run, tmp_path: Path, left: str, right: str) -> None:
    outcome = run("compare", write(tmp_path / "left", left), write(tmp_path / "right", right), "--keys", "id")
    assert outcome.code == 0
    assert outcome.out == "the same: 2 rows left, 2 right\n"


def test_a_table_is_compared_with_an_export_of_the_source(run: Run, tmp_path: Path, dataset: EmulatedDataset) -> None:
    dataset.land("customer", {"id": "INT64", "name": "STRING", "price": "NUMERIC"}, "1, 'Zoë', 1.1", "2, NULL, NULL")
    outcome = run("compare", f"bigquery:{dataset.name}.customer", write(tmp_path, "a.csv"), "--keys", "id")
    assert outcome.code == 0
    assert outcome.out.startswith("the same")


DIFFERENT = '{"id": 1, "name": "Zoe", "price": 1.1}\n{"id": 3, "name": "", "price": null}\n{"id": 3, "name": "x"}\n'
FOUND: list[dict[str, str | None]] = [
    {"kind": "only left", "key": '{"id":"2"}', "column": None, "left": None, "right": None},
    {"kind": "only right", "key": '{"id":"3"}', "column": None, "left": None, "right": None},
    {"kind": "repeated right", "key": '{"id":"3"}', "column": None, "left": None, "right": None},
    {"kind": "different", "key": '{"id":"1"}', "column": "name", "left": "Zoë", "right": "Zoe"},
]


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Two files that differ in every way."""
    other = tmp_path / "other.jsonl"
    other.write_text(DIFFERENT)
    return write(tmp_path, "a.parquet"), other


def test_differences_are_shown_and_exit_with_2(run: Run, sides: tuple[Path, Path]) -> None:
    outcome = run("compare", *sides, "--keys", "id")
    assert outcome.code == 2
    counts = ("rows only left: 1", "rows only right: 1", "repeated keys, right: 1", "values that differ: 1")
    for part in ("different: 2 rows left, 3 right", *counts, "Zoë", "Zoe"):
        assert part in outcome.out


def test_a_sample_has_the_requested_size_and_is_marked_as_a_sample(run: Run, tmp_path: Path) -> None:
    for name, rows in (("few", range(1)), ("many", range(1, 5))):
        (tmp_path / f"{name}.jsonl").write_text("".join(f'{{"id": {row}, "name": "n{row}"}}\n' for row in rows))
    sides = (tmp_path / "few.jsonl", tmp_path / "many.jsonl")
    shown = run("compare", *sides, "--keys", "id", "--sample", 2).out
    assert "different: 1 row left, 4 right\n" in shown
    assert "rows only left: 1\n" in shown
    assert "rows only right: the first 2 of 4\n" in shown
    assert shown.count("│") == 6
    assert run("compare", *sides, "--keys", "id", "--sample", -1).code == 1


def test_a_sample_of_0_shows_only_counts(run: Run, sides: tuple[Path, Path]) -> None:
    assert run("compare", *sides, "--keys", "id", "--sample", 0).out.splitlines() == [
        "different: 2 rows left, 3 right",
        "rows only left: 1",
        "rows only right: 1",
        "repeated keys, right: 1",
        "values that differ: 1",
    ]


@pytest.mark.parametrize("name", ["all.jsonl", "all.csv", "all.parquet"])
def test_every_finding_is_written_to_a_file(run: Run, tmp_path: Path, sides: tuple[Path, Path], name: str) -> None:
    outcome = run("compare", *sides, "--keys", "id", "--output", tmp_path / name)
    assert (outcome.code, outcome.out.splitlines()[-1]) == (2, f"4 findings written to {tmp_path / name}")
    rows = [dict[str, Any].fromkeys(FOUND[0]) | row for row in read_rows(tmp_path / name)]
    keys = [row.pop("key") for row in rows]
    assert [json.loads(key) if isinstance(key, str) else key for key in keys] == [
        json.loads(str(row["key"])) for row in FOUND
    ]
    assert rows == [{name: value for name, value in row.items() if name != "key"} for row in FOUND]


def test_every_finding_is_written_to_a_new_table(run: Run, sides: tuple[Path, Path], dataset: EmulatedDataset) -> None:
    output = f"bigquery:{dataset.name}.found"
    assert run("compare", *sides, "--keys", "id", "--output", output).code == 2
    assert sorted(dataset.rows("found"), key=str) == sorted((tuple(row.values()) for row in FOUND), key=str)
    again = run("compare", *sides, "--keys", "id", "--output", output)
    assert again.code == 1
    assert "exists already" in again.err
    assert len(dataset.rows("found")) == len(FOUND)


def test_the_table_of_findings_is_empty_if_both_sides_are_equal(run: Run, tmp_path: Path, dataset: EmulatedDataset) -> None:
    path = write(tmp_path, "a.csv")
    assert run("compare", path, path, "--keys", "id", "--output", f"bigquery:{dataset.name}.found").code == 0
    assert dataset.rows("found") == []


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("there.jsonl", "exists already"),
        ("all.txt", "ends in .jsonl, .csv, .parquet"),
        ("nowhere/all.csv", "there is no folder"),
        ("bigquery:nothing.found", "nothing"),
        ("bigquery:found", "expected bigquery:DATASET.TABLE"),
    ],
)
def test_an_invalid_or_existing_output_is_refused(
    run: Run, tmp_path: Path, sides: tuple[Path, Path], dataset: EmulatedDataset, output: str, problem: str
) -> None:
    (tmp_path / "there.jsonl").write_text("mine")
    before = sorted(path.name for path in tmp_path.iterdir())
    outcome = run("compare", *sides, "--keys", "id", "--output", output)
    assert outcome.code == 1
    assert problem in outcome.err
    assert (tmp_path / "there.jsonl").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert dataset.client.list_tables(dataset.name).num_results == 0


def test_a_base_table_is_compared_with_the_source_as_people_read_it(
    run: Run, tmp_path: Path, dataset: EmulatedDataset
) -> None:
    columns = {"id": "INT64", "name": "STRING", "price": "NUMERIC", "_packed_position": "BYTES", "_deleted": "BOOL"}
    dataset.land("base", columns, "1, 'Zoë', 1.1, b'2', FALSE", "2, '', NULL, b'2', FALSE", "9, NULL, NULL, b'3', TRUE")
    assert run("compare", f"bigquery:local.{dataset.name}.base", write(tmp_path, "a.csv"), "--keys", "id").code == 0


def test_columns_can_be_left_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("id,price,other\n1,1.10,x\n2,,y\n")
    sides = (write(tmp_path, "a.csv"), tmp_path / "b.csv")
    assert run("compare", *sides, "--keys", "id").code == 2
    assert run("compare", *sides, "--keys", "id", "--except", "name,other").code == 0


def test_json_has_all_findings(run: Run, sides: tuple[Path, Path]) -> None:
    assert run("compare", sides[0], sides[0], "--keys", "id", "--json").result == {
        "same": True,
        "rows": {"left": 2, "right": 2},
        "columns_only": {"left": [], "right": []},
        "counts": {"only left": 0, "only right": 0, "repeated left": 0, "repeated right": 0, "different": 0},
        "output": None,
        "differences": [],
    }
    made = run("compare", *sides, "--keys", "id", "--json").result
    assert made["counts"] == {"only left": 1, "only right": 1, "repeated left": 0, "repeated right": 1, "different": 1}
    assert made["differences"] == [
        {"kind": "only left", "key": {"id": "2"}},
        {"kind": "only right", "key": {"id": "3"}},
        {"kind": "repeated right", "key": {"id": "3"}},
        {"kind": "different", "key": {"id": "1"}, "column": "name", "left": "Zoë", "right": "Zoe"},
    ]


def test_json_lines_have_the_same_findings(run: Run, tmp_path: Path, sides: tuple[Path, Path]) -> None:
    made = run("compare", *sides, "--keys", "id", "--output", tmp_path / "all.jsonl", "--json").result
    assert made["output"] == str(tmp_path / "all.jsonl")
    assert [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()] == made["differences"]


def test_a_folder_is_all_its_files_except_those_of_spark(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    write(folder, "part-1.parquet")
    (folder / "_SUCCESS").touch()
    assert run("compare", folder, write(tmp_path, "a.csv"), "--keys", "id").code == 0


def test_values_are_shown_unchanged_and_cannot_control_the_terminal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": 1, "name": ":x: [red]\\u001b[31m"}\n')
    (tmp_path / "y.jsonl").write_text('{"id": 1, "name": null}\n')
    assert ":x: [red]\\x1b[31m" in run("compare", tmp_path / "x.jsonl", tmp_path / "y.jsonl", "--keys", "id").out


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
def test_text_files_may_be_compressed(run: Run, tmp_path: Path, name: str) -> None:
    compressed = tmp_path / f"{name}.gz"
    compressed.write_bytes(gzip.compress(write(tmp_path, name).read_bytes()))
    assert run("compare", compressed, write(tmp_path, "a.parquet"), "--keys", "id").code == 0


def test_a_json_line_of_null_is_not_a_row(run: Run, tmp_path: Path) -> None:
    """Kafka's tombstones are written so."""
    lines = write(tmp_path, "a.jsonl")
    lines.write_text(f"{lines.read_text()}null\n")
    assert run("compare", lines, write(tmp_path, "a.csv"), "--keys", "id").code == 0


def test_a_time_of_nanoseconds_is_an_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(Table.from_pydict({"id": array([1], timestamp("ns"))}), path)
    outcome = run("compare", path, path, "--keys", "id")
    assert (outcome.code, "x.parquet: not Parquet that can be read: Nanosecond" in outcome.err) == (1, True)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('x.csv:id,name\n1,"a"b\n', "x.csv, line 1: not CSV"),
        ("x.parquet:hello", "not Parquet"),
        ("x.csv:id,name\n1\n", "row 2: it has not as many values"),
        ("x.jsonl:{", "x.jsonl, line 1: not JSON"),
        ('x.jsonl:{"id": 1}\n\n{"id": 2} {', "x.jsonl, line 3: not JSON: Extra data, at character 11: "),
        ('x.jsonl:{"id": 1}\n{"id": 2\n', "x.jsonl, line 2: not JSON: Expecting ',' delimiter, at character 9: "),
        ("x.jsonl:" + "[" * 100_000, "x.jsonl, line 1: not JSON: maximum recursion depth"),
        ("x.jsonl:[1]", "line 1: not a JSON object"),
        ("x.txt:hello", "expected files of one kind of .parquet, .jsonl, .json, .ndjson, .csv, got .txt"),
        ("x.csv:id,name,Name\n1,a,b\n", "x.csv: more than one column is named name"),
        ('x.jsonl:{"id": 1, "name": "a", "Name": "b"}', "columns that differ only in case are one"),
        ("x.csv.gz:id,name\n1,a\n", "x.csv.gz cannot be read: Not a gzipped file"),
        ('x.jsonl:{"number": 1}', "has no column id"),
    ],
)
def test_invalid_files_and_missing_keys_are_reported(run: Run, tmp_path: Path, content: str, problem: str) -> None:
    name, _, text = content.partition(":")
    (tmp_path / name).write_text(text)
    outcome = run("compare", tmp_path / name, write(tmp_path, "a.csv"), "--keys", "id")
    assert outcome.code == 1
    assert problem in outcome.err


def test_missing_files_and_tables_are_reported(run: Run, tmp_path: Path, dataset: EmulatedDataset) -> None:
    there = write(tmp_path, "a.csv")
    assert "there is no such file" in run("compare", tmp_path / "nowhere.csv", there, "--keys", "id").err
    for missing in (f"{dataset.name}.nothing", "nowhere.nothing"):
        outcome = run("compare", f"bigquery:{missing}", there, "--keys", "id")
        advice = "of a versioned table, name the unified or the current view"
        assert (outcome.code, outcome.err) == (1, f"Error: there is no table or view local.{missing}; {advice}\n")


@pytest.mark.parametrize("option", [("gs://lake/customer",), ("a.csv", "--output", "gs://lake/found.csv")])
def test_a_folder_in_a_bucket_is_refused_with_the_command_that_takes_it(
    run: Run, tmp_path: Path, option: tuple[str, ...]
) -> None:
    write(tmp_path, "a.csv")
    outcome = run("compare", "a.csv", *option, "--keys", "id")
    assert (outcome.code, len(outcome.err.splitlines())) == (1, 1)
    assert "expected a path on this machine" in outcome.err
    assert "compare folders in buckets with `onefold batch compare`" in outcome.err


@pytest.mark.parametrize(
    "name",
    [
        "shop.customer",
        "my-project.shop.customer",
        "example.com:my-project.shop.customer",
        "shop.order-line",
        "shop.\u0917\u093f",
    ],
)
def test_a_table_without_its_scheme_is_answered_with_it(run: Run, name: str) -> None:
    outcome = run("compare", name, "right.csv", "--keys", "id")
    expected = f"{name}: there is no such file or folder; for a table of BigQuery write bigquery:{name}"
    assert (outcome.code, outcome.out, outcome.err) == (1, "", f"Error: {expected}\n")


def test_a_file_that_is_missing_is_not_taken_for_a_table(run: Run) -> None:
    assert "bigquery:" not in run("compare", "left.csv", "right.csv", "--keys", "id").err


def test_a_folder_named_like_a_table_is_read(run: Run) -> None:
    Path("shop.customer").mkdir()
    Path("shop.customer", "rows.csv").write_text("id\n1\n")
    assert run("compare", "shop.customer", "shop.customer", "--keys", "id").code == 0
