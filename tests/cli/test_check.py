"""`onefold check`: wrong usage is refused before anything is read, and exit codes say what was found."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cli import Run

from onefold.batches.source_arguments import CheckArguments
from onefold.check.report import CheckReport, ChunkCheck, TableCheck
from onefold.cli.check import lines
from onefold.compare.findings import DIFFERENT
from onefold.core.errors import Rejected
from onefold.pull.read.plan import KeyRange
from onefold.settings.environment import Settings
from spark_jobs.check import ended

CONFIG = """
sources:
  fraud: {host: localhost, user: u, password: "env:NO_SUCH_VARIABLE", databases: [models], tls: {mode: "off"}}
"""


def test_all_problems_of_the_usage_are_reported_at_once(run: Run) -> None:
    done = run("check", "fraud", "models", "--rows", 0, "--tenant", "x")
    assert done.code == 1
    assert "--rows: expected 1 to 10,000,000, got 0" in done.err
    assert "--tenant is for captured tables" in done.err


def test_what_is_missing_is_named_with_the_remedy(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "onefold.yaml"
    config.write_text(CONFIG)
    assert "it has fraud" in run("--config", config, "check", "other", "models").err
    assert "has the databases models, not other" in run("--config", config, "check", "fraud", "other").err
    assert "ONEFOLD_PULLED_FILES is not set" in run("--config", config, "check", "fraud", "models").err
    monkeypatch.setenv("ONEFOLD_PULLED_FILES", tmp_path.as_uri())
    done = run("--config", config, "check", "fraud", "models")
    assert (done.code, "NO_SUCH_VARIABLE" in done.err) == (1, True)


def test_the_project_is_that_of_the_option(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def loads_of(settings: Settings, *_: object) -> None:
        raise Rejected(f"asked for {settings.project}")

    monkeypatch.setattr("onefold.spark.check.job.loads_of", loads_of)
    monkeypatch.setenv("NO_SUCH_VARIABLE", "secret")
    monkeypatch.setenv("ONEFOLD_PULLED_FILES", tmp_path.as_uri())
    (tmp_path / "onefold.yaml").write_text(CONFIG)
    words = ("--config", tmp_path / "onefold.yaml", "check", "--source", "fraud", "models", "--project")
    assert "asked for elsewhere" in run(*words, "elsewhere").err
    assert "is not a valid name" in run(*words, "Else where").err


@pytest.mark.parametrize(
    ("table", "code", "logged"),
    [
        (TableCheck("t"), 0, 0),
        (TableCheck("t", (ChunkCheck(KeyRange(), 1, ((DIFFERENT, 1),), is_fixed=True),)), 0, 0),
        (TableCheck("t", (ChunkCheck(KeyRange(), 1, ((DIFFERENT, 1),)),)), 2, 0),
        (TableCheck("t", failed=("x",)), 2, 2),
    ],
)
def test_the_exit_code_of_the_batch(table: TableCheck, code: int, logged: int) -> None:
    report = CheckReport("d", (table,))
    assert ended(report, Settings()) == code
    assert ended(report, Settings(differences="log")) == logged


def test_the_first_findings_are_shown_below_their_table() -> None:
    found = tuple(f"finding {number}" for number in range(12))
    differs = TableCheck("t", (ChunkCheck(KeyRange(), 20, ((DIFFERENT, 12),), findings=found),))
    shown = list(lines(CheckReport("shop", (differs, TableCheck("u")))))
    assert shown == [
        "t: different; 20 rows in 1 chunk compared; values that do not match: 12",
        *(f"  finding {number}" for number in range(10)),
        "  and 2 more: see shop._checks",
        "u: same",
        "shop: 1 same, 0 fixed, 1 different, 0 skipped, 0 failed",
    ]
    assert "finding" not in CheckReport("shop", (differs,)).summary()


def test_the_options_of_the_command_are_those_of_the_job(run: Run) -> None:
    shown = " ".join(run("check", "--help").out.split())
    for option in CheckArguments.options():
        assert (option.word in shown) == (option.field not in ("database", "tables"))
    assert "--rows N About the rows of a chunk. [default: 100,000]" in shown
    assert "--whole All chunks, from the first to the last. [default: the next one]" in shown
