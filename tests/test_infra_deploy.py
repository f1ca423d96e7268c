"""`make deploy` and cloudbuild.yaml: what they call, in which order, and what is never applied."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from terraforming import ROOT

BUILD: dict[str, Any] = yaml.safe_load((ROOT / "cloudbuild.yaml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["id"]: step for step in BUILD["steps"]}
# What Cloud Build sets by itself for a build of a push.
GIVEN = {"PROJECT_ID": "my-project", "COMMIT_SHA": "abc", "BRANCH_NAME": "main"}
PROGRAM = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$*" in *"$FAILS"*) exit 1;; esac
"""


class Recorder:
    """Programs in place of those that reach Google, which note how they were called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.noted = folder / "calls"
        for name in ("gcloud", "terraform"):
            (folder / name).write_text(PROGRAM)
            (folder / name).chmod(0o755)

    def run(self, command: list[str], fails: str = "nothing", **environ: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        told = {**os.environ, **environ, "PATH": path, "CALLS": str(self.noted), "FAILS": fails}
        return subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)

    @property
    def calls(self) -> list[str]:
        return self.noted.read_text().splitlines() if self.noted.is_file() else []


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


def make(recorder: Recorder, *arguments: str, fails: str = "nothing") -> subprocess.CompletedProcess[str]:
    # The virtual environment is there already: this is about what comes after it.
    return recorder.run(["make", "--no-print-directory", "--assume-old=.venv/.installed", *arguments], fails)


def test_deploy_packages_and_applies(recorder: Recorder) -> None:
    done = make(recorder, "deploy", "PROJECT=my-project", "REGION=europe-west1", "DATASETS=shop,crm")
    assert done.returncode == 0, done.stderr
    assert "functions.zip" in done.stdout
    assert recorder.calls[-2:] == [
        "terraform -chdir=infra init -reconfigure -input=false -backend-config=bucket=my-project-onefold-terraform "
        "-backend-config=prefix=onefold",
        "terraform -chdir=infra apply -var=project=my-project -var=region=europe-west1 -var=prefix= "
        '-var=datasets=["shop","crm"]',
    ]


def test_a_second_deployment_has_a_state_of_its_own(recorder: Recorder) -> None:
    done = make(recorder, "undeploy", "PROJECT=my-project", "REGION=us-east1", "PREFIX=us-", "VARS=us.tfvars")
    assert done.returncode == 0, done.stderr
    assert "-backend-config=prefix=us-onefold" in recorder.calls[-2]
    assert recorder.calls[-1].endswith(
        f"destroy -var=project=my-project -var=region=us-east1 -var=prefix=us- -var-file={ROOT}/us.tfvars"
    )


def test_the_bucket_of_the_state_is_made_where_it_is_missing(recorder: Recorder) -> None:
    make(recorder, "terraform", "PROJECT=my-project", "REGION=europe-west1")
    assert not any("buckets create" in call for call in recorder.calls)
    make(recorder, "terraform", "PROJECT=my-project", "REGION=europe-west1", fails="buckets describe")
    (created,) = (call for call in recorder.calls if "buckets create" in call)
    assert "--public-access-prevention" in created
    assert "--uniform-bucket-level-access" in created


@pytest.mark.parametrize("told", [(), ("PROJECT=my-project",), ("REGION=europe-west1",)])
def test_without_a_project_and_a_region_nothing_is_called(recorder: Recorder, told: tuple[str, ...]) -> None:
    done = make(recorder, "terraform", *told)
    assert done.returncode != 0
    assert "make deploy PROJECT=my-project REGION=europe-west1" in done.stdout
    assert recorder.calls == []


def test_every_agent_that_is_given_a_key_is_made_first_where_the_documentation_says_so() -> None:
    given = re.findall(r'^    (\w+) += "\$\{local\.agent\}@', (ROOT / "infra" / "encryption.tf").read_text(), re.MULTILINE)
    commands = (ROOT / "docs" / "deploy.md").read_text().partition("## With keys of your own")[2].partition("\n## ")[0]
    (listed,) = re.findall(r"for service in (.+); do", commands)
    alone = re.findall(r"gcloud (?:services enable (\w+)\.|(storage) service-agent)", commands)
    assert sorted([*listed.split(), *("".join(names) for names in alone)]) == sorted(given)


def test_the_build_goes_from_lint_to_apply() -> None:
    assert list(STEPS) == ["lint", "test", "package", "upload", "plan", "apply"]
    assert not any("waitFor" in step for step in STEPS.values()), "each step waits for the one before"


def test_what_is_checked_in_the_build_can_be_made_here() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for step in ("lint", "test", "package"):
        assert STEPS[step]["script"] == f"make {step}"
        assert step in targets


def substitutions(**changed: str) -> dict[str, str]:
    """As Cloud Build hands them to scripts: those of the file, in which others may stand."""
    own = {name: value.replace("${PROJECT_ID}", GIVEN["PROJECT_ID"]) for name, value in BUILD["substitutions"].items()}
    return {**GIVEN, **own, **changed}


def test_every_substitution_that_a_step_uses_is_there_and_every_one_is_used() -> None:
    scripts = "\n".join(step["script"] for step in STEPS.values())
    used = set(re.findall(r"\$\{?(_?[A-Z_]+)", scripts))
    assert used == {*BUILD["substitutions"], *GIVEN}
    assert BUILD["options"]["automapSubstitutions"]


def run(recorder: Recorder, step: str, **changed: str) -> list[str]:
    done = recorder.run(["sh", "-c", STEPS[step]["script"]], **substitutions(**changed))
    assert done.returncode == 0, done.stderr
    return recorder.calls


def test_a_plan_is_kept_and_what_is_applied_is_that_plan(recorder: Recorder) -> None:
    planned = run(recorder, "plan")
    assert planned[-1].startswith("terraform -chdir=infra plan -input=false -out=onefold.tfplan -var=project=my-project")
    assert run(recorder, "apply", _APPLY="yes")[-1] == "terraform -chdir=infra apply -input=false onefold.tfplan"


def test_a_file_of_variables_is_planned_with(recorder: Recorder) -> None:
    assert run(recorder, "plan", _VARS="europe.tfvars")[-1].endswith(" -var-file=../europe.tfvars")


@pytest.mark.parametrize(
    ("branch", "apply"), [("main", "no"), ("main", ""), ("main", "YES"), ("feature", "yes"), ("main2", "yes"), ("", "yes")]
)
def test_nothing_is_applied_but_the_main_branch_where_the_trigger_says_so(
    recorder: Recorder, branch: str, apply: str
) -> None:
    assert run(recorder, "apply", BRANCH_NAME=branch, _APPLY=apply) == []


def test_by_itself_nothing_is_applied(recorder: Recorder) -> None:
    assert run(recorder, "apply") == []
