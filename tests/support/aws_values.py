"""The values of infra/aws, which the real Terraform computes of the variables, without the provider and an account."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.terraform import CACHE, INFRA, SECONDS

AWS = INFRA / "aws"
ACCOUNT, REGION, BUCKET = "123456789012", "eu-central-1", "acme-events"
GIVEN = {
    "account": ACCOUNT, "region": REGION, "bucket": BUCKET, "database": "dev", "db_users": '["IAMR:loader"]',
    "workgroup": '{ name = "events", id = "0-1-2" }',
}  # fmt: skip
OWN_KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/own"
APPLICATION = f"arn:aws:emr-serverless:{REGION}:{ACCOUNT}:/applications/00abc"
_GENERATED = f"""locals {{
  key_arn         = var.kms_key != null ? var.kms_key : var.shred != null ? "{OWN_KEY}" : null
  application_arn = "{APPLICATION}"
  application_id  = "00abc"
  code_version    = "v1"
}}
"""
"""What AWS would have named."""
_WITHOUT = ("versions.tf", "outputs.tf", "generated.tf")
_RESOURCE = re.compile(r'^resource "\w+" "\w+" \{\n.*?^\}\n', re.MULTILINE | re.DOTALL)


def program() -> str:
    found = shutil.which("terraform") or shutil.which("tofu") or shutil.which("tofu", path=CACHE / "bin")
    if not found:
        pytest.skip("there is no Terraform here: .ci/terraform makes one ready")
    return found


def run(folder: Path, /, *arguments: str, text: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}
    given = {f"TF_VAR_{name}": value for name, value in variables.items()}
    return subprocess.run(
        [program(), *arguments], cwd=folder, input=text, env={**environ, **given}, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip


def copy_values(folder: Path) -> Path:
    """Copy what needs no provider: the variables, and the values that follow from them, without resources."""
    for path in AWS.glob("*.tf"):
        if path.name not in _WITHOUT:
            (folder / path.name).write_text(_RESOURCE.sub("", path.read_text()))
    (folder / "generated.tf").write_text(_GENERATED)
    return folder


def only_checks(folder: Path) -> None:
    """Leave the variables and what a plan refuses of them."""
    for path in folder.glob("*.tf"):
        if path.name not in ("variables.tf", "shred_checked.tf"):
            path.unlink()


def refused_by(folder: Path, shred: str, /, **variables: str) -> str:
    """Return why a plan refuses a value of `shred`, on one line; an empty text where it does not."""
    done = run(folder, "plan", "-input=false", "-no-color", **{**GIVEN, "shred": shred, **variables})
    return " ".join(done.stderr.replace("│", " ").split()) if done.returncode else ""


def value(folder: Path, expression: str, /, **variables: str) -> Any:
    """Return the value of an expression, with the variables that every test gives and others."""
    done = run(folder, "console", text=f"jsonencode({expression})\n", **{**GIVEN, **variables})
    assert not done.returncode, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith('"'))
    return json.loads(json.loads(line))


def policies(folder: Path, /, **variables: str) -> dict[str, list[dict[str, Any]]]:
    documents = {name: json.loads(one) for name, one in value(folder, "local.documents", **variables).items()}
    assert all(one["Version"] == "2012-10-17" for one in documents.values())
    return {name: one["Statement"] for name, one in documents.items()}
