"""A failed comparison of rows shows a table of the rows that differ."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
from google.cloud.bigquery.table import Row as BigQueryRow
from pyspark.sql import Row as SparkRow
from support.row_table import MAX_CHARS, MAX_ROWS, pytest_assertrepr_compare

ROOT = Path(__file__).parents[2]
Shoe = namedtuple("Shoe", ["id", "size"])


def shown(got: object, expected: object) -> list[str]:
    lines = pytest_assertrepr_compare("==", got, expected)
    assert lines is not None
    return lines


def test_only_cells_that_differ_are_shown_with_the_key_of_their_row() -> None:
    expected = [{"id": 1, "size": 40, "name": "a"}, {"id": 2, "size": 41, "name": "b"}, {"id": 3, "size": 42, "name": "c"}]
    got = [expected[2], {"id": 2, "size": 14, "name": None}, expected[0]]
    assert shown(got, expected) == [
        "3 rows == 3 rows: 1 differ, 0 missing, 0 not expected",
        "row   column  expected  got",
        "id=2  size    41        14",
        "id=2  name    'b'       None",
    ]


def test_rows_that_one_side_lacks_are_shown_whole() -> None:
    assert shown([{"id": 1}, {"id": 3}], [{"id": 1}, {"id": 2}]) == [
        "2 rows == 2 rows: 0 differ, 1 missing, 1 not expected",
        "row   column  expected   got",
        "id=2          {'id': 2}  no row",
        "id=3          no row     {'id': 3}",
    ]


def test_a_row_that_is_there_twice_is_not_expected_the_second_time() -> None:
    assert shown([(1, "a"), (1, "a")], [(1, "a")])[2:] == ["0=1 (2)          no row    {'0': 1, '1': 'a'}"]


def test_a_column_that_one_side_lacks_is_named() -> None:
    assert shown([{"id": 1}], [{"id": 1, "size": 40}])[2:] == ["id=1  size    40        no column"]


def test_rows_without_a_column_that_tells_them_apart_are_found_by_their_places() -> None:
    assert shown([(1, "a"), (1, "c")], [(1, "a"), (1, "a")])[2:] == ["[1]  1       'a'       'c'"]


def test_the_first_column_that_tells_rows_apart_is_the_key() -> None:
    assert shown([(0, "a", 1), (0, "b", 3)], [(0, "a", 1), (0, "b", 2)])[2:] == ["1='b'  2       2         3"]


def test_rows_in_another_order_are_named_in_both_orders() -> None:
    assert shown([(2, "b"), (1, "a")], [(1, "a"), (2, "b")])[1:] == [
        "the rows are the same, in another order:",
        "expected 0=1, 0=2",
        "got      0=2, 0=1",
    ]


def test_at_most_20_rows_are_shown() -> None:
    lines = shown([(number, 1) for number in range(25)], [(number, 2) for number in range(25)])
    assert len(lines) == 2 + MAX_ROWS + 1
    assert lines[-1] == "and 5 more rows that differ"


def test_a_long_value_is_cut_around_the_place_that_differs() -> None:
    row = shown([{"id": 1, "text": "x" * 500 + "a" + "y" * 500}], [{"id": 1, "text": "x" * 500 + "b" + "y" * 500}])[2]
    _, _, expected, got = row.split()
    assert (expected.strip("…xy"), got.strip("…xy"), len(got)) == ("b", "a", MAX_CHARS + 2)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ([Shoe(1, 2)], [Shoe(1, 3)]),
        ([SparkRow(id=1, size=2)], [SparkRow(id=1, size=3)]),
        ([BigQueryRow((1, 2), {"id": 0, "size": 1})], [BigQueryRow((1, 3), {"id": 0, "size": 1})]),
    ],
    ids=["named tuples", "Spark", "BigQuery"],
)
def test_rows_of_every_library_show_the_names_of_their_columns(got: object, expected: object) -> None:
    assert shown(got, expected)[2:] == ["id=1  size    3         2"]


def test_a_dict_of_rows_is_compared_by_its_keys() -> None:
    assert shown({"a": {"n": 1}}, {"a": {"n": 2}})[2:] == ["'a'  n       2         1"]


@pytest.mark.parametrize(
    ("op", "got", "expected"),
    [
        ("!=", [(1,)], [(2,)]),
        ("==", [(1,)], []),
        ("==", [1], [2]),
        ("==", "a", "b"),
        ("==", [dict], [list]),
        ("==", [(1,), None], [(1,), (2,)]),
        ("==", (1, 2), (1, 3)),
        ("==", Shoe(1, (2,)), Shoe(1, (3,))),
        ("==", {"a": 1}, {"a": 2}),
    ],
)
def test_what_are_no_rows_is_left_to_pytest(op: str, got: object, expected: object) -> None:
    assert pytest_assertrepr_compare(op, got, expected) is None


def test_the_whole_table_is_in_the_output_of_a_failed_test(tmp_path: Path) -> None:
    test = "def test_rows():\n    assert [(n, 1) for n in range(30)] == [(n, 2) for n in range(30)]\n"
    (tmp_path / "test_rows.py").write_text(test)
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "support.row_table"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_rows.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "30 differ" in done.stdout
    assert "0=19  1       2         1" in done.stdout
    assert "and 10 more rows that differ" in done.stdout
