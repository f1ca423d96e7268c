"""The bucket of capture through `terraform apply` and `terraform destroy` for real, over a stand-in for Cloud Storage."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from infra.test_apply import OVERRIDE, VARIABLES
from support.bucket_server import bucket_server
from support.terraform import Terraform, found_terraform

BUCKET = "my-project-onefold-capture"
ADDRESS = 'module.buckets.google_storage_bucket.kept["capture"]'
REGISTRY = 'module.buckets.google_storage_bucket.kept["registry"]'


def called(
    terraform: Terraform, url: str, command: str, *options: str, target: str = ADDRESS
) -> subprocess.CompletedProcess[str]:
    environ = {"GOOGLE_STORAGE_CUSTOM_ENDPOINT": url, "GOOGLE_OAUTH_ACCESS_TOKEN": "none", "NO_PROXY": "127.0.0.1"}
    words = ("-input=false", "-no-color", "-auto-approve", *VARIABLES, f"-target={target}")
    return terraform.run(command, *(words if command != "state" else ()), *options, **environ)


@pytest.mark.long
def test_the_bucket_of_capture_outlives_its_deployment_and_the_next_one_adopts_it(tmp_path: Path) -> None:
    terraform = found_terraform(tmp_path, OVERRIDE.format(refresh_view="http://x/", nobody="http://x/"))
    with bucket_server() as buckets:
        made = called(terraform, buckets.url, "apply")
        assert made.returncode == 0, made.stdout + made.stderr
        assert set(buckets.stored) == {BUCKET}
        refused = called(terraform, buckets.url, "destroy")
        assert refused.returncode == 1
        assert "Instance cannot be destroyed" in refused.stderr
        # What `make undeploy` does.
        assert called(terraform, buckets.url, "state", "rm", ADDRESS).returncode == 0
        assert called(terraform, buckets.url, "destroy").returncode == 0
        assert set(buckets.stored) == {BUCKET}
        adopted = called(terraform, buckets.url, "apply", "-var=adopt_capture_bucket=true")
        assert adopted.returncode == 0, adopted.stdout + adopted.stderr
        assert "1 imported" in adopted.stdout
        again = called(terraform, buckets.url, "apply", "-var=adopt_capture_bucket=true")
        assert "0 added, 0 changed, 0 destroyed" in again.stdout
        elsewhere = called(terraform, buckets.url, "apply", "-var=region=us-east1")
        assert (elsewhere.returncode, "Instance cannot be destroyed" in elsewhere.stderr) == (1, True)


@pytest.mark.long
def test_the_bucket_of_a_former_release_is_moved_and_left_as_it_is(tmp_path: Path) -> None:
    terraform = found_terraform(tmp_path, OVERRIDE.format(refresh_view="http://x/", nobody="http://x/"))
    with bucket_server() as buckets:
        assert called(terraform, buckets.url, "apply").returncode == 0
        assert called(terraform, buckets.url, "state", "mv", ADDRESS, "google_storage_bucket.capture").returncode == 0
        before = dict(buckets.stored[BUCKET])
        moved = called(
            terraform, buckets.url, "apply", "-var=adopt_capture_bucket=true", "-target=google_storage_bucket.capture"
        )
        assert f"google_storage_bucket.capture has moved to {ADDRESS}" in moved.stdout, moved.stdout + moved.stderr
        assert "0 added, 0 changed, 0 destroyed" in moved.stdout
        assert buckets.stored == {BUCKET: before}


@pytest.mark.long
def test_a_registry_that_is_left_out_keeps_its_bucket(tmp_path: Path) -> None:
    terraform = found_terraform(tmp_path, OVERRIDE.format(refresh_view="http://x/", nobody="http://x/"))
    with bucket_server() as buckets:
        made = called(terraform, buckets.url, "apply", "-var=schema_registry={}", target=REGISTRY)
        assert (made.returncode, list(buckets.stored)) == (0, ["my-project-onefold-registry"]), made.stderr
        refused = called(terraform, buckets.url, "apply", target=REGISTRY)
        assert (refused.returncode, "Instance cannot be destroyed" in refused.stderr) == (1, True)


@pytest.mark.long
def test_a_bucket_of_another_project_is_not_adopted(tmp_path: Path) -> None:
    terraform = found_terraform(tmp_path, OVERRIDE.format(refresh_view="http://x/", nobody="http://x/"))
    with bucket_server() as buckets:
        assert called(terraform, buckets.url, "apply").returncode == 0
        assert called(terraform, buckets.url, "state", "rm", ADDRESS).returncode == 0
        buckets.stored[BUCKET]["projectNumber"] = "2"
        before = dict(buckets.stored[BUCKET])
        refused = called(terraform, buckets.url, "apply", "-var=adopt_capture_bucket=true")
        assert refused.returncode == 1
        said = " ".join(refused.stderr.split())
        assert f"gs://{BUCKET} belongs to project number 2, expected 1 of my-project" in said
        assert buckets.stored[BUCKET] == before
