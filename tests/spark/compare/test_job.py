"""The Spark job that compares has the findings of plain Python, for all types and formats of the two sides."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.compare_job import Job, compare_in_python
from support.compared_rows import (
    INTEGERS,
    NOON,
    OTHER_TYPES,
    SAME_TYPES,
    UTC,
    Columns,
    Rows,
    rows_of,
    without_nan,
    without_null_lists,
    write,
    write_pair,
)
from support.sweeps import sweep

from onefold.batches.arguments import CompareArguments
from onefold.compare.findings import KINDS, Summary
from onefold.core.errors import InvalidInput, NotFound, Rejected
from onefold.settings.environment import Settings
from spark_jobs.compare import ended, main

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(
    ("left", "right", "columns", "key"),
    [
        (".parquet", ".parquet", {**SAME_TYPES, **OTHER_TYPES}, int),
        pytest.param(".parquet", ".parquet", {"a": (INTEGERS, INTEGERS)}, Decimal, marks=pytest.mark.long),
        pytest.param(".parquet", ".parquet", {"a": (INTEGERS, INTEGERS)}, str, marks=pytest.mark.long),
        pytest.param(".jsonl", ".jsonl", without_nan(SAME_TYPES), str, marks=pytest.mark.long),
        pytest.param(
            ".jsonl", ".parquet", without_nan({**SAME_TYPES, **OTHER_TYPES}), "{:05}".format, marks=pytest.mark.long
        ),
        pytest.param(".parquet", ".csv", without_null_lists(SAME_TYPES), "{}.0".format, marks=pytest.mark.long),
        pytest.param(".csv", ".jsonl", without_nan(without_null_lists(SAME_TYPES)), float, marks=pytest.mark.long),
        pytest.param(".csv", ".csv", SAME_TYPES, str, marks=pytest.mark.long),
    ],
)
def test_the_job_has_the_findings_of_plain_python(
    job: Job, tmp_path: Path, left: str, right: str, columns: Columns, key: Callable[[int], Any]
) -> None:
    """The keys of the right side have the type that `key` returns."""
    one, other = (
        write(tmp_path / f"left{left}", rows_of(columns, 0)),
        write(tmp_path / f"right{right}", rows_of(columns, 1, key)),
    )
    summary = job(one, other, tmp_path / "found")
    expected, found = compare_in_python(one, other, ["id"])
    assert job.found(tmp_path / "found") == found
    assert summary == expected
    assert all(expected["counts"].values())


def test_equal_inputs_give_no_finding(job: Job, tmp_path: Path) -> None:
    last: dict[str, Any] = {"id": None, "name": "é", "Tags": ["a"]}
    rows: Rows = [{"id": number, "name": None, "Tags": []} for number in range(3)]
    left = write(tmp_path / "left.parquet", [*rows, last])
    others = [{"TAGS": row["Tags"] or None, "id": row["id"], "NAME": row["name"]} for row in [last, *rows]]
    assert job(left, write(tmp_path / "right.parquet", others), tmp_path / "found")["same"]
    assert job.found(tmp_path / "found") == []


def test_columns_that_are_left_out_are_not_compared(job: Job, tmp_path: Path) -> None:
    left, right = write_pair(tmp_path, [{"id": 1, "a": 1, "old": 1}, {"id": 2}], [{"id": 1, "A": 2}, {"id": 2}])
    assert job(left, right)["columns_only"]["left"] == ["old"]
    assert job(left, right, without="a,OLD")["same"]


def test_a_base_is_compared_with_a_table_without_its_tombstones(job: Job, tmp_path: Path) -> None:
    base: Rows = [
        {"id": 1, "name": "a", "_position": "2 1", "_deleted": False},
        {"id": 2, "name": None, "_position": "2 2", "_deleted": True},
        {"id": 3, "name": "c", "_position": None, "_deleted": None},
    ]
    left, right = write_pair(tmp_path, base, [{"id": 1, "name": "a"}, {"id": 3, "name": "c"}])
    summary = job(left, right)
    assert (summary["same"], summary["rows"]) == (True, {"left": 2, "right": 2})
    assert job(left, left)["rows"] == {"left": 3, "right": 3}


@pytest.mark.long
def test_a_column_of_json_lines_without_any_value_is_a_column(job: Job, tmp_path: Path) -> None:
    left, right = write_pair(tmp_path, [{"id": 1, "a": None}, {"id": 2, "a": None}], [{"id": 1, "a": 1}, {"id": 2}])
    assert job(left, right)["columns_only"] == {"left": [], "right": []}
    assert job(right, left)["counts"]["different"] == 1


@pytest.mark.parametrize(("name", "other"), sweep([("none.jsonl", "right.jsonl"), ("none.csv", "none.jsonl")]))
def test_files_without_rows_have_the_columns_of_the_other_side(job: Job, tmp_path: Path, name: str, other: str) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path / "none.csv"):
        path.touch()
    write(tmp_path / "right.jsonl", [{"id": 1, "a": 1}])
    summary = job(tmp_path / name, tmp_path / other)
    assert summary["columns_only"] == {"left": [], "right": []}
    assert summary["counts"]["only right"] == summary["rows"]["right"]


def test_rows_are_compared_by_keys_of_several_columns(job: Job, tmp_path: Path) -> None:
    rows: Rows = [{"tenant": "a", "id": 1, "n": 1}, {"tenant": "a", "id": None, "n": 2}, {"tenant": None, "id": 1, "n": 3}]
    left, right = write_pair(tmp_path, rows, [{**row, "n": 3} for row in rows])
    job(left, right, tmp_path / "found", keys="TENANT,id")
    assert [row["key"] for row in job.found(tmp_path / "found")] == [{"TENANT": "a", "id": "1"}, {"TENANT": "a", "id": None}]


@pytest.mark.parametrize(
    ("left", "right", "keys", "problem"),
    [
        ("nowhere", "right.jsonl", "id", "there is no such file"),
        ("left.jsonl", "right.jsonl", "number", "the left side has no column number"),
        ("broken", "right.jsonl", "id", "cannot be read"),
        ("strange", "right.jsonl", "id", "files of one"),
        ("short", "right.jsonl", "id", "cannot be read"),
    ],
)
def test_inputs_that_cannot_be_compared_are_an_error_and_nothing_is_written(
    job: Job, tmp_path: Path, left: str, right: str, keys: str, problem: str
) -> None:
    write_pair(tmp_path, [{"id": 1}, {"id": 2}], [{"id": 1}, {"id": 2}])
    for name, text in (("broken/a.parquet", "{"), ("strange/a.txt", "hello"), ("short/a.csv", "id,a\n1\n")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=problem):
        job(tmp_path / left, tmp_path / right, tmp_path / "found", keys=keys)
    assert not (tmp_path / "found" / "_SUCCESS").exists()


@pytest.mark.long
def test_no_output_is_overwritten(job: Job, tmp_path: Path) -> None:
    left, right = write_pair(tmp_path, [{"id": 1}, {"id": 2}], [{"id": 1}, {"id": 3}])
    job(left, right, tmp_path / "found")
    before = job.found(tmp_path / "found")
    with pytest.raises(InvalidInput, match="exists already"):
        job(left, right, tmp_path / "found")
    assert job.found(tmp_path / "found") == before
    with pytest.raises(InvalidInput, match="name a new folder"):
        job(left, right, left)
    assert len(list(left.iterdir())) == 2


@pytest.mark.long
def test_the_output_of_a_killed_job_is_written_again(job: Job, tmp_path: Path) -> None:
    left, right = write_pair(tmp_path, [{"id": 1}, {"id": 2}], [{"id": 1}, {"id": 3}])
    job(left, right, tmp_path / "found")
    before = job.found(tmp_path / "found")
    (tmp_path / "found" / "_SUCCESS").unlink()
    job(left, right, tmp_path / "found")
    assert job.found(tmp_path / "found") == before


def test_tables_and_views_of_bigquery_are_compared_and_findings_become_a_table(
    job: Job, tmp_path: Path, dataset: EmulatedDataset
) -> None:
    columns = {"id": "INT64", "name": "STRING", "price": "BIGNUMERIC", "seen": "TIMESTAMP", "note": "JSON"}
    at = "TIMESTAMP '2024-01-01 12:00:00+00'"
    dataset.land("base", columns, f"1, 'Zoë', BIGNUMERIC '1.10', {at}, JSON '{{}}'", "2, NULL, NULL, NULL, NULL")
    dataset.run(f"CREATE VIEW {dataset.quoted('people')} AS SELECT id, name, price, seen FROM {dataset.quoted('base')}")
    rows: Rows = [
        {"id": 1, "name": "Zoe", "price": Decimal("1.1"), "seen": NOON.replace(microsecond=0, tzinfo=UTC)},
        {"id": 3, "name": None, "price": None, "seen": None},
    ]
    source = write(tmp_path / "source.parquet", rows)
    output = f"bigquery:{dataset.name}.found"
    assert job(f"bigquery:{dataset.name}.people", source, output)["counts"]["different"] == 1
    assert sorted(dataset.rows("found"), key=str) == [
        ("different", '{"id":"1"}', "name", "Zoë", "Zoe"),
        ("only left", '{"id":"2"}', None, None, None),
        ("only right", '{"id":"3"}', None, None, None),
    ]
    assert dataset.client.get_table(f"{dataset.name}.found").expires is None
    assert {table.table_id for table in dataset.client.list_tables(dataset.name)} == {"base", "people", "found"}
    with pytest.raises(Rejected, match="exists already"):
        job(f"bigquery:{dataset.name}.people", source, output)


def test_a_table_equals_itself_and_a_missing_table_is_an_error(job: Job, dataset: EmulatedDataset) -> None:
    dataset.land(
        "base", {"id": "INT64", "noon": "TIME", "note": "JSON"}, "1, TIME '12:00:00', JSON '{\"a\": 1}'", "2, NULL, NULL"
    )
    table = f"bigquery:{dataset.name}.base"
    assert job(table, table)["same"]
    with pytest.raises(NotFound, match="there is no table or view"):
        job(table, f"bigquery:{dataset.name}.nothing")


@pytest.mark.usefixtures("job")
def test_the_exit_code_is_2_if_inputs_differ_and_the_job_prints_one_line_of_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left, right = write_pair(tmp_path, [{"id": 1}, {"id": 2}], [{"id": 1}, {"id": 3}])
    assert main(["--left", str(left), "--right", str(left), "--keys", "id"]) == 0
    assert json.loads(capsys.readouterr().out)["same"]
    assert main(["--left", str(left), "--right", str(right), "--keys", "id"]) == 2
    printed = json.loads(capsys.readouterr().out)
    assert printed["counts"] == {"only left": 1, "only right": 1, "repeated left": 0, "repeated right": 0, "different": 0}
    assert main(["--left", str(left), "--right", str(right)]) == 1
    assert "--keys" in capsys.readouterr().err


@pytest.mark.usefixtures("job")
def test_a_current_view_that_is_named_beside_its_table_is_read_where_it_is(
    dataset: EmulatedDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEFOLD_VIEW_DATASET", "views_of_{dataset}")
    dataset.client.create_dataset(f"views_of_{dataset.name}")
    dataset.run(f"CREATE VIEW `views_of_{dataset.name}.orders_current` AS SELECT 1 AS id")
    source = write(tmp_path / "source.parquet", [{"id": 1}])
    assert main([f"--left=bigquery:{dataset.name}.orders_current", f"--right={source}", "--keys=id"]) == 0
    assert json.loads(capsys.readouterr().out)["same"]


FILES = ("--left=left.jsonl", "--right=right.jsonl", "--keys=id")


@pytest.mark.parametrize(
    ("differences", "same", "code", "lines"), [(None, False, 2, 0), ("log", False, 0, 1), ("log", True, 0, 0)]
)
def test_the_settings_may_ask_for_differences_in_the_log_instead_of_a_failure(
    capsys: pytest.CaptureFixture[str], differences: str | None, same: bool, code: int, lines: int
) -> None:
    summary = Summary((1, 1), ((), ()), dict.fromkeys(KINDS, 0 if same else 1))
    assert ended(summary, CompareArguments.parse(FILES), Settings(differences=differences)) == code
    lines_of_json = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["severity"], line["event"], line["left"]) for line in lines_of_json] == [
        ("CRITICAL", "differences_found", "left.jsonl")
    ] * lines
