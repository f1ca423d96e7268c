"""`onefold audit --source`: tables of a dataset beside the real server that they were copied from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change, land_changes
from support.cli import Run
from support.source_database import SourceDatabase

COLUMNS = {"id": "INT64", "name": "STRING", "price": "NUMERIC", "born": "DATE"}


@pytest.fixture
def url(source: SourceDatabase, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "")
    source.run(
        "CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(8,2), born DATE, shape GEOMETRY)",
        "INSERT INTO orders VALUES (1, 'Zo\u00eb', 1.10, '0001-01-01', NULL), (2, 'b', 2, NULL, NULL)",
        "INSERT INTO orders VALUES (3, 'c', 3, NULL, NULL)",
        "CREATE TABLE loose (note VARCHAR(9))",
    )
    return f"mysql://root@127.0.0.1:{source.server.port}/{source.name}"


@pytest.fixture
def copied(dataset: EmulatedDataset) -> EmulatedDataset:
    rows = [
        change("INSERT", "1", id=1, name="Zo\u00eb", price="1.1", born="0001-01-01"),
        change("INSERT", "2", id=2, name="other", price="2"),
        change("INSERT", "3", id=4, name="gone", price="4"),
        change("INSERT", "4", id=5, name="deleted", price="5"),
        change("DELETE", "5", id=5),
    ]
    land_changes(dataset, "orders", COLUMNS, rows)
    land_changes(dataset, "elsewhere", COLUMNS, rows[:1])
    return dataset


def differences(results: list[Any], table: str) -> dict[str, Any]:
    (found,) = (one["findings"] for one in results if one["table"].endswith(f".{table}"))
    return {one["check"]: one for one in found if one["check"] in ("not in the source", "missing rows", "other values")}


def test_rows_that_differ_are_findings_with_a_query_of_their_changes(run: Run, copied: EmulatedDataset, url: str) -> None:
    done = run("audit", copied.name, "--source", url, "--json")
    assert done.code == 2, done.err
    found = differences(done.results, "orders")
    assert {check: one["count"] for check, one in found.items()} == {
        "not in the source": 1, "missing rows": 1, "other values": 1,
    }  # fmt: skip
    assert found["other values"]["text"] == "rows differ from the source, in name: 1"
    assert [row[0] for row in copied.run(found["not in the source"]["query"])] == [4]
    assert [row[1] for row in copied.run(found["other values"]["query"])] == ["other"]
    assert copied.run(found["missing rows"]["query"]) == []
    (elsewhere,) = (one["findings"] for one in done.results if one["table"].endswith(".elsewhere"))
    assert "not compared with the source: the database has no table of this name" in str(elsewhere)


def test_a_copy_that_equals_the_source_has_no_such_finding(
    run: Run, copied: EmulatedDataset, source: SourceDatabase, url: str
) -> None:
    source.run("DELETE FROM orders WHERE id IN (2, 3)", "INSERT INTO orders VALUES (2, 'other', 2, NULL, NULL)")
    source.run("INSERT INTO orders VALUES (4, 'gone', 4, NULL, NULL)")
    assert differences(run("audit", f"{copied.name}.orders", "--source", url, "--json").results, "orders") == {}


def report(run: Run, copied: EmulatedDataset, url: str) -> str:
    return run("audit", f"{copied.name}.orders", "--source", url).out


def test_columns_of_the_source_that_are_not_compared_are_a_finding(
    run: Run, copied: EmulatedDataset, source: SourceDatabase, url: str
) -> None:
    source.run("ALTER TABLE orders ADD name2 VARCHAR(9), MODIFY born BLOB")
    assert (
        "columns were left out: born (DATE here, BYTES there), shape (not in the table), name2 (not in the table)"
        in report(run, copied, url)
    )


def test_of_too_many_rows_none_are_compared(
    run: Run, copied: EmulatedDataset, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onefold.check.against_source.MOST_ROWS", 2)
    shown = report(run, copied, url)
    assert "at most 2 rows are compared, and it has more" in shown
    assert "other values" not in shown


def test_a_dry_run_counts_the_query_of_the_comparison(run: Run, copied: EmulatedDataset, url: str) -> None:
    done = run("audit", f"{copied.name}.orders", "--source", url, "--dry-run")
    assert (done.code, "in 2 queries, of 1 table" in done.err) == (0, True), done.err


def test_a_draft_has_the_keys_of_the_source(run: Run, copied: EmulatedDataset, url: str, tmp_path: Path) -> None:
    assert run("discover", copied.name, "--source", url, "--output", tmp_path / "new.yaml").code == 0
    text = (tmp_path / "new.yaml").read_text()
    assert f'"{copied.name}.orders":\n    keys: ["id"]' in text
    assert f'# "{copied.name}.elsewhere":\n  #   keys: [COLUMN]' in text


@pytest.mark.usefixtures("url")
@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("mysql://root@{}/no_such", "the user sees no table of no_such"),
        ("mysql://root@{}", "--source names no database"),
        ("mysql://root@{}x/a", "--source is not the URL of a database"),
    ],
)
def test_a_source_that_cannot_be_read_is_an_error(
    run: Run, copied: EmulatedDataset, source: SourceDatabase, wrong: str, problem: str
) -> None:
    done = run("audit", copied.name, "--source", wrong.format(f"127.0.0.1:{source.server.port}"))
    assert done.code == 1
    assert problem in " ".join(done.err.split())


def test_a_server_that_does_not_answer_is_an_error(
    run: Run, copied: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "")
    done = run("discover", copied.name, "--source", "mysql://root@127.0.0.1:1/shop")
    assert (done.code, "the source cannot be read" in " ".join(done.err.split())) == (1, True)
