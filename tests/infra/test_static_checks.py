"""What checkov finds in infra/: each finding has a reason in the resource, and each reason a finding."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.terraform import CACHE, INFRA


def checked(folder: Path) -> dict[str, Any]:
    checkov = CACHE / "bin" / "checkov"
    program = str(checkov) if checkov.exists() else shutil.which("checkov")
    if not program:
        pytest.skip("checkov is not here: .ci/terraform installs it")
    command = [program, "--directory", str(folder), "--framework", "terraform", "--output", "json", "--skip-download"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env={**os.environ})
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def names(report: dict[str, Any], kind: str, folder: str) -> set[tuple[str, str]]:
    found = (check for check in report["results"][kind] if check["file_path"].startswith(f"/{folder}/"))
    return {(check["check_id"], check["resource"]) for check in found}


@pytest.mark.long
def test_every_finding_of_the_static_checks_has_a_reason_and_every_reason_a_finding(tmp_path: Path) -> None:
    for folder in ("explained", "plain"):
        shutil.copytree(INFRA, tmp_path / folder, ignore=shutil.ignore_patterns(".terraform*"))
    for path in (tmp_path / "plain").rglob("*.tf"):
        path.write_text(re.sub(r"^ *#checkov:skip=.*\n", "", path.read_text(), flags=re.MULTILINE))
    report = checked(tmp_path)
    assert names(report, "passed_checks", "explained")
    assert names(report, "failed_checks", "explained") == set()
    assert names(report, "skipped_checks", "explained") == names(report, "failed_checks", "plain")
