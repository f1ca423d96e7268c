"""Queries of people in the embedded BigQuery."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset

from onefold.local.query import main


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_says_how_to_run_a_query(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    assert 'python -m onefold.local.query "SELECT ..."' in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["--unknown"], ["SELECT 1", "SELECT 2"]])
def test_anything_but_a_query_is_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert capsys.readouterr().err.startswith("usage: ")


@pytest.mark.usefixtures("dataset")
def test_query_may_begin_with_a_comment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-- the answer\nSELECT 42 AS answer"]) == 0
    assert "42" in capsys.readouterr().out


def test_rows_are_shown_with_the_names_of_their_columns(
    dataset: EmulatedDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset.land("t", {"id": "INT64", "name": "STRING"}, "1, NULL")
    assert main([f"SELECT * FROM {dataset.quoted('t')}"]) == 0
    shown = capsys.readouterr().out
    assert [word in shown for word in ("id", "name", "NULL")] == [True] * 3


@pytest.mark.process
@pytest.mark.parametrize("words", [["query", "SELECT 1"], ["load_workload", "work", "shop", "account"]])
def test_a_stack_that_was_stopped_is_an_error_at_once(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", f"onefold.local.{words[0]}", *words[1:]]
    environ = {**os.environ, "BIGQUERY_EMULATOR_HOST": "127.0.0.1:9"}
    # The client alone would repeat the request for ten minutes.
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout, "no answer from 127.0.0.1:9" in done.stderr) == (1, "", True), done.stderr
