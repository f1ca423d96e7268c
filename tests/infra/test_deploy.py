"""`make deploy` and cloudbuild.yaml: what they call, in which order, and what is never applied."""

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
import yaml
from support.terraform import ROOT

from infra.review import taken_away

TESTS: dict[str, Any] = yaml.safe_load((ROOT / "cloudbuild.yaml").read_text())
BUILD: dict[str, Any] = yaml.safe_load((ROOT / "cloudbuild.deploy.yaml").read_text())
TESTED: dict[str, dict[str, Any]] = {step["id"]: step for step in TESTS["steps"]}
STEPS: dict[str, dict[str, Any]] = {step["id"]: step for step in BUILD["steps"]}
# What Cloud Build sets by itself for a build of a push.
GIVEN = {
    "PROJECT_ID": "my-project", "PROJECT_NUMBER": "123", "COMMIT_SHA": "abc", "BRANCH_NAME": "main",
    "LOCATION": "europe-west1",
}  # fmt: skip
IMAGE: dict[str, Any] = yaml.safe_load((ROOT / "cloudbuild.image.yaml").read_text())
DIGEST = f"sha256:{'a1' * 32}"
PROGRAM = r"""#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$*" in *"$FAILS"*) exit 1;; esac
case "$*" in
  *"buckets describe"*projectNumber*) echo "${OWNER-123}";;
  *"projects describe"*) echo 123;;
  "builds list"*) echo "$PASSED";;
  "artifacts repositories list"*) echo "$REPOSITORY";;
  "artifacts docker images"*) echo "$DIGEST";;
  *"show -json"*) echo "${PLAN:-{\}}";;
  *"state list"*) printf "%s" "$STATE_LIST";;
esac
"""


class Recorder:
    """Programs in place of those that reach Google, which note how they were called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.noted = folder / "calls"
        for name in ("gcloud", "terraform", "docker"):
            (folder / name).write_text(PROGRAM)
            (folder / name).chmod(0o755)

    def run(
        self, command: list[str], fails: str = "nothing", said: str = "", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        told = {**os.environ, **environ, "PATH": path, "CALLS": str(self.noted), "FAILS": fails}
        return subprocess.run(command, cwd=ROOT, env=told, input=said, capture_output=True, text=True, check=False)

    @property
    def calls(self) -> list[str]:
        return self.noted.read_text().splitlines() if self.noted.is_file() else []


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


WHERE = ("PROJECT=my-project", "REGION=europe-west1")


def make(
    recorder: Recorder, *arguments: str, fails: str = "nothing", said: str = "", **environ: str
) -> subprocess.CompletedProcess[str]:
    # The virtual environment is there already: this is about what comes after it.
    command = ["make", "--no-print-directory", "--assume-old=.venv/.installed", *arguments]
    return recorder.run(command, fails, said, **environ)


def test_deploy_packages_plans_reviews_asks_and_applies_that_plan(recorder: Recorder) -> None:
    done = make(recorder, "deploy", "PROJECT=my-project", "REGION=europe-west1", "DATASETS=shop,crm", said="yes\n")
    assert done.returncode == 0, done.stderr
    assert "functions.zip" in done.stdout
    assert [call for call in recorder.calls if call.startswith("terraform")] == [
        "terraform -chdir=infra init -reconfigure -input=false -backend-config=bucket=my-project-onefold-terraform "
        "-backend-config=prefix=onefold",
        "terraform -chdir=infra plan -input=false -out=onefold.tfplan -var=project=my-project -var=region=europe-west1 "
        '-var=prefix= -var=datasets=["shop","crm"] -var=adopt_capture_bucket=true',
        "terraform -chdir=infra show -json onefold.tfplan",
        "terraform -chdir=infra apply -input=false onefold.tfplan",
    ]


def test_without_a_bucket_of_capture_none_is_taken_over(recorder: Recorder) -> None:
    make(recorder, "deploy", *WHERE, said="yes\n", fails="my-project-onefold-capture")
    (planned,) = (call for call in recorder.calls if " plan " in call)
    assert planned.endswith("-var=adopt_capture_bucket=false")


@pytest.mark.parametrize("said", ["", "no\n", "y\n"])
def test_nothing_is_applied_without_a_yes(recorder: Recorder, said: str) -> None:
    assert make(recorder, "deploy", *WHERE, said=said).returncode != 0
    assert not any(" apply " in call for call in recorder.calls)


REVOKING = {
    "type": "google_bigquery_dataset_iam_member",
    "address": 'google_bigquery_dataset_iam_member.batch["crm"]',
    "change": {"actions": ["delete"], "before": {"role": "r", "member": "m"}, "after": None},
}
REPLACING = {
    "type": "google_storage_bucket",
    "address": "google_storage_bucket.staging",
    "change": {
        "actions": ["delete", "create"],
        "before": {"location": "A"},
        "after": {"location": "B"},
        "replace_paths": [["location"]],
    },
}
RENEWED = {"type": "google_storage_bucket_object", "address": "x", "change": {"actions": ["delete", "create"]}}
MOVED = {**REVOKING, "change": {"actions": ["delete", "create"]}}


def plan_of(*changes: Any) -> str:
    return json.dumps({"resource_changes": changes})


@pytest.mark.parametrize("said", ["no\n", "yes\nno\n"])
def test_what_a_plan_takes_away_is_listed_and_has_to_be_agreed_to(recorder: Recorder, said: str) -> None:
    done = make(recorder, "deploy", *WHERE, said=said, PLAN=plan_of(REVOKING, REPLACING))
    assert done.returncode != 0
    assert 'revokes google_bigquery_dataset_iam_member.batch["crm"]: r of m' in done.stdout
    assert 'replaces google_storage_bucket.staging (location from "A" to "B")' in done.stdout
    assert not any(" apply " in call for call in recorder.calls)


def test_views_that_may_no_longer_read_a_dataset_are_listed() -> None:
    type_ = "google_bigquery_dataset_access"
    gone = {"type": type_, "address": f'{type_}.views["crm"]', "change": {"actions": ["delete"], "before": {}}}
    assert taken_away({"resource_changes": [gone]}) == [f'revokes {type_}.views["crm"]']


def test_what_every_deployment_renews_is_not_listed() -> None:
    assert taken_away({"resource_changes": [RENEWED, MOVED]}) == []
    assert taken_away({}) == []


def test_undeploy_leaves_the_bucket_of_capture_and_the_rights_on_a_key(recorder: Recorder) -> None:
    kept = ("google_storage_bucket.capture", 'google_kms_crypto_key_iam_member.agent["run"]')
    others = ("google_storage_bucket.staging", "google_storage_bucket_iam_member.capture", "data.google_project.this")
    listed = "\n".join((*others, *kept)) + "\n"
    done = make(recorder, "undeploy", *WHERE, STATE_LIST=listed)
    assert done.returncode == 0, done.stderr
    removed = [call for call in recorder.calls if "state rm" in call]
    assert removed == [f"terraform -chdir=infra state rm {one}" for one in kept]
    assert recorder.calls.index(removed[-1]) < len(recorder.calls) - 1
    assert " destroy " in recorder.calls[-1]
    assert "left: gs://my-project-onefold-capture" in done.stdout


def test_what_cannot_be_left_keeps_everything_from_being_destroyed(recorder: Recorder) -> None:
    kept = "google_storage_bucket.capture\ngoogle_kms_crypto_key_iam_member.agent\n"
    assert make(recorder, "undeploy", *WHERE, STATE_LIST=kept, fails="state rm google_storage_bucket").returncode != 0
    assert not any(" destroy " in call for call in recorder.calls)


def test_a_second_deployment_has_a_state_of_its_own(recorder: Recorder) -> None:
    done = make(recorder, "undeploy", "PROJECT=my-project", "REGION=us-east1", "PREFIX=us-", "VARS=us.tfvars")
    assert done.returncode == 0, done.stderr
    assert any("-backend-config=prefix=us-onefold" in call for call in recorder.calls)
    assert recorder.calls[-1].endswith(
        f"destroy -var=project=my-project -var=region=us-east1 -var=prefix=us- -var-file={ROOT}/us.tfvars"
    )
    assert "left: gs://my-project-us-onefold-capture" in done.stdout


@pytest.mark.parametrize("owner", ["456", ""])
def test_a_bucket_of_somebody_else_holds_no_state(recorder: Recorder, owner: str) -> None:
    done = make(recorder, "terraform", *WHERE, OWNER=owner)
    assert done.returncode != 0
    assert "expected 123 of my-project: name a bucket of your own with STATE=" in done.stdout
    assert not any(call.startswith("terraform") or "buckets update" in call for call in recorder.calls)


def test_agents_of_services_are_made_before_anything_needs_them(recorder: Recorder) -> None:
    make(recorder, "terraform", *WHERE)
    made = {word for call in recorder.calls for word in re.findall(r"identity create --service=(\w+)\.", call)}
    assert made == {"artifactregistry", "cloudbuild", "cloudfunctions", "cloudscheduler", "dataproc", "pubsub", "run"}
    (enabled,) = (call for call in recorder.calls if "services enable" in call)
    assert all(f"{name}.googleapis.com" in enabled for name in made)


def test_the_bucket_of_the_state_is_made_where_it_is_missing(recorder: Recorder) -> None:
    make(recorder, "terraform", "PROJECT=my-project", "REGION=europe-west1")
    assert not any("buckets create" in call for call in recorder.calls)
    (kept,) = (call for call in recorder.calls if "buckets update" in call)
    assert "gs://my-project-onefold-terraform" in kept
    assert kept.endswith("--versioning"), "a state that is lost can be had back"
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
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    commands = page.partition("## With keys of your own")[2].partition("\n## ")[0]
    (listed,) = re.findall(r"for service in (.+); do", commands)
    alone = re.findall(r"gcloud (?:services enable (\w+)\.|(storage) service-agent)", commands)
    assert sorted([*listed.split(), *("".join(names) for names in alone)]) == sorted(given)


def test_what_is_tested_and_what_is_applied_are_two_builds() -> None:
    assert list(TESTED) == ["terraform", "lint", "test", "package", "infra"]
    assert list(STEPS) == ["tested", "package", "upload", "image", "plan", "review", "apply"]
    assert not any("waitFor" in step for step in (*STEPS.values(), *TESTED.values())), "each step waits for the one before"
    applied = "\n".join(step["script"] for step in STEPS.values())
    assert not re.search(r"make |pip|pytest", applied), "code of others has no part in what the deploying account runs"
    assert "terraform -chdir=infra test" in TESTED["infra"]["script"]


@pytest.mark.parametrize("build", [TESTS, BUILD, IMAGE], ids=["tests", "deploy", "image"])
def test_no_step_may_fail_unseen(build: dict[str, Any]) -> None:
    for step in build["steps"]:
        assert step.keys() == {"id", "name", "script"}, "as allowFailure would be, or a step that waits for no other"
        assert step["script"].startswith("#!/bin/sh\nset -eu\n") or "\n" not in step["script"].strip(), step["id"]
        assert not re.search(r"\|\| *(true|:)|set \+e|; *true$", step["script"], re.MULTILINE), step["id"]


def test_builds_log_where_their_accounts_may_and_substitutions_are_filled_in() -> None:
    logs = {"logging": "CLOUD_LOGGING_ONLY"}
    assert TESTS["options"] == logs
    assert BUILD["options"] == IMAGE["options"] == {**logs, "automapSubstitutions": True, "dynamicSubstitutions": True}


def test_by_itself_a_trigger_agrees_to_nothing() -> None:
    own = BUILD["substitutions"]
    assert (own["_APPLY"], own["_REVOKE"], own["_VARS"], own["_MAIN"]) == ("no", "no", "", "main")


def test_what_is_checked_in_the_build_can_be_made_here() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for step in ("lint", "test", "package"):
        assert TESTED[step]["script"].endswith(f"make {step}")
        assert step in targets


def test_the_tests_of_the_build_find_terraform(recorder: Recorder) -> None:
    """Without it those that hold every right and condition to what is expected would be skipped."""
    checkout = recorder.folder / "checkout"
    checkout.mkdir()
    assert recorder.run(["sh", "-c", f"cd {checkout}\n{TESTED['terraform']['script']}"]).returncode == 0
    assert TESTED["terraform"]["name"] == TESTED["infra"]["name"]
    (checkout / "make").write_text('#!/bin/sh\necho "$*"\ncommand -v terraform\n')
    (checkout / "make").chmod(0o755)
    told = {"PATH": f"{checkout}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    command = ["sh", "-c", TESTED["test"]["script"]]
    done = subprocess.run(command, cwd=checkout, env=told, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["test", f"{checkout}/build/bin/terraform"]


def test_a_commit_that_no_build_has_tested_is_not_deployed(recorder: Recorder) -> None:
    script = ["sh", "-c", STEPS["tested"]["script"]]
    refused = recorder.run(script, **substitutions(_VARS="europe.tfvars", PASSED=""))
    assert (refused.returncode, "has passed for abc" in refused.stdout) == (1, True)
    assert recorder.run(script, **substitutions(_VARS="europe.tfvars", PASSED="1")).returncode == 0
    assert f"tags={TESTS['tags'][0]} AND status=SUCCESS AND substitutions.COMMIT_SHA=abc" in recorder.calls[-1]


@pytest.mark.parametrize("owner", ["456", ""])
def test_a_build_keeps_no_state_in_a_bucket_of_somebody_else(recorder: Recorder, owner: str) -> None:
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
def test_a_plan_that_takes_rights_away_is_refused_unless_the_trigger_agrees(tmp_path: Path, revoke: str, code: int) -> None:
    (tmp_path / "plan.json").write_text(plan_of(REVOKING))
    script = STEPS["review"]["script"].replace("build/plan.json", str(tmp_path / "plan.json"))
    script = script.replace("python ", f"{sys.executable} ")
    done = subprocess.run(["sh", "-c", script], cwd=ROOT, env={**os.environ, "_REVOKE": revoke}, check=False)
    assert done.returncode == code


def test_make_images_writes_digests_once(tmp_path: Path) -> None:
    names = ("cloudbuild.yaml", "cloudbuild.deploy.yaml", "cloudbuild.image.yaml", "capture.Dockerfile")
    for name in (*names, "Makefile"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "docker").write_text(f"#!/bin/sh\necho sha256:{'a1' * 32}\n")
    (tmp_path / "docker").chmod(0o755)
    told = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    for _ in range(2):
        subprocess.run(["make", "-C", str(tmp_path), "images"], env=told, check=True, capture_output=True)
        for name in names:
            images = re.findall(r"^(?: +name: |FROM )(\S+)$", (tmp_path / name).read_text(), re.MULTILINE)
            assert images
            assert all(re.fullmatch(rf"[\w./-]+:[\w.-]+@sha256:{'a1' * 32}", image) for image in images), images


@pytest.mark.parametrize("name", ["requirements.lock", "functions/requirements.txt", "capture.requirements.txt"])
def test_everything_is_installed_by_its_hash(name: str) -> None:
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


def substitutions(**changed: str) -> dict[str, str]:
    """As Cloud Build hands them to scripts: those of the file, in which others may stand."""
    own = {name: value.replace("${PROJECT_ID}", GIVEN["PROJECT_ID"]) for name, value in BUILD["substitutions"].items()}
    return {**GIVEN, **own, **changed}


def test_every_substitution_that_a_step_uses_is_there_and_every_one_is_used() -> None:
    scripts = "\n".join(step["script"] for step in STEPS.values())
    used = set(re.findall(r"\$\{?(_?[A-Z_]+)", scripts))
    assert used == {*BUILD["substitutions"], *GIVEN}
    assert "substitutions" not in TESTS
    assert BUILD["options"]["automapSubstitutions"]


def run(recorder: Recorder, step: str, **changed: str) -> list[str]:
    (ROOT / "build").mkdir(exist_ok=True)  # where the step that packages the functions has written
    done = recorder.run(["sh", "-c", STEPS[step]["script"]], **substitutions(**changed))
    assert done.returncode == 0, done.stderr
    return recorder.calls


def test_a_plan_is_kept_and_what_is_applied_is_that_plan(recorder: Recorder) -> None:
    planned = (ROOT / "build" / "plan.json").read_text
    assert run(recorder, "plan", _VARS="europe.tfvars", _PREFIX="eu-", PLAN='{"its": "own"}') == [
        "terraform -chdir=infra init -input=false -backend-config=bucket=my-project-onefold-terraform "
        "-backend-config=prefix=eu-onefold",
        "terraform -chdir=infra plan -input=false -out=onefold.tfplan -var=project=my-project -var=region=europe-west1 "
        "-var=prefix=eu- -var-file=../europe.tfvars",
        "terraform -chdir=infra show -json onefold.tfplan",
    ]
    assert json.loads(planned()) == {"its": "own"}
    assert "build/plan.json" in STEPS["review"]["script"], "what is reviewed is that plan, too"
    assert run(recorder, "apply", _APPLY="yes")[-1] == "terraform -chdir=infra apply -input=false onefold.tfplan"


def test_what_is_packaged_is_kept_beside_the_state(recorder: Recorder) -> None:
    assert STEPS["package"]["script"] == "python -m infra.package"
    assert run(recorder, "upload") == [
        "gcloud storage cp build/functions.zip build/spark.zip gs://my-project-onefold-terraform/packages/abc/"
    ]


def test_a_file_of_variables_is_planned_with(recorder: Recorder) -> None:
    assert run(recorder, "plan", _VARS="europe.tfvars")[-2].endswith(" -var-file=../europe.tfvars")


@pytest.mark.parametrize(
    ("branch", "apply"), [("main", "no"), ("main", ""), ("main", "YES"), ("feature", "yes"), ("main2", "yes"), ("", "yes")]
)
def test_nothing_is_applied_but_the_main_branch_where_the_trigger_says_so(
    recorder: Recorder, branch: str, apply: str
) -> None:
    assert run(recorder, "apply", BRANCH_NAME=branch, _APPLY=apply) == []


def test_by_itself_nothing_is_applied(recorder: Recorder) -> None:
    assert run(recorder, "apply") == []


# The image of capture


def copied(tmp_path: Path) -> Path:
    """A checkout as far as the image needs it."""
    (tmp_path / "checkout" / "infra").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", tmp_path / "checkout")
    return tmp_path / "checkout"


def written(checkout: Path, name: str = "capture.auto.tfvars") -> str | None:
    path = checkout / "infra" / name
    return path.read_text() if path.exists() else None


REPOSITORY = "europe-west1-docker.pkg.dev/my-project/onefold-capture"


def test_the_image_is_built_and_pushed_under_one_name(recorder: Recorder) -> None:
    (step,) = IMAGE["steps"]
    environ = {**GIVEN, **IMAGE["substitutions"], "_TAG": "abc", "_PREFIX": "eu-"}
    assert recorder.run(["sh", "-c", step["script"]], **environ).returncode == 0
    image = "europe-west1-docker.pkg.dev/my-project/eu-onefold-capture/capture:abc"
    assert recorder.calls == [f"docker build --file=capture.Dockerfile --tag={image} .", f"docker push {image}"]
    assert (IMAGE["substitutions"]["_TAG"], IMAGE["options"]["dynamicSubstitutions"]) == ("${COMMIT_SHA}", True)


def test_make_image_hands_the_digest_to_the_next_plan(recorder: Recorder, tmp_path: Path) -> None:
    checkout = copied(tmp_path)
    done = make(recorder, "image", *WHERE, "TAG=abc", f"--directory={checkout}", DIGEST=DIGEST)
    assert done.returncode == 0, done.stderr
    assert written(checkout, "my-project.capture.tfvars") == f'capture_image = "{REPOSITORY}/capture@{DIGEST}"\n'
    assert planned_with(recorder, checkout, *WHERE, "VARS=europe.tfvars") == ["my-project.capture.tfvars", "europe.tfvars"]
    built, asked = recorder.calls
    assert "--substitutions=_REGION=europe-west1,_PREFIX=,_TAG=abc" in built
    assert "/serviceAccounts/onefold-build@my-project.iam.gserviceaccount.com" in built
    assert f"describe {REPOSITORY}/capture:abc" in asked


def planned_with(recorder: Recorder, checkout: Path, *arguments: str) -> list[str]:
    """The files of variables of the next plan, the one that wins last."""
    done = make(recorder, "--dry-run", "deploy", *arguments, f"--directory={checkout}")
    (plan,) = (line for line in done.stdout.splitlines() if "-out=onefold.tfplan" in line)
    return [Path(name).name for name in re.findall(r"-var-file='([^']+)'", plan)]


@pytest.mark.parametrize("other", [("PREFIX=eu-",), ("PROJECT=other-project",)])
def test_a_deployment_takes_no_image_of_another_one(recorder: Recorder, tmp_path: Path, other: tuple[str, ...]) -> None:
    checkout = copied(tmp_path)
    make(recorder, "image", *WHERE, "TAG=abc", *other, f"--directory={checkout}", DIGEST=DIGEST)
    assert planned_with(recorder, checkout, *WHERE) == []
    assert len(planned_with(recorder, checkout, *WHERE, *other)) == 1


@pytest.mark.parametrize("fails", ["builds submit", "images describe"])
def test_without_an_image_no_digest_is_handed_on(recorder: Recorder, tmp_path: Path, fails: str) -> None:
    checkout = copied(tmp_path)
    done = make(recorder, "image", *WHERE, "TAG=abc", f"--directory={checkout}", fails=fails, DIGEST=DIGEST)
    assert (done.returncode, written(checkout, "my-project.capture.tfvars")) == (2, None)


def deployed(recorder: Recorder, checkout: Path, **answers: str) -> subprocess.CompletedProcess[str]:
    script = f"cd {checkout}\n{STEPS['image']['script']}"
    return recorder.run(["sh", "-c", script], **substitutions(_VARS="europe.tfvars", **answers))


def test_the_deploying_build_takes_the_image_of_its_commit_by_the_digest(recorder: Recorder, tmp_path: Path) -> None:
    checkout = copied(tmp_path)
    assert deployed(recorder, checkout, REPOSITORY="found", DIGEST=DIGEST).returncode == 0
    assert written(checkout) == f'capture_image = "{REPOSITORY}/capture@{DIGEST}"\n'
    assert recorder.calls[-1].endswith("--filter=tags:abc")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"REPOSITORY": "", "DIGEST": DIGEST}, "no repository of images yet"),
        ({"REPOSITORY": "found", "DIGEST": ""}, "no image of capture for abc"),
    ],
)
def test_without_an_image_of_the_commit_none_is_named(
    recorder: Recorder, tmp_path: Path, answers: dict[str, str], said: str
) -> None:
    checkout = copied(tmp_path)
    done = deployed(recorder, checkout, **answers)
    assert (done.returncode, said in done.stdout, written(checkout)) == (0, True, None)


@pytest.mark.parametrize("fails", ["repositories list", "images list"])
def test_a_registry_that_does_not_answer_ends_the_build(recorder: Recorder, tmp_path: Path, fails: str) -> None:
    script = f"cd {copied(tmp_path)}\n{STEPS['image']['script']}"
    done = recorder.run(["sh", "-c", script], fails, **substitutions(REPOSITORY="found", DIGEST=DIGEST))
    assert done.returncode != 0


def test_the_image_is_known_before_the_plan_and_a_file_of_variables_wins() -> None:
    assert list(STEPS).index("image") < list(STEPS).index("plan")
    assert "capture_image" not in STEPS["plan"]["script"], "an option of the command line could win over the file"
