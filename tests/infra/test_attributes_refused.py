"""A plan refuses an attribute that a setting does not have, which Terraform itself would drop in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infra.test_validation import literal
from support.terraform import Outcome, Terraform

SHRED = {"events": ["gs://lake/good"], "output": "gs://shredded/web", "input": "enriched-tsv", "registry": "gs://schemas"}
CAPTURE = {"host": "10.0.0.3", "user": "onefold", "secret": "password", "dataset": "shop", "worker_pool": False}
STREAM = {"source": "mysql", "host": "10.0.0.3", "user": "datastream", "secret": "s", "schemas": {"stock": []}}
SETTINGS: dict[str, Any] = {
    "shreds": {"web": {**SHRED, "duplicate_window": 7, "badPercent": 1, "verbose": True}, "app": SHRED},
    "captures": {"shop-db": {**CAPTURE, "copyrate": 9, "checks": {"databases": ["shop"], "settle_second": 9}}},
    "pulls": {"fraud": {"databases": ["models"], "secret": "s", "gzipped": True}},
    "streams": {"stock": {**STREAM, "back_fill": False}},
    "reconcile_schedules": [{"dataset": "shop", "table": "customer", "schedule": "30 4 * * *", "jobs": "compare"}],
    "schema_registry": {"key": "registry-keys"},
    "column_readers": {"schedules": "15 4 * * *"},
    "access_trigger": {
        "repository": "projects/my-project/locations/europe-west1/connections/git/repositories/data",
        "state_bucket": "my-project-onefold-terraform",
        "branches": "live",
    },
}

SHREDS = (
    "bad_percent or duplicates_window or events or format or input or layout or output or registries or registry or "
    "schedule or unknown or warehouse"
)
REFUSED = {
    "shreds.web.duplicate_window is no attribute: write duplicates_window",
    "shreds.web.badPercent is no attribute: write bad_percent",
    f"shreds.web.verbose is no attribute: write {SHREDS}",
    "captures.shop-db.copyrate is no attribute: write copy_rate",
    "captures.shop-db.checks.settle_second is no attribute: write settle_seconds",
    "pulls.fraud.gzipped is no attribute: write gzip",
    "streams.stock.back_fill is no attribute: write backfill",
    "reconcile_schedules[0].jobs is no attribute: write job",
    "schema_registry.key is no attribute: write keys",
    "column_readers.schedules is no attribute: write schedule",
    "access_trigger.branches is no attribute: write branch",
}


def planned(terraform: Terraform, settings: dict[str, Any]) -> Outcome:
    given = {
        "project": "my-project", "region": "europe-west1", "datasets": ["shop", "fraud_models"],
        "changes_dataset": "changes",
        "capture_image": f"europe-west1-docker.pkg.dev/my-project/c/capture@sha256:{'0' * 64}",
        "settings_folder": "./tests/settings", **settings,
    }  # fmt: skip
    variables = "\n".join(f"  {name} = {literal(value)}" for name, value in given.items())
    head = 'mock_provider "google" {\n  source = "./tests/mocks"\n  override_during = plan\n}\n'
    path = Path(terraform.folder / "tests" / "attributes.tftest.hcl")
    path.write_text(f'{head}\nvariables {{\n{variables}\n}}\n\nrun "attributes" {{\n  command = plan\n}}\n')
    try:
        return terraform.tested(path.name)
    finally:
        path.unlink()


def test_all_unknown_attributes_are_reported_at_once_with_the_names_that_are_near(terraform: Terraform) -> None:
    outcome = planned(terraform, SETTINGS)
    assert outcome.status == {"attributes": "error"}
    details = [json.loads(line)["detail"] for line in outcome.said.splitlines()]
    assert {line for detail in details for line in detail.splitlines() if " is no attribute: " in line} == REFUSED
