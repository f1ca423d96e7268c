"""Rights, written a second time and by hand from docs/how-to/deploy.md: what a role allows, and who has which role where."""

from __future__ import annotations

import pytest
from support.planned import grants, permissions, rights
from support.terraform import Plan

SEES = {"bigquery.tables.get", "bigquery.tables.list", "bigquery.routines.get", "bigquery.routines.list"}
READS = {*SEES, "bigquery.tables.getData"}
CREATES = {*READS, "bigquery.tables.create"}
UPDATES = {*CREATES, "bigquery.tables.update"}
PERMISSIONS = {
    "launch": {"dataproc.batches.create", "dataproc.batches.get", "dataproc.batches.list"},
    "source": READS,
    "plain_source[0]": {*READS, "bigquery.datasets.get"},
    "views": UPDATES,
    "sink": {"bigquery.tables.get", "bigquery.tables.updateData"},
    "ledger[0]": {"bigquery.tables.get", "bigquery.tables.updateData"},
    "decisions[0]": {"bigquery.tables.get", "bigquery.tables.getData"},
    "capture": CREATES,
    "batch": {*UPDATES, "bigquery.datasets.get", "bigquery.tables.updateData"},
    "staging": {"bigquery.tables.delete"},
    "capture_objects": {"storage.objects.create", "storage.objects.delete", "storage.objects.get"},
    "capture_names": {"storage.objects.list"},
    "registry[0]": {"storage.objects.delete"},
    "pull_objects[0]": {"storage.objects.create", "storage.objects.get"},
    "pull_bucket[0]": {"storage.buckets.get", "storage.objects.list"},
    'events["events"]': {
        *(f"bigquery.tables.{name}" for name in ("create", "get", "getData", "update", "updateData")),
        "bigquery.datasets.get",
    },
    'pages["pages"]': {
        *(f"bigquery.{name}" for name in ("tables.get", "tables.list", "routines.get", "routines.list", "datasets.get"))
    },
    'page_logs["pages"]': {"bigquery.tables.getData"},
    'page_ledger["pages"]': {"bigquery.tables.get", "bigquery.tables.getData"},
    "access[0]": {
        *(f"bigquery.datasets.{name}" for name in ("get", "update", "getIamPolicy", "setIamPolicy")),
        "bigquery.tables.getIamPolicy",
        "bigquery.tables.list",
    },
    "access_bypasses[0]": {"iam.roles.get", "resourcemanager.projects.getIamPolicy"},
}


def test_roles_have_exactly_the_listed_permissions(plan: Plan) -> None:
    assert permissions(plan) == PERMISSIONS


CAPTURE = {
    ("my-project", "bigquery.jobUser"),
    ("my-project", "logging.logWriter"),
    ("my-project-onefold-capture", "onefold_capture_names"),
    ("my-project-onefold-capture", "onefold_capture_objects"),
    ("onefold-capture", "artifactregistry.reader"),
    *((topic, "pubsub.publisher") for topic in ("change-records", "table-created", "schema-changes")),
}
DATASETS = ("shop", "crm", "events", "fraud_models", "ads_clicks")
OF_VIEWS = ("shop__views_clean", "ads_clicks__views_clean", "ads_clicks__views_full", "fraud_models__views_full")
PLAIN = ("USER1", "billing_public", "legacy", "parts", "stock")
RIGHTS = {
    "capture-shop-db": {*CAPTURE, ("shop", "onefold_capture"), ("shop-db-password", "secretmanager.secretAccessor")},
    "capture-crm-db": {
        *CAPTURE,
        ("crm", "onefold_capture"),
        *((secret, "secretmanager.secretAccessor") for secret in ("crm-password", "crm-ca", "crm-cert", "crm-key")),
    },
    "given": {*CAPTURE, ("crm", "onefold_capture"), ("old", "secretmanager.secretAccessor")},
    "events": {("shop", "bigquery.dataEditor")},
    "onefold-access": {
        *((dataset, "onefold_access") for dataset in (*DATASETS, *OF_VIEWS, *(f"{name}__onefold" for name in PLAIN))),
        ("my-project", "onefold_access_bypasses"),
        ("my-project", "logging.logWriter"),
        ("my-project-onefold-terraform", "storage.objectViewer"),
    },
    "onefold-build": {
        ("my-project", "logging.logWriter"),
        ("my-project", "storage.objectViewer"),
        ("my-project-onefold-artifacts", "storage.objectViewer"),
        ("onefold", "artifactregistry.writer"),
        ("onefold-capture", "artifactregistry.writer"),
    },
    "onefold-schema-registry": {
        ("my-project-onefold-registry", "storage.objectViewer"),
        ("my-project-onefold-registry", "storage.objectCreator"),
        ("my-project-onefold-registry", "onefold_registry"),
        ("registry-keys", "secretmanager.secretAccessor"),
        ("onefold_changes", "onefold_ledger"),
    },
    "onefold-sink-records": {
        *((dataset, "onefold_sink") for dataset in DATASETS),
        ("my-project-onefold-capture", "onefold_capture_names"),
        ("my-project-onefold-capture", "storage.objectViewer"),
        ("dead-letter", "pubsub.publisher"),
        ("change-records", "pubsub.publisher"),
    },
}


@pytest.mark.parametrize("account", RIGHTS)
def test_an_account_has_exactly_the_listed_rights(plan: Plan, account: str) -> None:
    assert rights(plan, f"serviceAccount:{account}@my-project.iam.gserviceaccount.com") == RIGHTS[account]


def test_only_the_listed_group_calls_the_registry_and_nothing_is_for_everybody(plan: Plan) -> None:
    assert rights(plan, "group:data@example.com") == {
        ("schema-registry", "run.invoker"),
        ("my-project-onefold-pages", "storage.objectViewer"),
    }
    assert not [address for address, grant in grants(plan) if grant["member"] in ("allUsers", "allAuthenticatedUsers")]
