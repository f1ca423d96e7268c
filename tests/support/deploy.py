"""Recorded runs of the Makefile and of the scripts of Cloud Build."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.terraform import ROOT

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
ACCESS: dict[str, Any] = yaml.safe_load((ROOT / "cloudbuild.access.yaml").read_text())
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
  *"state pull"*) echo "$PULLED";;
  *"state list"*) printf "%s" "$STATE_LIST";;
esac
"""


PULLED = {
    "version": 4,
    "lineage": "l",
    "serial": 7,
    "outputs": {
        "dataset_grants": {
            "value": {
                "views": ["shop_unified"],
                "grants": [
                    {
                        "dataset": "shop",
                        "role": "roles/bigquery.dataEditor",
                        "member": "serviceAccount:e@p.iam.gserviceaccount.com",
                        "condition": None,
                    }
                ],
            }
        }
    },
}
"""A state of Terraform, as far as it is read."""


class Recorder:
    """Replacements of gcloud, terraform and docker that record how they were called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = folder / "calls"
        for name in ("gcloud", "terraform", "docker"):
            (folder / name).write_text(PROGRAM)
            (folder / name).chmod(0o755)

    def run(
        self, command: list[str], fails: str = "nothing", said: str = "", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        variables = {**os.environ, **environ, "PATH": path, "CALLS": str(self.record), "FAILS": fails}
        return subprocess.run(command, cwd=ROOT, env=variables, input=said, capture_output=True, text=True, check=False)

    @property
    def calls(self) -> list[str]:
        return self.record.read_text().splitlines() if self.record.is_file() else []


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


WHERE = ("PROJECT=my-project", "REGION=europe-west1")


def make(
    recorder: Recorder, *arguments: str, fails: str = "nothing", said: str = "", **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run make without installing the virtual environment."""
    grants = f"GRANTS={recorder.folder / 'grants.json'}"
    command = ["make", "--no-print-directory", "--assume-old=.venv/.installed", grants, *arguments]
    return recorder.run(command, fails, said, **{"PULLED": json.dumps(PULLED), **environ})


def substitutions(**changed: str) -> dict[str, str]:
    """Return the substitutions as Cloud Build gives them to scripts; those of the file may contain others."""
    own = {name: value.replace("${PROJECT_ID}", GIVEN["PROJECT_ID"]) for name, value in BUILD["substitutions"].items()}
    return {**GIVEN, **own, **changed}


def run_step(recorder: Recorder, step: str, **changed: str) -> list[str]:
    """Run the script of a step of the deploying build, and return the recorded calls."""
    (ROOT / "build").mkdir(exist_ok=True)  # the step that packages the functions creates it
    done = recorder.run(["sh", "-c", STEPS[step]["script"]], **substitutions(**changed))
    assert done.returncode == 0, done.stderr
    return recorder.calls


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
