"""Mistyped names of sources, databases, models and jobs: the error has the near name, before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.batches import ENVIRON
from support.cli import Run
from support.registries import folder_store, schema

FRAUD = "{host: 127.0.0.1, port: 1, user: u, password: 'env:FRAUD', databases: [shop], tls: {mode: 'off'}}"
CLUB = "{host: 127.0.0.1, port: 2, user: u, password: 'env:FRAUD', databases: [members], tls: {mode: 'off'}}"
DAY = ("--window", "day")


@pytest.fixture(autouse=True)
def sources(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 an empty folder first
    (tmp_path / "onefold.yaml").write_text(f"sources: {{fraud: {FRAUD}, club: {CLUB}}}", encoding="utf-8")
    no_server = {"DATAPROC_EMULATOR_HOST": "127.0.0.1:1"}
    for name, value in {**ENVIRON, **no_server, "ONEFOLD_DATASETS": "fraud_shop", "FRAUD": "secret"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("dataset", [("--dataset", "fraud_shop"), ()], ids=["with a dataset", "without one"])
@pytest.mark.parametrize("command", [("pull", *DAY), ("check",)], ids=["pull", "check"])
@pytest.mark.parametrize(
    ("source", "database", "near"),
    [("fruad", "shop", "got fruad (did you mean fraud?)"), ("fraud", "shpo", "not shpo (did you mean shop?)")],
)
def test_of_a_job_on_a_source(
    run: Run, dataset: tuple[str, ...], command: tuple[str, ...], source: str, database: str, near: str
) -> None:
    job, *window = command
    done = run("batch", job, *dataset, "--", "--source", source, "--database", database, *window)
    assert (done.code, near in done.err, "--dataset" in done.err) == (1, True, False)


def test_a_job_on_a_source_needs_no_dataset(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_DATASET", "crm")
    words = ("--dry-run", "--id", "one", "--json", "--", "--source", "fraud", "--database", "shop", *DAY)
    implied, named = (run("batch", "pull", *dataset, *words) for dataset in ((), ("--dataset", "fraud_shop")))
    assert implied.result == named.result
    assert "are required: --database, --window" in run("batch", "pull", "--", "--source", "fraud").err


def test_another_dataset_than_that_of_the_source_is_refused_in_the_words_that_were_typed(run: Run) -> None:
    done = run("batch", "pull", "--dataset", "fraud_shpo", "--", "--source", "fraud", "--database", "shop", *DAY)
    assert "--source fraud --database shop: their dataset fraud_shop is not fraud_shpo, the dataset of the" in done.err


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("batch", "pul"), "'shred' (did you mean pull?)."),
        (("batch", "recncile"), "(did you mean reconcile?)"),
        (("check", "--source", "fruad", "shop"), "got fruad (did you mean fraud?); it has fraud, club"),
        (("check", "--source", "fruad"), "is named fruad (did you mean fraud?); it has fraud, club"),
        (("check", "--source", "fraud", "shpo"), "has the databases shop, not shpo (did you mean shop?)"),
        (("sources", "check", "--source", "fruad"), "is named fruad (did you mean fraud?)"),
    ],
)
def test_at_the_command_line(run: Run, words: tuple[str, ...], near: str) -> None:
    done = run(*words)
    assert (done.code, near in done.err) == (1, True), done.err


@pytest.mark.parametrize("command", ["show", "ddl"])
def test_of_a_model(run: Run, tmp_path: Path, command: str) -> None:
    folder_store(tmp_path / "registry").add(schema("1-0-0"))
    more = {"show": ("com.acme/ad_clik/jsonschema/1-0-0",), "ddl": ("com.acme/ad_clik/jsonschema/1", "--target", "bigquery")}
    done = run("schema", command, *more[command], "--registry", tmp_path / "registry")
    expected = "has no schema com.acme/ad_clik/jsonschema/1; did you mean com.acme/ad_click/jsonschema/1?"
    assert (done.code, expected in done.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "variable", "asked"),
    [
        (("--source", "club"), "", ["club"]),
        ((), "club", ["club"]),
        (("fraud",), "club", ["fraud"]),
        (("fraud", "--source", "club"), "", ["fraud", "club"]),
        ((), "", ["fraud", "club"]),
    ],
)
def test_sources_to_check_are_named_as_in_other_commands(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], variable: str, asked: list[str]
) -> None:
    monkeypatch.setenv("ONEFOLD_SOURCE", variable)
    assert [one["source"] for one in run("sources", "check", "--json", *words).results] == asked


def test_a_draft_of_a_source_that_does_not_answer_names_the_options(run: Run) -> None:
    place = ("--host", "127.0.0.1", "--port", 1, "--user", "u", "--password-from", "env:FRAUD", "--database", "shop")
    done = run("sources", "init", "fraud", *place)
    assert (done.code, "onefold.yaml" in done.err) == (1, False)
    assert "u@127.0.0.1:1 cannot be read: " in done.err
    assert done.err.endswith(": correct --host or --port, or start the server\n")
