"""The arguments of the Spark jobs, whoever gives them."""

from __future__ import annotations

import pytest

from onefold.batches.arguments import UNAVAILABLE_VALUE, CompareArguments, ReconcileArguments
from onefold.batches.request import command_line
from onefold.core.errors import InvalidInput

FILES = ["--changes", "changes", "--output", "out", "--keys", "id"]


def test_keys_are_one_whatever_their_case_and_keep_their_order() -> None:
    assert ReconcileArguments.parse([*FILES, "--keys=b, a,B"]).keys == ("b", "a")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "required: --changes"),
        (["--changes", "c", "bigquery:shop.a", "--output", "o"], "--keys: name the columns that identify a row; only"),
        ([*FILES, "--keys=a,,b"], "name columns, separated by commas"),
        ([*FILES, "--keys=--"], "--keys: -- is no value"),
        ([*FILES, "--format=--"], "--format: -- is no value"),
        ([*FILES, "--changes", "--", "x"], "-- is no value"),
        ([*FILES, "--base", "out/"], "--output must not be the base"),
        ([*FILES, "--position", "m"], "with --format modify_time and only with it"),
        ([*FILES, "--format", "modify_time"], "--position names the column"),
        ([*FILES, "--from", "2024-13-01"], "'2024-13-01' is no time"),
        ([*FILES, "--from", "2024-01-01", "--to", "FF"], "both be times of landing, or both be sequences"),
        ([*FILES, "--changes", "part[1]"], "name one folder; Spark would read"),
        ([*FILES, "--changes", "s3://bucket/folder"], "name bigquery:dataset.table, gs://bucket/folder"),
        ([*FILES, "--base", "bigquery:shop.customer_base"], "a base in BigQuery is merged into, and takes no output"),
        ([*FILES, "--output", "bigquery:shop.customer"], "--output: name a folder"),
        (["--changes", "c", "--keys", "id"], "--output: name a new folder for the new base, or a --base in BigQuery"),
        (["--changes", "bigquery:customer", "--keys", "id", "--output", "o"], "name a table as bigquery:dataset.table"),
        (["--changes", "bigquery:shop.`x`", "--keys", "id", "--output", "o"], "is not a valid name"),
        (
            ["--changes", "bigquery:shop.a", "--base", "bigquery:shop.a_base", "--keys=id", "--mode=rebuild", "--to=F"],
            "of the whole history: leave out --from and --to",
        ),
    ],
)
def test_wrong_arguments_are_reported(words: list[str], problem: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        ReconcileArguments.parse(words)
    assert problem in str(raised.value)


def test_all_problems_are_in_one_error() -> None:
    with pytest.raises(InvalidInput) as raised:
        CompareArguments.parse(["--left", "bigquery:a", "--right", "x*", "--keys", ","])
    assert len(raised.value.problems) == 3


def test_the_arguments_of_a_message_become_words() -> None:
    found = command_line({"keys": ["a", "b"], "changes": ["x", "y"], "from": "-1"})
    assert found == ["--keys=a,b", "--changes", "x", "y", "--from=-1"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--from", "yesterday"], "'yesterday' is neither a time of landing"),
        (["--from", "9", "--to", "5"], "nothing is from 9 to 5"),
        (["--from", "2024-05-02", "--to", "2024-05-01"], "--to has to come after --from"),
    ],
)
def test_a_window_that_cannot_be_meant_is_refused(words: list[str], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        ReconcileArguments.parse([*FILES, *words])


def test_a_window_says_how_it_was_understood() -> None:
    assert ReconcileArguments.parse(FILES).window == ""
    assert ReconcileArguments.parse([*FILES, "--from", "9", "--to", "A"]).window == "sequences from 9 to A"
    assert ReconcileArguments.parse([*FILES, "--to", "2024-05-01"]).window == "landed to 2024-05-01 00:00:00+00:00"


@pytest.mark.parametrize(("start", "end"), [("-10", "-5"), ("a1", "b"), ("north", "south"), ("9", "10")])
def test_a_window_of_values_is_in_the_order_of_their_column(start: str, end: str) -> None:
    """Which is known with its type: `a1` is below `b` as text, and above it as a sequence."""
    found = ReconcileArguments.parse([*FILES, "--format=modify_time", "--position=m", f"--from={start}", f"--to={end}"])
    assert found.window == f"values of m from {start} to {end}"


def test_an_option_that_is_repeated_adds_values() -> None:
    words = ["--changes", "a", "b", "--changes", "c", "--output", "out", "--keys", "id"]
    assert [uri.text for uri in ReconcileArguments.parse(words).changes] == ["a", "b", "c"]


def test_a_placeholder_is_refused_with_another_format_even_if_it_is_debeziums_own() -> None:
    with pytest.raises(InvalidInput, match="--unavailable-value: expected a text with --format debezium"):
        ReconcileArguments.parse([*FILES, f"--unavailable-value={UNAVAILABLE_VALUE}"])
    assert ReconcileArguments.parse(FILES).unavailable == UNAVAILABLE_VALUE


def test_problems_of_values_and_between_values_are_in_one_error() -> None:
    with pytest.raises(InvalidInput) as raised:
        ReconcileArguments.parse(["--changes", "part[1]", "--from", "2024-13-01", "--position", "m", "--output", "out"])
    assert len(raised.value.problems) == 4
