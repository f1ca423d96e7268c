"""Queries of people in the embedded BigQuery."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.sweeps import sweep


@pytest.mark.parametrize("arguments", [[], ["SELECT 1", "SELECT 2"]])
def test_anything_but_one_query_is_wrong_usage(arguments: list[str], run: Run) -> None:
    outcome = run("local", "query", *arguments)
    assert (outcome.code, outcome.err.startswith("Usage: onefold local query")) == (1, True)


@pytest.mark.usefixtures("dataset")
def test_query_may_begin_with_a_comment(run: Run) -> None:
    assert "42" in run("local", "query", "-- the answer\nSELECT 42 AS answer").out


def test_rows_are_shown_with_the_names_of_their_columns(dataset: EmulatedDataset, run: Run) -> None:
    dataset.land("t", {"id": "INT64", "name": "STRING"}, "1, NULL")
    shown = run("local", "query", f"SELECT * FROM {dataset.quoted('t')}").out
    assert [word in shown for word in ("id", "name", "NULL")] == [True] * 3


def test_text_of_a_row_is_shown_as_it_is_and_a_missing_table_is_an_error(dataset: EmulatedDataset, run: Run) -> None:
    assert "[bold]x" in run("local", "query", "SELECT '[bold]x' AS text").out
    outcome = run("local", "query", f"SELECT * FROM {dataset.name}.missing")
    assert (outcome.code, "missing" in outcome.err) == (1, True)


def test_a_query_without_the_stack_is_an_error_that_says_how_to_start_it(
    monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path
) -> None:
    monkeypatch.delenv("BIGQUERY_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    outcome = run("local", "query", "SELECT 1")
    assert (outcome.code, "no stack runs: start one with `onefold local start`" in outcome.err) == (1, True)


def test_only_a_select_runs_unless_writes_are_allowed(dataset: EmulatedDataset, run: Run) -> None:
    statement = f"CREATE TABLE {dataset.quoted('t')} AS SELECT 1 AS id"
    refused = run("local", "query", statement)
    assert (refused.code, refused.out) == (1, "")
    assert "got CREATE TABLE AS SELECT: nothing was run. Other statements need --allow-write" in refused.err
    assert "t" not in [table.table_id for table in dataset.client.list_tables(dataset.name)]
    assert run("local", "query", statement, "--allow-write").code == 0
    assert run("local", "query", f"SELECT * FROM {dataset.quoted('t')}", "--csv").out == "id\n1\n"


@pytest.mark.process
@pytest.mark.parametrize("words", sweep([["query", "SELECT 1"], ["load", ".", "shop", "account"]]))
def test_a_stack_that_was_stopped_is_an_error_at_once(words: list[str], tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("onefold")), "local", *words]
    environ = {**os.environ, "BIGQUERY_EMULATOR_HOST": "127.0.0.1:9"}
    # The client alone would repeat the request for ten minutes.
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, "no answer from 127.0.0.1:9" in done.stderr) == (1, "", True), done.stderr
