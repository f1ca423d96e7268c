"""Rows from files of each format, files that are refused, and files of findings."""

from __future__ import annotations

import csv
import datetime
import gzip
import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pyarrow import Table, array, parquet, timestamp

from onefold.compare.files import NULL, check_new_file, format_of, open_rows, read_rows, row_files, write_findings
from onefold.compare.findings import Finding
from onefold.core.errors import InvalidInput

FINDINGS = (
    Finding("only left", {"id": "1", "name": None}),
    Finding("different", {"id": "2", "name": "é"}, "price", None, ""),
)


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.parquet", ".parquet"),
        ("a.jsonl", ".jsonl"),
        ("a.json", ".jsonl"),
        ("a.ndjson.gz", ".jsonl"),
        ("a.csv.gz", ".csv"),
        ("a.csv.bak", ".bak"),
        ("a.gz", ""),
        ("csv", ""),
    ],
)
def test_the_format_of_a_file_follows_from_its_name(name: str, expected: str) -> None:
    assert format_of(name) == expected


# JSON lines.


def test_numbers_of_json_are_exact(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"a": 0.1000000000000000055, "b": 9007199254740993, "c": [1e-7]}')
    assert list(read_rows(path)) == [{"a": Decimal("0.1000000000000000055"), "b": 9007199254740993, "c": [Decimal("1e-7")]}]


def test_blank_lines_and_null_are_not_rows_of_json(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", '\n{"a": null}\r\n null \n   \n{"a": "x"}')
    assert list(read_rows(path)) == [{"a": None}, {"a": "x"}]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"a": 1}\n{"a": 1} x', "line 2: not JSON: Extra data, at character 10"),
        ('\n\n["a"]', "line 3: not a JSON object"),
        ("1", "line 1: not a JSON object"),
        (b'{"a": "\xff"}', "line 1: not JSON: 'utf-8' codec"),
        ("[" * 100_000, "line 1: not JSON: maximum recursion"),
    ],
)
def test_a_line_that_is_not_a_json_object_is_refused_by_its_number(
    tmp_path: Path, content: str | bytes, problem: str
) -> None:
    path = write(tmp_path / "a.jsonl", content)
    with pytest.raises(InvalidInput) as caught:
        list(read_rows(path))
    assert str(caught.value).startswith(f"{path}, {problem}")


# CSV.


def test_empty_values_and_those_of_mysql_are_null_in_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,name,text\n1,,"\\N"\n2,\\N," "\n3,NULL,"a\n""b"""\n')
    assert list(read_rows(path)) == [
        {"id": "1", "name": None, "text": None},
        {"id": "2", "name": None, "text": " "},
        {"id": "3", "name": "NULL", "text": 'a\n"b"'},
    ]


def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path: Path) -> None:
    assert list(read_rows(write(tmp_path / "a.csv", b"\xef\xbb\xbfid\n1\n"))) == [{"id": "1"}]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("id,name\n1,a\n2\n", ", row 3: it has not as many values"),
        ("id,name\n1,a,b\n", ", row 2: it has not as many values"),
        ('id\n"a"b\n', r", line \d+: not CSV in UTF-8: .*expected"),
        (b"id\n\xff\n", r", line \d+: not CSV in UTF-8: 'utf-8' codec"),
        ("id,a,ID,A\n", ": more than one column is named id"),
    ],
)
def test_csv_that_is_invalid_is_refused(tmp_path: Path, content: str | bytes, problem: str) -> None:
    path = write(tmp_path / "a.csv", content)
    with pytest.raises(InvalidInput, match=f"^{re.escape(str(path))}{problem}"):
        list(read_rows(path))


# Parquet, folders and compression.


def test_values_of_parquet_keep_their_types(tmp_path: Path) -> None:
    row = {"id": 1, "at": datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), "price": Decimal("1.50"), "tags": ["a", None]}
    parquet.write_table(Table.from_pylist([row]), tmp_path / "a.parquet")
    assert list(read_rows(tmp_path / "a.parquet")) == [row]


def test_parquet_that_python_cannot_hold_is_refused(tmp_path: Path) -> None:
    parquet.write_table(Table.from_pydict({"at": array([1], timestamp("ns"))}), tmp_path / "time.parquet")
    for path in (tmp_path / "time.parquet", write(tmp_path / "text.parquet", "hello")):
        with pytest.raises(InvalidInput, match="not Parquet that can be read"):
            list(read_rows(path))


def test_compressed_text_is_read_and_broken_compression_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b'{"id": 1}\n' * 1_000)
    assert len(list(read_rows(write(tmp_path / "a.jsonl.gz", whole)))) == 1_000
    for broken in (b"hello", whole[: len(whole) // 2], whole[:20] + b"\xff" * 20 + whole[40:]):
        with pytest.raises(InvalidInput, match=r"b\.jsonl\.gz cannot be read"):
            list(read_rows(write(tmp_path / "b.jsonl.gz", broken)))


def test_a_folder_is_read_by_name_without_what_spark_writes_beside_the_data(tmp_path: Path) -> None:
    for number, name in enumerate(("b/1.csv", "a.csv", "_SUCCESS", ".a.csv.crc", "_temporary/0/a.csv", "b/.hidden/a.csv")):
        write(tmp_path / name, f"id\n{number}\n")
    assert [path.name for path in row_files(tmp_path)] == ["a.csv", "1.csv"]
    source = open_rows(tmp_path)
    assert (list(source.rows), source.format) == ([{"id": "1"}, {"id": "0"}], ".csv")


@pytest.mark.parametrize(
    ("names", "found"),
    [((), "none"), (("a.csv", "a.jsonl"), ".csv, .jsonl"), (("a.txt",), ".txt"), (("README",), "README")],
)
def test_a_folder_without_files_of_one_format_is_refused(tmp_path: Path, names: tuple[str, ...], found: str) -> None:
    for name in names:
        write(tmp_path / name, "id\n")
    with pytest.raises(InvalidInput, match=f"expected files of one kind of .*, got {found}: name files of one kind$"):
        row_files(tmp_path)


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no such file or folder"):
        row_files(tmp_path / "nowhere")


# Findings.


def test_findings_are_written_as_json_lines_without_the_columns_that_a_kind_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_findings(path, FINDINGS)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"kind": "only left", "key": {"id": "1", "name": None}},
        {"kind": "different", "key": {"id": "2", "name": "é"}, "column": "price", "left": None, "right": ""},
    ]


def test_findings_in_csv_tell_null_from_empty_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_findings(path, FINDINGS)
    with path.open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["kind", "key", "column", "left", "right"],
            ["only left", '{"id":"1","name":null}', NULL, NULL, NULL],
            ["different", '{"id":"2","name":"é"}', "price", NULL, ""],
        ]


def test_findings_in_parquet_are_text_columns_even_without_a_row(tmp_path: Path) -> None:
    write_findings(tmp_path / "a.parquet", FINDINGS)
    write_findings(tmp_path / "none.parquet", ())
    found = parquet.read_table(tmp_path / "a.parquet")
    assert found.to_pylist() == [finding.as_row() for finding in FINDINGS]
    assert parquet.read_table(tmp_path / "none.parquet").schema == found.schema
    assert {str(type_) for type_ in found.schema.types} == {"string"}


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_an_error_in_the_midst_of_findings_leaves_no_file(tmp_path: Path, suffix: str) -> None:
    def broken() -> Iterator[Finding]:
        yield FINDINGS[0]
        raise RuntimeError("the other side has gone")

    with pytest.raises(RuntimeError):
        write_findings(tmp_path / f"a{suffix}", broken())
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "mine")
    attempts: list[Callable[[], None]] = [lambda: check_new_file(path), lambda: write_findings(path, FINDINGS)]
    for attempt in attempts:
        with pytest.raises(InvalidInput, match=r"a\.csv: it exists already, and nothing is overwritten"):
            attempt()
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "problem"), [("a.txt", "a file that ends in .jsonl, .csv, .parquet"), ("nowhere/a.csv", "there is no folder")]
)
def test_a_file_that_cannot_be_written_is_refused_before_any_row_is_read(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        check_new_file(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
