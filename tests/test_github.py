"""What GitHub and pre-commit read: workflows, templates, and hooks that run what `make lint` runs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
PIN = re.compile(r"uses: ([\w-]+/[\w-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)")
CI = yaml.safe_load((GITHUB / "workflows" / "ci.yml").read_text())


def lines(path: Path, word: str) -> list[str]:
    return [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if word in line]


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_the_versions_of_python_that_are_tested_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: "
    named = [classifier.removeprefix(prefix) for classifier in project["classifiers"] if classifier.startswith(prefix)]
    assert CI["jobs"]["fast"]["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}"


def test_the_workflow_runs_linters_fast_tests_and_the_build_and_on_one_version_everything() -> None:
    assert commands(CI["jobs"]["fast"]) == ["make install", "make lint", "make test-fast", "make dist"]
    assert commands(CI["jobs"]["full"])[-1] == "bash .ci/run"


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_a_commit_whose_version_a_comment_names(workflow: Path) -> None:
    used = lines(workflow, "uses:")
    assert used
    assert [line for line in used if not PIN.fullmatch(line)] == []


def test_every_workflow_takes_the_same_commit_of_an_action() -> None:
    pins = {match.groups() for path in WORKFLOWS for match in PIN.finditer(path.read_text())}
    assert len({action for action, _, _ in pins}) == len(pins), sorted(pins)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_unless_a_job_says_otherwise(workflow: Path) -> None:
    found = yaml.safe_load(workflow.read_text())
    assert found["permissions"] == {"contents": "read"}
    writing = [name for name, job in found["jobs"].items() if "permissions" in job]
    assert writing == (["release"] if workflow.stem == "release" else [])


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_target_that_a_workflow_makes_exists(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    made = re.findall(r"make ([a-z-]+)", "\n".join(lines(workflow, "run:")))
    assert made
    assert set(made) <= targets


def test_the_hooks_run_the_commands_of_make_lint_from_the_locked_environment() -> None:
    recipe = MAKEFILE.split("\nlint:", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    assert [hook["entry"] for hook in local["hooks"]] == [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe]
    assert {(hook["language"], hook["pass_filenames"]) for hook in local["hooks"]} == {("system", False)}


def test_dependabot_looks_where_dependencies_are_named() -> None:
    updates = yaml.safe_load((GITHUB / "dependabot.yml").read_text())["updates"]
    folders = {update["package-ecosystem"]: update.get("directories", [update.get("directory")]) for update in updates}
    assert folders == {"pip": ["/", "/benchmarks", "/tests/mutants"], "docker": ["/"], "github-actions": ["/"]}
    assert all(any((ROOT / folder[1:]).glob("*requirements.txt")) for folder in folders["pip"])


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_an_issue_form_asks_each_question_once(name: str) -> None:
    form = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    assert form["name"]
    assert form["description"]
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids) > 2
    assert any(field.get("validations", {}).get("required") for field in form["body"])
