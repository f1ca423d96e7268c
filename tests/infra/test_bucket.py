"""The bucket of capture through `terraform apply` and `terraform destroy` for real, over a stand-in for Cloud Storage.

Only here the state of one deployment meets the next one; a plan from nothing does not show what happens to a bucket.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from infra.test_apply import OVERRIDE, VARIABLES
from support.bucket_server import Buckets, bucket_server
from support.terraform import Terraform, found_terraform, running_provider

BUCKET = "my-project-onefold-capture"
ADDRESS = 'module.buckets.google_storage_bucket.kept["capture"]'
REGISTRY = 'module.buckets.google_storage_bucket.kept["registry"]'


@dataclass(frozen=True)
class Place:
    """Terraform with a provider that finds the stand-in."""

    terraform: Terraform
    buckets: Buckets

    def run(self, command: str, *options: str, target: str = ADDRESS) -> subprocess.CompletedProcess[str]:
        words = ("-input=false", "-no-color", "-auto-approve", *VARIABLES, f"-target={target}")
        return self.terraform.run(command, *(words if command != "state" else ()), *options)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One provider for all tests here: it takes most of the time to start."""
    terraform = found_terraform(
        tmp_path_factory.mktemp("bucket"), OVERRIDE.format(refresh_view="http://x/", nobody="http://x/")
    )
    with bucket_server() as buckets, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOOGLE_STORAGE_CUSTOM_ENDPOINT", buckets.url)
        patch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "none")
        patch.setenv("NO_PROXY", "127.0.0.1")
        with running_provider(terraform) as variable:
            yield Place(replace(terraform, environ={**terraform.environ, **variable}), buckets)


@pytest.fixture
def place(started: Place) -> Place:
    """No bucket, and no state of Terraform."""
    started.buckets.stored.clear()
    for file in started.terraform.folder.glob("terraform.tfstate*"):
        file.unlink()
    return started


@pytest.mark.long
def test_the_bucket_of_capture_outlives_its_deployment_and_the_next_one_adopts_it(place: Place) -> None:
    made = place.run("apply")
    assert made.returncode == 0, made.stdout + made.stderr
    assert set(place.buckets.stored) == {BUCKET}
    refused = place.run("destroy")
    assert refused.returncode == 1
    assert "Instance cannot be destroyed" in refused.stderr
    # What `make undeploy` does.
    assert place.run("state", "rm", ADDRESS).returncode == 0
    assert place.run("destroy").returncode == 0
    assert set(place.buckets.stored) == {BUCKET}
    adopted = place.run("apply", "-var=adopt_capture_bucket=true")
    assert adopted.returncode == 0, adopted.stdout + adopted.stderr
    assert "1 imported" in adopted.stdout
    again = place.run("apply", "-var=adopt_capture_bucket=true")
    assert "0 added, 0 changed, 0 destroyed" in again.stdout
    elsewhere = place.run("apply", "-var=region=us-east1")
    assert (elsewhere.returncode, "Instance cannot be destroyed" in elsewhere.stderr) == (1, True)


@pytest.mark.long
def test_the_bucket_of_a_former_release_is_moved_and_left_as_it_is(place: Place) -> None:
    assert place.run("apply").returncode == 0
    assert place.run("state", "mv", ADDRESS, "google_storage_bucket.capture").returncode == 0
    before = dict(place.buckets.stored[BUCKET])
    moved = place.run("apply", "-var=adopt_capture_bucket=true", "-target=google_storage_bucket.capture")
    assert f"google_storage_bucket.capture has moved to {ADDRESS}" in moved.stdout, moved.stdout + moved.stderr
    assert "0 added, 0 changed, 0 destroyed" in moved.stdout
    assert place.buckets.stored == {BUCKET: before}


@pytest.mark.long
def test_a_registry_that_is_left_out_keeps_its_bucket(place: Place) -> None:
    made = place.run("apply", "-var=schema_registry={}", target=REGISTRY)
    assert (made.returncode, list(place.buckets.stored)) == (0, ["my-project-onefold-registry"]), made.stderr
    refused = place.run("apply", target=REGISTRY)
    assert (refused.returncode, "Instance cannot be destroyed" in refused.stderr) == (1, True)


@pytest.mark.long
def test_a_bucket_of_another_project_is_not_adopted(place: Place) -> None:
    assert place.run("apply").returncode == 0
    assert place.run("state", "rm", ADDRESS).returncode == 0
    place.buckets.stored[BUCKET]["projectNumber"] = "2"
    before = dict(place.buckets.stored[BUCKET])
    refused = place.run("apply", "-var=adopt_capture_bucket=true")
    assert refused.returncode == 1
    said = " ".join(refused.stderr.split())
    assert f"gs://{BUCKET} belongs to project number 2, expected 1 of my-project" in said
    assert place.buckets.stored[BUCKET] == before
