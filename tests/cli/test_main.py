"""The command line itself: help, wrong usage, wrong settings, terminals."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from support.cli import SCHEMAS, Run, all_commands

import onefold.cli
from onefold.cli import cli
from onefold.cli.common_options import JSON, used_by
from onefold.core.extras import how_to_install


def test_every_command_has_help(run: Run) -> None:
    for command in [[], *([name] for name in cli.commands)]:
        outcome = run(*command, "--help")
        assert outcome.code == 0
        assert outcome.out.startswith(f"Usage: onefold {command[0] if command else '[OPTIONS] COMMAND'}")


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version").out == f"onefold, version {onefold.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "Usage: onefold"),
        (["fold"], "No such command 'fold'"),
        (["render"], "Missing argument '[DATASET.]TABLE'"),
        (["render", "customer"], "Missing option '--columns'"),
        (["render", "customer", "--columns", "nowhere.json"], "'nowhere.json': No such file"),
        (["render", "customer", "--columns", "-", "--ddl"], "--ddl needs --dataset for the name of the view"),
        (["render", "customer", "--columns", "-", "--project", "p"], "--project needs --dataset"),
        (
            ["render", "customer", "--columns", "-", "--dataset", "d", "--ddl", "--json"],
            "--ddl and --json exclude each other",
        ),
        (["render", "cust`omer", "--columns", "-", "--dataset", "a.b"], "table 'cust`omer' is not a valid name"),
        (["render", "cust`omer", "--columns", "-", "--dataset", "a.b"], "dataset 'a.b' is not a valid name"),
        (["plan"], "No table is named: write it as `onefold plan shop.customer`"),
        (["plan", "shop.cust-omer.x"], "dataset 'cust-omer' is not a valid name"),
        (["plan", ".shop.customer"], "No project is named in front of .shop.customer"),
        (["plan", "shop", "cust.omer"], "shop is in no dataset: write it as"),
        (["refresh", ""], "An empty text is in no dataset: write it as"),
        (["query", " "], "Expected SQL, got an empty text"),
        (["plan", "shop", "--project", "MY"], "project 'MY' is not a valid name"),
        (["refresh", "shop"], "Expected one of TABLE and --all"),
        (["refresh", "shop", "customer", "--all"], "Expected one of TABLE and --all"),
        (["plan", "shop", "--quiet", "-v"], "--verbose and --quiet exclude each other"),
        (["publish"], "Expected a table, and a version if one is new, as `onefold publish shop.customer abc`"),
        (["publish", "shop", "customer"], "Expected a table, and a version if one is new"),
        (["publish", "shop", "customer", "a.b"], "version 'a.b' is not a valid name"),
        (["publish", "shop", "customer", "a_b"], "customer_v_a_b is no version a_b of customer: expected a table named as "),
        (
            ["publish", "shop", "customer", "a_b", "--function", "http://localhost:9"],
            "customer_v_a_b is no version a_b of customer",
        ),
        (["publish", "shop", "customer", "abc"], "the project is missing: name it with --project, or set ONEFOLD_PROJECT"),
        (["--config", "nowhere.yaml", "plan", "shop"], "'nowhere.yaml' does not exist"),
    ],
)
def test_wrong_usage_exits_with_1_and_an_error_on_standard_error(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], text: str
) -> None:
    for variable in ("ONEFOLD_PROJECT", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(variable, raising=False)
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (1, "")
    assert text in outcome.err


def test_an_error_of_a_whole_command_is_json_too_where_json_was_asked_for(run: Run) -> None:
    outcome = run("render", "customer", "--columns", "-", "--json", stdin="[{}]\n")
    assert outcome.code == 1
    assert outcome.json == {"command": "render", "results": [], "warnings": [], "errors": outcome.json["errors"]}
    assert outcome.err.splitlines() == [f"Error: {error}" for error in outcome.json["errors"]] != []


def test_every_command_takes_verbose_and_quiet() -> None:
    for name, command in all_commands():
        given = [option for one in command.params for option in one.opts]
        assert [given.count(option) for option in ("--verbose", "--quiet")] == [1, 1], name


def test_every_command_with_json_has_a_schema_that_the_docs_list() -> None:
    """`support.cli` checks the output of each command that a test runs against its schema."""
    commands = {name for name, command in all_commands() if JSON in used_by(command)}
    files = {name.replace(" ", "-") for name in commands}
    assert {"doctor", "capture-status", "schema-key-create"} < files
    assert {path.stem for path in SCHEMAS.glob("*.json")} == files
    page = (SCHEMAS.parent / "json.md").read_text()
    assert set(re.findall(r"\(json/([\w-]+)\.json\)", page)) == files
    for path in SCHEMAS.glob("*.json"):
        schema = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        if path.stem == "schema-ddl":  # it prints a table alone, and the one shape after an error
            table, schema = schema["oneOf"]
            assert table["required"] == ["table", "columns"]
        assert schema["properties"]["command"]["const"].replace(" ", "-") == path.stem
        assert schema["required"] == ["command", "results", "warnings", "errors"], "one shape for all commands"


def test_verbose_shows_where_an_error_comes_from(run: Run) -> None:
    command = ("render", "customer", "--columns", "-")
    assert "Traceback" not in run(*command, stdin="[{}]").err
    assert "Traceback" in run(*command, "--verbose", stdin="[{}]").err


def test_invalid_settings_are_reported_one_problem_a_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_DATASETS", "a-b")
    Path("onefold.yaml").write_text("extra: 1\n")
    outcome = run("render", "customer", "--columns", "-")
    assert (outcome.code, outcome.out) == (1, "")
    assert [line.split(":")[0] for line in outcome.err.splitlines()] == ["Error", "Error"]


def test_demo_names_the_package_to_install_if_the_embedded_stack_is_missing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb_extensions", None)
    outcome = run("demo")
    assert outcome.code == 1
    assert f"duckdb_extensions is missing: {how_to_install('lab')}\n" in outcome.err


def test_a_query_is_printed_whole_on_a_terminal_that_knows_only_ascii(tmp_path: Path) -> None:
    row = {"table_name": "t_v_1", "column_name": "größe", "ordinal_position": 1, "data_type": "INT64"}
    (tmp_path / "columns.json").write_text(json.dumps(row))
    command = [sys.executable, "-c", "from onefold.cli import main; main()", "render", "t", "--columns", "columns.json"]
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "v.`größe`" in done.stdout


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_a_command_without_an_output_does_its_work(tmp_path: Path, closed: str) -> None:
    (tmp_path / "onefold.yaml").write_text("tables: {customer: {keys: [id]}}\n")
    command = f"{sys.executable} -c 'from onefold.cli import main; main()' settings check --write {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("Error")) == (0, "", 0)
    assert (tmp_path / "onefold.checked.json").exists()
