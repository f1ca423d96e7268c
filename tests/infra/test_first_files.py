"""The files that `onefold init` writes, as Terraform plans them: as they are, and with their comments filled in."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from support.terraform import ROOT, Terraform, found_terraform

from onefold.cli import main
from onefold.settings.first_files import ORIGINS, SETTINGS_FILE, VARIABLES_FILE, Answers

TEST = """
mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

run "first_files" {
  command = plan
}
"""


@pytest.fixture(scope="module")
def own_terraform(tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    """A copy of infra/ with a test that takes its variables from the command line."""
    terraform = found_terraform(tmp_path_factory.mktemp("first"))
    (terraform.folder / "tests" / "first_files.tftest.hcl").write_text(TEST)
    return terraform


def onefold(*words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0, words


def planned(terraform: Terraform) -> list[str]:
    """Return the addresses of all resources that a plan with the files beside infra/ would make."""
    onefold("settings", "check", "--write")
    words = ["-var=project=my-project", "-var=region=europe-west1", f"-var-file={Path(VARIABLES_FILE).resolve()}"]
    done = terraform.run("test", "-json", "-verbose", "-filter=tests/first_files.tftest.hcl", *words)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    said = [event["diagnostic"]["detail"] for event in events if event["type"] == "diagnostic"]
    assert done.returncode == 0, said
    (plan,) = [event["test_plan"] for event in events if event["type"] == "test_plan"]
    return [change["address"] for change in plan["resource_changes"]]


@pytest.fixture
def files(own_terraform: Terraform, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written beside infra/, as in the root of a checkout, for rows of every origin."""
    monkeypatch.chdir(own_terraform.folder.parent)
    monkeypatch.delenv("ONEFOLD_CONFIG", raising=False)
    rows = [word for origin in ORIGINS for word in ("--rows-from", origin)]
    datasets = [word for name in ("shop", "shop_orders", "ads") for word in ("--dataset", name)]
    onefold("init", "--project", "my-project", "--region", "europe-west1", *rows, *datasets, "--yes")


def test_make_plans_with_the_file_of_variables_and_applies_nothing() -> None:
    command = Answers("my-project", "europe-west1", ("capture",), ("shop",)).plan_command
    shown = subprocess.run([*shlex.split(command), "-n"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"-var-file='{ROOT / VARIABLES_FILE}'" in shown
    assert "-var=project=my-project -var=region=europe-west1" in shown
    assert " apply" not in shown.replace("nothing was applied", "")


@pytest.mark.usefixtures("files")
def test_the_files_are_planned_as_they_are_written(own_terraform: Terraform) -> None:
    addresses = planned(own_terraform)
    granted = [one for one in addresses if one.startswith("google_bigquery_dataset_iam_member.refresh_view")]
    assert granted == [
        f'google_bigquery_dataset_iam_member.refresh_view["{name}"]' for name in ("ads", "shop", "shop_orders")
    ]
    assert not [one for one in addresses if "worker_pool" in one]


@pytest.mark.long
@pytest.mark.usefixtures("files")
def test_the_files_are_planned_with_their_comments_filled_in(own_terraform: Terraform) -> None:
    settings, variables = Path(SETTINGS_FILE), Path(VARIABLES_FILE)
    blocks = r"^# (?=(?: |captures:|sources:|tables:))"
    settings.write_text(re.sub(blocks, "", settings.read_text(), flags=re.MULTILINE))
    blocks = r"^# (?=(?: |\}|captures = |pulls = |schema_registry = |events = ))"
    image = f'capture_image = "example.com/capture@sha256:{"a1" * 32}"\n'
    variables.write_text(re.sub(blocks, "", variables.read_text(), flags=re.MULTILINE) + image)
    addresses = planned(own_terraform)
    for name in ("worker_pool", "pull", "registry", "load_shredded"):
        assert [one for one in addresses if name in one], name
