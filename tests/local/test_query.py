"""Queries of people in the embedded BigQuery."""

from __future__ import annotations

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
