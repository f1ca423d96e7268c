"""The command `workload`: files with a known truth, and operations on a real server."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.cli import Run
from support.source_database import SourceDatabase

from onefold.changelog.generator_values import TYPES
from onefold.changelog.metadata import METADATA
from onefold.compare.files import read_rows


@pytest.fixture
def url(source: SourceDatabase, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database of a real server, whose user has no password."""
    monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "")
    return f"mysql://root@127.0.0.1:{source.server.port}/{source.name}"


def keys_in(folder: Path) -> list[int]:
    return [row["id"] for row in read_rows(folder / "truth.jsonl")]


def test_a_workload_on_a_source_writes_the_truth_down(run: Run, tmp_path: Path, source: SourceDatabase, url: str) -> None:
    arguments = ["workload", "--source", url, "--mix", "40,40,20", "--few-columns", "--out", tmp_path / "work"]
    done = run(*arguments, "--operations", 60, "--rate", 2000)
    assert re.match(rf"{source.name}.account: \d+ inserts, .* seconds; .* rows at the end, in ", " ".join(done.out.split()))
    assert source.rows("SELECT id FROM account ORDER BY id") == [(key,) for key in keys_in(tmp_path / "work")]
    again = run(*arguments, "--operations", 40, "--continue", "--json").result
    assert sum(again["operations"].values()) == 40
    assert source.rows("SELECT id FROM account ORDER BY id") == [(key,) for key in keys_in(tmp_path / "work")]
    assert "go on by --continue" in run(*arguments).err


def test_a_table_that_exists_is_not_written(run: Run, tmp_path: Path, source: SourceDatabase, url: str) -> None:
    source.run("CREATE TABLE account (id INT PRIMARY KEY, email TEXT)", "INSERT INTO account VALUES (1, 'a')")
    refused = run("workload", "--source", url, "--out", tmp_path / "work")
    assert (refused.code, "account exists already" in refused.err, "by --table" in refused.err) == (1, True, True)
    (tmp_path / "work" / "truth.jsonl").write_text('{"id": 1}\n')
    unknown = run("workload", "--source", url, "--out", tmp_path / "work", "--continue")
    assert (unknown.code, "not made by a workload" in unknown.err) == (1, True)
    assert source.rows("SELECT * FROM account") == [(1, "a")]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--source", "mysql://u@h/d", "--shuffle", "--format", "parquet"], "--source has no use for --shuffle, --format"),
        (["--rate", "5", "--continue"], "Without --source there is no use for --rate, --continue"),
        (["--source", "mysql://u:hush@h/d"], "contains a password"),
        (["--source", "mysql://u@h"], "names no database"),
        (["--source", "mysql://u@h/d", "--rate", "0", "--mix", "1,2,3"], "a rate above 0"),
        (["--source", "mysql://u@h/d", "--continue"], "name the folder of the last run"),
        (["--source", "mysql://u@127.0.0.1:1/d"], "correct --source"),
    ],
)
def test_what_does_not_go_together_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], problem: str
) -> None:
    monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "")
    refused = run("workload", *arguments, "--out", tmp_path / "new")
    assert (refused.code, problem in " ".join(refused.err.split())) == (1, True), refused.err
    assert "hush" not in refused.err


def test_workload_writes_the_changes_the_base_and_the_truth(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "made"
    outcome = run(
        "workload", "--operations", 50, "--mix", "60,20,20", "--versions", 2, "--few-columns", "--out", out, "--json"
    )
    assert outcome.code == 0
    lines = {path.relative_to(out).as_posix(): path.read_text().splitlines() for path in out.rglob("*.jsonl")}
    assert sorted(lines) == ["base.jsonl", "changes/a000.jsonl", "changes/a001.jsonl", "truth.jsonl"]
    assert outcome.result["truth"] == len(lines["truth.jsonl"])
    assert sum(outcome.result["changes"].values()) == 50
    assert set(json.loads(lines["changes/a001.jsonl"][0])) == {"id", "name", "amount", "added_1", "datastream_metadata"}


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_workload_writes_a_column_of_every_type_in_either_format(run: Run, tmp_path: Path, form: str) -> None:
    out = tmp_path / "made"
    assert run("workload", "--operations", 40, "--format", form, "--out", out).code == 0
    rows = list(read_rows(out / "changes"))
    assert [set(row) for row in rows] == [{"id", "name", "amount", *TYPES, METADATA}] * 40
    assert json.loads((out / "types.json").read_text()).items() >= TYPES.items()


def test_workload_prints_counts_in_the_width_of_the_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    outcome = run("workload", "--operations", 1000, "--seed", 7, "--duplicates", 0.1, "--few-columns", "--out", "made")
    assert max(map(len, outcome.out.splitlines())) <= 80
    expected = "made: 1,112 changes of 425 inserts, 374 updates, 201 deletes; 107 rows in the base, 224 at the end"
    assert outcome.out.split() == expected.split()
    one = run("workload", "--operations", 1, "--out", "one").out
    assert one == "one: 1 change of 1 insert; 0 rows in the base, 1 at the end\n"


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_help_of_workload_names_the_files_that_it_writes(run: Run, tmp_path: Path, form: str) -> None:
    text = " ".join(run("workload", "--help").out.split())
    named = {name.replace(".jsonl", f".{form}") for name in re.findall(r"DIR/([\w/]+\.\w+)", text)}
    assert run("workload", "--operations", 5, "--format", form, "--out", tmp_path / "made").code == 0
    files = (path.relative_to(tmp_path / "made") for path in (tmp_path / "made").rglob("*") if path.is_file())
    assert named == {str(file.with_stem("VERSION") if file.parent.name == "changes" else file) for file in files}


def test_workload_refuses_a_folder_that_is_not_empty(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    outcome = run("workload", "--out", tmp_path)
    assert outcome.code == 1
    assert "not empty" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_workload_refuses_invalid_options(run: Run, tmp_path: Path) -> None:
    assert "three whole numbers" in run("workload", "--mix", "1,2", "--out", tmp_path / "new").err
    outcome = run("workload", "--mix", "1,2,3", "--key-changes", 2, "--out", tmp_path / "new")
    assert outcome.code == 1
    assert "the mix (1, 2, 3)" in outcome.err
    assert "key changes must be from 0 to 1" in outcome.err
    assert not (tmp_path / "new").exists()
