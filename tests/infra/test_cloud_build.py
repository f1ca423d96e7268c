"""cloudbuild.yaml and cloudbuild.deploy.yaml: the steps, and what is never applied."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.deploy import (
    ACCESS,
    BUILD,
    GIVEN,
    IMAGE,
    PULLED,
    REVOKING,
    STEPS,
    TESTED,
    TESTS,
    Recorder,
    plan_of,
    run_step,
    substitutions,
)
from support.terraform import ROOT


def test_tests_and_deployment_are_two_builds() -> None:
    assert list(TESTED) == [
        "terraform", "install", "lint", "docs", "test-ids", "test", "test-long", "bench-quick", "settings",
        "package", "infra",
    ]  # fmt: skip
    assert list(STEPS) == ["tested", "package", "upload", "image", "plan", "review", "apply", "grants", "store"]
    assert not any("waitFor" in step for step in STEPS.values()), "each step waits for the one before"
    applied = "\n".join(step["script"] for step in STEPS.values())
    assert not re.search(r"make |pip|pytest", applied), "code of others has no part in what the deploying account runs"
    assert "terraform -chdir=infra test" in TESTED["infra"]["script"]


@pytest.mark.parametrize("build", [TESTS, BUILD, IMAGE, ACCESS], ids=["tests", "deploy", "image", "access"])
def test_no_step_may_fail_silently(build: dict[str, Any]) -> None:
    for step in build["steps"]:
        assert step.keys() - {"waitFor"} == {"id", "name", "script"}, "as allowFailure would be"
        assert step["script"].startswith("#!/bin/sh\nset -eu\n") or "\n" not in step["script"].strip(), step["id"]
        assert not re.search(r"\|\| *(true|:)|set \+e|; *true$", step["script"], re.MULTILINE), step["id"]


def test_what_is_tested_side_by_side_finds_what_it_needs() -> None:
    """All steps share the checkout: a virtual environment, or a package, that two of them make at once would be broken."""
    needs = {step: set(made["waitFor"]) for step, made in TESTED.items()}
    assert needs.pop("terraform") == needs.pop("install") == {"-"}
    assert needs.pop("infra") == {"package"}, "which waits for what it packages with"
    assert needs.pop("bench-quick") == {"test", "test-long"}, "which would use its processors"
    assert needs.pop("test") == needs.pop("test-long") == {"install", "terraform"}
    assert set(map(frozenset, needs.values())) == {frozenset({"install"})}


def test_the_build_checks_all_that_the_script_of_a_clean_checkout_checks() -> None:
    calls = re.findall(r"make (?:\S+=\S+ )?([a-z-]+)(?: \|\| .*)?$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    built = re.findall(r"make (\S+)$", "\n".join(step["script"] for step in TESTED.values()), re.MULTILINE)
    assert sorted(built) == sorted([*calls, "settings"])


def test_builds_log_where_their_accounts_may_and_substitutions_are_filled_in() -> None:
    logs = {"logging": "CLOUD_LOGGING_ONLY"}
    assert TESTS["options"] == {**logs, "machineType": "E2_HIGHCPU_8"}
    assert (
        BUILD["options"]
        == IMAGE["options"]
        == ACCESS["options"]
        == {**logs, "automapSubstitutions": True, "dynamicSubstitutions": True}
    )


def test_by_default_a_trigger_confirms_no_removal() -> None:
    own = BUILD["substitutions"]
    assert (own["_APPLY"], own["_REVOKE"], own["_VARS"], own["_MAIN"]) == ("no", "no", "", "main")


def test_every_check_of_the_build_is_a_make_target() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for step in TESTED.keys() - {"terraform", "infra"}:
        assert f"make {step}" in TESTED[step]["script"]
        assert step in targets


@pytest.mark.parametrize("step", ["test", "test-long"])
def test_the_tests_of_the_build_find_terraform_and_are_counted(recorder: Recorder, step: str) -> None:
    """Without it those that hold every right and condition to what is expected would be skipped."""
    checkout = recorder.folder / "checkout"
    checkout.mkdir()
    assert recorder.run(["sh", "-c", f"cd {checkout}\n{TESTED['terraform']['script']}"]).returncode == 0
    assert TESTED["terraform"]["name"] == TESTED["infra"]["name"]
    (checkout / "make").write_text('#!/bin/sh\necho "$* $TEST_COUNTS"\ncommand -v terraform\n')
    (checkout / ".ci").mkdir()
    (checkout / ".ci" / "servers").write_text("#!/bin/sh\necho servers\n")
    for name in ("make", ".ci/servers"):
        (checkout / name).chmod(0o755)
    reported = {"PATH": f"{checkout}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    command = ["sh", "-c", TESTED[step]["script"]]
    done = subprocess.run(command, cwd=checkout, env=reported, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["servers", f"{step} check", f"{checkout}/build/bin/terraform"]


def test_a_commit_that_no_build_has_tested_is_not_deployed(recorder: Recorder) -> None:
    script = ["sh", "-c", STEPS["tested"]["script"]]
    refused = recorder.run(script, **substitutions(_VARS="europe.tfvars", PASSED=""))
    assert (refused.returncode, "has passed for abc" in refused.stdout) == (1, True)
    assert recorder.run(script, **substitutions(_VARS="europe.tfvars", PASSED="1")).returncode == 0
    assert f"tags={TESTS['tags'][0]} AND status=SUCCESS AND substitutions.COMMIT_SHA=abc" in recorder.calls[-1]


@pytest.mark.parametrize("owner", ["456", ""])
def test_a_build_refuses_a_bucket_of_another_project_for_the_state(recorder: Recorder, owner: str) -> None:
    script = ["sh", "-c", STEPS["tested"]["script"]]
    done = recorder.run(script, **substitutions(_VARS="europe.tfvars", PASSED="1", OWNER=owner))
    assert done.returncode == 1
    assert f"gs://my-project-onefold-terraform belongs to project number {owner}, expected 123 of my-project" in done.stdout


def test_without_a_file_of_variables_nothing_is_planned(recorder: Recorder) -> None:
    done = recorder.run(["sh", "-c", STEPS["tested"]["script"]], **substitutions(PASSED="1"))
    assert done.returncode == 1
    assert "expected the trigger to set _VARS" in done.stdout
    assert recorder.calls == []


@pytest.mark.parametrize(("revoke", "code"), [("no", 2), ("", 2), ("yes", 0)])
def test_a_plan_that_revokes_rights_is_refused_unless_the_trigger_confirms_it(
    tmp_path: Path, revoke: str, code: int
) -> None:
    (tmp_path / "plan.json").write_text(plan_of(REVOKING))
    script = STEPS["review"]["script"].replace("build/plan.json", str(tmp_path / "plan.json"))
    script = script.replace("python ", f"{sys.executable} ")
    done = subprocess.run(["sh", "-c", script], cwd=ROOT, env={**os.environ, "_REVOKE": revoke}, check=False)
    assert done.returncode == code


def test_make_images_writes_digests_once(tmp_path: Path) -> None:
    names = (
        "cloudbuild.yaml",
        "cloudbuild.deploy.yaml",
        "cloudbuild.image.yaml",
        "cloudbuild.access.yaml",
        "capture.Dockerfile",
        ".github/workflows/ci.yml",
    )
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    for name in (*names, "Makefile"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "docker").write_text(f"#!/bin/sh\necho sha256:{'a1' * 32}\n")
    (tmp_path / "docker").chmod(0o755)
    reported = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    for _ in range(2):
        subprocess.run(["make", "-C", str(tmp_path), "images"], env=reported, check=True, capture_output=True)
        for name in names:
            images = re.findall(r"^(?: +name: | +container: |FROM )(\S+)$", (tmp_path / name).read_text(), re.MULTILINE)
            assert images
            assert all(re.fullmatch(rf"[\w./-]+:[\w.-]+@sha256:{'a1' * 32}", image) for image in images), images


@pytest.mark.parametrize("name", ["requirements.lock", "functions/requirements.txt", "capture.requirements.txt"])
def test_all_packages_are_installed_by_hash(name: str) -> None:
    lines = (ROOT / name).read_text().replace("\\\n", " ").splitlines()
    assert lines
    assert all("--hash=sha256:" in line for line in lines)


def test_the_images_of_functions_and_capture_have_the_versions_that_are_tested() -> None:
    def pinned(name: str) -> set[str]:
        return set(re.findall(r"^([\w.-]+==[^ ;]+)", (ROOT / name).read_text(), re.MULTILINE))

    for name in ("functions/requirements.txt", "capture.requirements.txt"):
        assert pinned(name) <= pinned("requirements.lock")
    assert "--require-hashes -r capture.requirements.txt" in (ROOT / "capture.Dockerfile").read_text()


def test_the_version_of_the_provider_is_locked() -> None:
    lock = (ROOT / "infra" / ".terraform.lock.hcl").read_text()
    assert re.search(r'registry\.terraform\.io/hashicorp/google" \{\n  version     = "8\.\d+\.\d+"', lock)
    ignored = subprocess.run(
        ["git", "check-ignore", "infra/.terraform.lock.hcl"], cwd=ROOT, check=False, capture_output=True
    )
    assert ignored.returncode == 1


def test_every_substitution_of_a_step_is_declared_and_every_declared_one_is_used() -> None:
    scripts = "\n".join(step["script"] for step in STEPS.values())
    used = set(re.findall(r"\$\{?(_?[A-Z_]+)", scripts))
    assert used == {*BUILD["substitutions"], *GIVEN}
    assert "substitutions" not in TESTS
    assert BUILD["options"]["automapSubstitutions"]


def test_the_stored_plan_is_the_one_that_is_applied(recorder: Recorder) -> None:
    planned = (ROOT / "build" / "plan.json").read_text
    assert run_step(recorder, "plan", _VARS="europe.tfvars", _PREFIX="eu-", PLAN='{"its": "own"}') == [
        "terraform -chdir=infra init -input=false -backend-config=bucket=my-project-onefold-terraform "
        "-backend-config=prefix=eu-onefold",
        "terraform -chdir=infra plan -input=false -out=onefold.tfplan -var=project=my-project -var=region=europe-west1 "
        "-var=prefix=eu- -var-file=../europe.tfvars",
        "terraform -chdir=infra show -json onefold.tfplan",
    ]
    assert json.loads(planned()) == {"its": "own"}
    assert "build/plan.json" in STEPS["review"]["script"], "what is reviewed is that plan, too"
    assert run_step(recorder, "apply", _APPLY="yes")[-2:] == [
        "terraform -chdir=infra apply -input=false onefold.tfplan",
        "terraform -chdir=infra state pull",
    ]


def test_the_build_of_permissions_applies_the_main_branch_with_the_grants_of_the_deployment(recorder: Recorder) -> None:
    install, apply = ACCESS["steps"]
    assert install["script"] == "make install"
    (recorder.folder / ".venv" / "bin").mkdir(parents=True)
    program = recorder.folder / ".venv" / "bin" / "onefold"
    program.write_text('#!/bin/sh\necho "onefold $*" >> "$CALLS"\n')
    program.chmod(0o755)
    told = {**GIVEN, "_STATE": "state", "_PREFIX": "eu-", "_FILE": "access.yaml", "_MAIN": "main"}
    assert set(ACCESS["substitutions"]) == set(told) - set(GIVEN)
    script = ["sh", "-c", f"cd {recorder.folder}\n{apply['script']}"]
    assert recorder.run(script, **{**told, "BRANCH_NAME": "other"}).returncode == 0
    assert recorder.calls == []
    assert recorder.run(script, **told).returncode == 0
    assert recorder.calls == [
        "onefold access apply --yes --project=my-project --file=access.yaml --grants=gs://state/eu-onefold/grants.json"
    ]


def test_grants_are_stored_only_after_an_apply(recorder: Recorder) -> None:
    folder = recorder.folder / "checkout"
    (folder / "build").mkdir(parents=True)
    shutil.copytree(ROOT / "infra", folder / "infra", ignore=shutil.ignore_patterns(".terraform*"))
    for pulled, stored in ((False, []), (True, ["gcloud storage cp build/grants.json gs://s/onefold/grants.json"])):
        if pulled:
            (folder / "build" / "state.json").write_text(json.dumps(PULLED))
        for step in ("grants", "store"):
            script = ["sh", "-c", f"cd {folder}\n{STEPS[step]['script']}"]
            done = recorder.run(script, **substitutions(_STATE="s"))
            assert done.returncode == 0, done.stderr
        assert recorder.calls == stored
    content = json.loads((folder / "build" / "grants.json").read_text())
    assert (content["state"], content["serial"]) == ("gs://s/onefold/default.tfstate", 7)


def test_packages_are_stored_next_to_the_state(recorder: Recorder) -> None:
    assert STEPS["package"]["script"] == "python -m infra.package"
    assert run_step(recorder, "upload") == [
        "gcloud storage cp build/functions.zip build/spark.zip gs://my-project-onefold-terraform/packages/abc/"
    ]


def test_a_file_of_variables_is_planned_with(recorder: Recorder) -> None:
    assert run_step(recorder, "plan", _VARS="europe.tfvars")[-2].endswith(" -var-file=../europe.tfvars")


@pytest.mark.parametrize(
    ("branch", "apply"), [("main", "no"), ("main", ""), ("main", "YES"), ("feature", "yes"), ("main2", "yes"), ("", "yes")]
)
def test_only_the_main_branch_is_applied_if_the_trigger_says_so(recorder: Recorder, branch: str, apply: str) -> None:
    assert run_step(recorder, "apply", BRANCH_NAME=branch, _APPLY=apply) == []


def test_by_default_nothing_is_applied(recorder: Recorder) -> None:
    assert run_step(recorder, "apply") == []
