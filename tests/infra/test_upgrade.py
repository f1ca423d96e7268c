"""A deployment of the former infra/ is taken over by the present one: its resources move, and nothing happens to them.

`former.tar.xz` has the files of infra/ as they were before resources moved. Terraform applies them, with Google's schema and
no Google, and plans what is there now over the state that comes of it.
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from support.terraform import EVERYTHING, INFRA, Plan, found_terraform

FORMER = Path(__file__).with_name("former.tar.xz")
RUNS = """
run "former" {
  command   = apply
  state_key = "deployment"
  module {
    source = "../former"
  }
  variables {
    build_wait_seconds = 0
  }
}

run "present" {
  command   = plan
  state_key = "deployment"
  variables {
    build_wait_seconds    = 0
    adopt_capture_bucket  = true # as `make deploy` does, since the buckets are there
    adopt_registry_bucket = true
  }
}
"""
KEY = '  kms_key = "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k"\n'


def unpack_former(folder: Path) -> None:
    """Unpack the former infra/ as a module, which has no backend, no provider and no imports of its own."""
    with tarfile.open(FORMER) as archive:
        archive.extractall(folder, filter="data")
    for path in folder.glob("*.tf"):
        text = re.sub(r'^(?:import|provider "google") \{\n.*?^\}\n', "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        path.write_text(text.replace('backend "gcs" {}', "").replace("${path.module}", "."))


def let_go(folder: Path) -> None:
    """Allow the test to destroy what it has made, as it does at its end."""
    for path in folder.rglob("*.tf"):
        path.write_text(path.read_text().replace("prevent_destroy = true", "prevent_destroy = false"))


def upgraded(folder: Path, file: str) -> Plan:
    """Return the plan that takes over a deployment with the variables of a file of tests."""
    terraform = found_terraform(folder)
    given = (INFRA / "tests" / file).read_text().partition("\nrun ")[0]
    newer = r"^  (?:stream_network.*|plain_table_datasets.*|streams = \{\n(?:    .*\n)+  \})\n"  # than the former
    given = re.sub(newer, "", given, flags=re.MULTILINE)
    given = re.sub(r'registries = \["([^"]+)"[^]]*\]', r'registry = "\1"', given)  # the former takes one
    given = given.replace("  override_during = plan\n", "").replace("variables {\n", f"variables {{\n{KEY}", 1)
    (terraform.folder / "tests" / "upgrade.tftest.hcl").write_text(given + RUNS)
    unpack_former(folder / "former")
    for name in ("mariadb-java-client.jar", "shred_libraries.zip"):  # which the former uploads
        (folder / "build" / name).touch()
    let_go(folder)
    ready = terraform.run("init", "-backend=false", "-input=false", "-no-color")
    assert ready.returncode == 0, ready.stderr
    outcome = terraform.tested("upgrade.tftest.hcl")
    assert outcome.status == {"former": "pass", "present": "pass"}, outcome.said
    return outcome.plans["present"]


UPDATED = re.compile(
    r'module\.schedules\["shred"\]\..*|'
    r'google_monitoring_alert_policy\.log\["(?:pulled table failed|table differs from its source)"\]|'
    r"google_logging_project_sink\.tables|google_cloudfunctions2_function\.function\[.*|"
    r'google_logging_metric\.count\["errors"\]|google_monitoring_alert_policy\.log\["function errors"\]|'
    r"google_monitoring_dashboard\.onefold|google_storage_bucket_object\.spark\[.*"
)
"""What is updated in place: schedules of the shredder, whose messages name more arguments, what names the job that pulls
tables, which was called `extract`, the sink of the log, whose
filter has each pattern once, the functions, whose build has one variable more, and what watches them, of which there is one
more. The code of jobs lies in another folder,
as it does after each change of it, since the driver is gone."""
NEW = re.compile(
    r'module\.schedules\["(?:pull|check)"\]\..*|google_logging_metric\.pulled\[.*|'
    r'google_monitoring_alert_policy\.(?:late_pulls\[.*|log\["(?:pulled database failed|merges are late|many events are bad|'
    r"new reason for bad events|events of an unknown schema|run without a manifest|recovery table created|"
    r'values held back by a contract)"\])|'
    r'google_pubsub_topic_iam_member\.publisher\["sink_records change-records"\]|'
    r'.*\["(?:push_)?(?:write_pages|page-requests|pages)(?: dead-letter)?"\]|module\.schedules\["page"\]\..*|'
    r'google_storage_bucket_object\.spark\["(mariadb-java-client\.jar|(?:shred|compiled)_libraries\.zip)"\]|'
    r"google_\w+\.(?:pages|page_logs|page_readers|page_ledger|page_checkpoints|changes|changes_latest|decisions|ledger|registry_ledger|batch_ledger)\[.*"
)
"""Schedules of pulls and checks, metrics and alerts of pulls, of which one for many databases takes the place of one for
each, and keeps nothing; alerts that are new; the right to publish these rows; the ledger of changes; pages of datasets.
The driver goes, and the archive of compiled libraries has another name."""


def not_left_alone(plan: Plan) -> dict[str, Any]:
    """What the plan does to each resource that it does not leave as it is, but for those that are named above."""
    actions = {one["address"]: one["change"]["actions"] for one in plan.changes if one["mode"] == "managed"}
    assert len(actions) > 60
    known = {address for address, done in actions.items() if UPDATED.fullmatch(address) and done == ["update"]} | {
        address for address, done in actions.items() if NEW.fullmatch(address) and done in (["create"], ["delete"])
    }
    return {address: action for address, action in actions.items() if action != ["no-op"] and address not in known}


@pytest.mark.long
def test_an_upgrade_of_everything_moves_resources_and_leaves_them_as_they_are(tmp_path: Path) -> None:
    plan = upgraded(tmp_path, EVERYTHING)
    assert not_left_alone(plan) == {}
    before = {one["previous_address"] for one in plan.changes if "previous_address" in one}
    moves = re.findall(r"^  from = (.+)$", (INFRA / "moved.tf").read_text(), re.MULTILINE)
    assert [one for one in moves if not any(address == one or address.startswith(f"{one}[") for address in before)] == []


@pytest.mark.long
def test_an_upgrade_without_options_leaves_all_resources_as_they_are(tmp_path: Path) -> None:
    assert not_left_alone(upgraded(tmp_path, "grants.tftest.hcl")) == {}
