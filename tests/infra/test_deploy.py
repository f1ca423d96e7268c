"""`make deploy` and `make undeploy`: what they call, in which order, and what is never applied."""

from __future__ import annotations

import json
import re

import pytest
from support.deploy import MOVED, PULLED, RENEWED, REPLACING, REVOKING, WHERE, Recorder, make, plan_of
from support.sweeps import sweep
from support.terraform import ROOT

from infra.review import taken_away
from onefold.access.deployment import read_grants
from onefold.ports.access import Grant


def test_deploy_packages_plans_reviews_asks_and_applies_that_plan(recorder: Recorder) -> None:
    done = make(recorder, "deploy", "PROJECT=my-project", "REGION=europe-west1", "DATASETS=shop,crm", said="yes\n")
    assert done.returncode == 0, done.stderr
    assert "functions.zip" in done.stdout
    assert [call for call in recorder.calls if call.startswith("terraform")] == [
        "terraform -chdir=infra init -reconfigure -input=false -backend-config=bucket=my-project-onefold-terraform "
        "-backend-config=prefix=onefold",
        "terraform -chdir=infra plan -input=false -out=onefold.tfplan -var=project=my-project -var=region=europe-west1 "
        '-var=prefix= -var=datasets=["shop","crm"] -var=adopt_capture_bucket=true '
        "-var=adopt_registry_bucket=true",
        "terraform -chdir=infra show -json onefold.tfplan",
        "terraform -chdir=infra apply -input=false onefold.tfplan",
        "terraform -chdir=infra state pull",
    ]


def test_the_grants_of_the_deployment_are_written_for_the_commands_of_permissions(recorder: Recorder) -> None:
    done = make(recorder, "deploy", *WHERE, "PREFIX=eu-", said="yes\n")
    assert done.returncode == 0, done.stderr
    written = recorder.folder / "grants.json"
    assert recorder.calls[-1] == f"gcloud storage cp {written} gs://my-project-onefold-terraform/eu-onefold/grants.json"
    found = read_grants(written.read_bytes(), "grants.json", "my-project")
    writer = Grant("serviceAccount:e@p.iam.gserviceaccount.com", "WRITER")
    assert found.grants == {("shop", writer)}
    assert found.views == {"shop_unified"}
    assert found.state == "gs://my-project-onefold-terraform/eu-onefold/default.tfstate"
    found.check_fresh(json.dumps(PULLED).encode())


@pytest.mark.parametrize("pulled", sweep(["", json.dumps({**PULLED, "outputs": {}})]))
def test_without_the_output_of_grants_the_former_file_stays(recorder: Recorder, pulled: str) -> None:
    (recorder.folder / "grants.json").write_text("former")
    assert make(recorder, "deploy", *WHERE, said="yes\n", PULLED=pulled).returncode != 0
    assert (recorder.folder / "grants.json").read_text() == "former"
    assert not any("storage cp" in call for call in recorder.calls)


def test_without_a_bucket_of_capture_none_is_adopted(recorder: Recorder) -> None:
    make(recorder, "deploy", *WHERE, said="yes\n", fails="my-project-onefold-capture")
    (planned,) = (call for call in recorder.calls if " plan " in call)
    assert planned.endswith("-var=adopt_capture_bucket=false -var=adopt_registry_bucket=true")


@pytest.mark.long
def test_without_a_bucket_of_the_registry_none_is_adopted(recorder: Recorder) -> None:
    make(recorder, "deploy", *WHERE, said="yes\n", fails="my-project-onefold-registry")
    (planned,) = (call for call in recorder.calls if " plan " in call)
    assert planned.endswith("-var=adopt_capture_bucket=true -var=adopt_registry_bucket=false")


@pytest.mark.parametrize("said", sweep(["", "no\n", "y\n"]))
def test_nothing_is_applied_without_a_yes(recorder: Recorder, said: str) -> None:
    assert make(recorder, "deploy", *WHERE, said=said).returncode != 0
    assert not any(" apply " in call for call in recorder.calls)


@pytest.mark.parametrize("said", sweep(["no\n", "yes\nno\n"]))
def test_removals_of_a_plan_are_listed_and_need_a_confirmation(recorder: Recorder, said: str) -> None:
    done = make(recorder, "deploy", *WHERE, said=said, PLAN=plan_of(REVOKING, REPLACING))
    assert done.returncode != 0
    assert 'revokes google_bigquery_dataset_iam_member.batch["crm"]: r of m' in done.stdout
    assert 'replaces google_storage_bucket.staging (location from "A" to "B")' in done.stdout
    assert not any(" apply " in call for call in recorder.calls)


def test_views_that_may_no_longer_read_a_dataset_are_listed() -> None:
    type_ = "google_bigquery_dataset_access"
    gone = {"type": type_, "address": f'{type_}.views["crm"]', "change": {"actions": ["delete"], "before": {}}}
    assert taken_away({"resource_changes": [gone]}) == [f'revokes {type_}.views["crm"]']


def test_resources_that_every_deployment_replaces_are_not_listed() -> None:
    of_aws = {**RENEWED, "type": "aws_s3_object"}
    assert taken_away({"resource_changes": [RENEWED, of_aws, MOVED]}) == []
    assert taken_away({}) == []


def test_undeploy_keeps_the_buckets_of_capture_and_the_registry_and_the_rights_on_a_key(recorder: Recorder) -> None:
    kept = (
        'module.buckets.google_storage_bucket.kept["capture"]',
        'module.buckets.google_storage_bucket.kept["registry"]',
        # A state that no deployment has written since the buckets moved.
        "google_storage_bucket.capture",
        "google_storage_bucket.registry[0]",
        'google_kms_crypto_key_iam_member.agent["run"]',
    )
    others = (
        'module.buckets.google_storage_bucket.temporary["staging"]',
        "google_storage_bucket.staging",
        "google_storage_bucket_iam_member.capture",
        "data.google_project.this",
    )
    listed = "\n".join((*others, *kept)) + "\n"
    done = make(recorder, "undeploy", *WHERE, STATE_LIST=listed)
    assert done.returncode == 0, done.stderr
    removed = [call for call in recorder.calls if "state rm" in call]
    assert removed == [f"terraform -chdir=infra state rm {one}" for one in kept]
    assert recorder.calls.index(removed[-1]) < len(recorder.calls) - 1
    assert " destroy " in recorder.calls[-1]
    assert "left: gs://my-project-onefold-capture" in done.stdout


@pytest.mark.long
def test_nothing_is_destroyed_if_a_resource_cannot_be_removed_from_the_state(recorder: Recorder) -> None:
    kept = 'module.buckets.google_storage_bucket.kept["capture"]\ngoogle_kms_crypto_key_iam_member.agent\n'
    assert make(recorder, "undeploy", *WHERE, STATE_LIST=kept, fails="state rm module.buckets").returncode != 0
    assert not any(" destroy " in call for call in recorder.calls)


@pytest.mark.long
def test_a_second_deployment_has_its_own_state(recorder: Recorder) -> None:
    done = make(recorder, "undeploy", "PROJECT=my-project", "REGION=us-east1", "PREFIX=us-", "VARS=us.tfvars")
    assert done.returncode == 0, done.stderr
    assert any("-backend-config=prefix=us-onefold" in call for call in recorder.calls)
    assert recorder.calls[-1].endswith(
        f"destroy -var=project=my-project -var=region=us-east1 -var=prefix=us- -var-file={ROOT}/us.tfvars"
    )
    assert "left: gs://my-project-us-onefold-capture" in done.stdout


AWS = ("deploy-aws", "--assume-old=package", "VARS=aws.tfvars")


def test_aws_is_planned_reviewed_and_applied_by_one_command(recorder: Recorder) -> None:
    done = make(recorder, *AWS, said="yes\n")
    assert done.returncode == 0, done.stderr
    assert recorder.calls == [
        "terraform -chdir=infra/aws init -input=false",
        f"terraform -chdir=infra/aws plan -input=false -out=onefold.tfplan -var-file={ROOT}/aws.tfvars",
        "terraform -chdir=infra/aws show -json onefold.tfplan",
        "terraform -chdir=infra/aws apply -input=false onefold.tfplan",
    ]
    assert "-m infra.package" in make(recorder, "--dry-run", "deploy-aws", "VARS=aws.tfvars").stdout


def test_nothing_is_applied_to_aws_without_a_yes_or_without_variables(recorder: Recorder) -> None:
    assert make(recorder, *AWS, said="no\n").returncode != 0
    assert "say what: make deploy-aws VARS=aws.tfvars" in make(recorder, *AWS[:2]).stdout
    assert not any(" apply " in call for call in recorder.calls)


@pytest.mark.parametrize("owner", ["456", ""])
def test_a_bucket_of_another_project_is_refused_for_the_state(recorder: Recorder, owner: str) -> None:
    done = make(recorder, "terraform", *WHERE, OWNER=owner)
    assert done.returncode != 0
    assert "expected 123 of my-project: name a bucket of your own with STATE=" in done.stdout
    assert not any(call.startswith("terraform") or "buckets update" in call for call in recorder.calls)


def test_service_agents_are_created_before_anything_needs_them(recorder: Recorder) -> None:
    make(recorder, "terraform", *WHERE)
    made = {word for call in recorder.calls for word in re.findall(r"identity create --service=(\w+)\.", call)}
    assert made == {"artifactregistry", "cloudbuild", "cloudfunctions", "cloudscheduler", "dataproc", "pubsub", "run"}
    (enabled,) = (call for call in recorder.calls if "services enable" in call)
    assert all(f"{name}.googleapis.com" in enabled for name in made)


@pytest.mark.long
def test_the_agent_of_storage_is_created_before_it_gets_rights(recorder: Recorder) -> None:
    """Events and keys of one's own name it, and Google makes it only when somebody asks for it."""
    assert make(recorder, "deploy", *WHERE, said="yes\n").returncode == 0
    asked = recorder.calls.index("gcloud storage service-agent --project=my-project")
    assert asked < next(number for number, call in enumerate(recorder.calls) if " plan " in call)


def test_a_plan_is_shown_with_what_it_removes_and_is_not_applied(recorder: Recorder) -> None:
    done = make(recorder, "plan", *WHERE, "DATASETS=shop", PLAN=plan_of(REVOKING))
    assert done.returncode == 0, done.stderr
    assert 'revokes google_bigquery_dataset_iam_member.batch["crm"]: r of m' in done.stdout
    assert done.stdout.endswith("nothing was applied: make deploy plans again, and asks\n")
    assert [call.split()[2] for call in recorder.calls if call.startswith("terraform")] == ["init", "plan", "show"]


def test_a_missing_bucket_of_the_state_is_created(recorder: Recorder) -> None:
    make(recorder, "terraform", "PROJECT=my-project", "REGION=europe-west1")
    assert not any("buckets create" in call for call in recorder.calls)
    (kept,) = (call for call in recorder.calls if "buckets update" in call)
    assert "gs://my-project-onefold-terraform" in kept
    assert kept.endswith("--versioning"), "a state that is lost can be had back"
    make(recorder, "terraform", "PROJECT=my-project", "REGION=europe-west1", fails="buckets describe")
    (created,) = (call for call in recorder.calls if "buckets create" in call)
    assert "--public-access-prevention" in created
    assert "--uniform-bucket-level-access" in created


@pytest.mark.parametrize("reported", [(), ("PROJECT=my-project",), ("REGION=europe-west1",)])
def test_without_a_project_and_a_region_nothing_is_called(recorder: Recorder, reported: tuple[str, ...]) -> None:
    done = make(recorder, "terraform", *reported)
    assert done.returncode != 0
    assert "make deploy PROJECT=my-project REGION=europe-west1" in done.stdout
    assert recorder.calls == []


def test_the_documentation_creates_every_agent_that_gets_a_key() -> None:
    given = re.findall(r'^    (\w+) += "\$\{local\.agent\}@', (ROOT / "infra" / "encryption.tf").read_text(), re.MULTILINE)
    page = (ROOT / "docs" / "how-to" / "second-deployment.md").read_text()
    commands = page.partition("## With keys of your own")[2].partition("\n## ")[0]
    (listed,) = re.findall(r"for service in (.+); do", commands)
    alone = re.findall(r"gcloud (?:services enable (\w+)\.|(storage) service-agent)", commands)
    assert sorted([*listed.split(), *("".join(names) for names in alone)]) == sorted(given)
