"""The job that checks: wrong usage and settings are reported before a session of Spark or a client is opened."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.batches.source_arguments import CheckArguments
from onefold.core.hash_key import HashKey
from onefold.landing.row_writer import NO_RULES, LandingRules
from onefold.settings.captures import CaptureSettings, ColumnRules
from onefold.settings.environment import Settings
from onefold.spark.check.job import rules_of
from spark_jobs.check import main

CONFIG = """
sources:
  fraud: {host: localhost, user: u, password: "env:NO_SUCH_VARIABLE", databases: [models], tls: {mode: "off"}}
"""


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "onefold.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ONEFOLD_PULLED_FILES", raising=False)


def test_all_problems_of_the_arguments_are_one_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--source=", "--database=models", "--rows=0", "--parallel=0"]) == 1
    shown = capsys.readouterr().err
    assert [line.split(":")[0] for line in shown.splitlines()] == ["--source", "--rows", "--parallel"]


@pytest.mark.parametrize(
    ("source", "database", "problem"),
    [
        ("other", "models", "expected a source of onefold.yaml, got other; it has fraud"),
        ("fraud", "other", "has the databases models, not other"),
        ("fraud", "models", "ONEFOLD_PULLED_FILES is not set"),
    ],
)
def test_settings_are_checked_first(source: str, database: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--source={source}", f"--database={database}"]) == 1
    assert problem in capsys.readouterr().err


def test_a_password_that_cannot_be_read_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONEFOLD_PULLED_FILES", tmp_path.as_uri())
    assert main(["--source=fraud", "--database=models"]) == 1
    assert "NO_SUCH_VARIABLE" in capsys.readouterr().err


def test_rules_of_columns_are_those_of_the_captured_source_with_its_key() -> None:
    key, rules = HashKey(b"thirty-two bytes of a secret key"), (ColumnRules("t", hash=("mail",)),)
    settings = Settings(captures={"eu": CaptureSettings(rules, "env:HASH_KEY")})
    environ = {"HASH_KEY": key.secret.hex()}

    def found(arguments: CheckArguments) -> LandingRules:
        return rules_of(arguments, settings, cast(BigQueryWarehouse, None), environ)

    assert found(CheckArguments("eu", "models", captured="shop")) == LandingRules(rules, key)
    assert found(CheckArguments("fraud", "models", captured="shop", tenant="eu")) == LandingRules(rules, key)
    assert found(CheckArguments("eu", "models")) == NO_RULES
    assert found(CheckArguments("fraud", "models", captured="shop")) == NO_RULES
