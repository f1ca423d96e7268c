"""What infra/ has to say for `exact.tftest.hcl`, written from docs/how-to/deploy.md: permissions, conditions, order,
regions. Modules beside this one have the captures, the monitoring and the services.

`differences` compares a plan, and what a plan does not show, with it. Each difference is named by its place, so that a test
of several mutants at once can tell which of them was seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from support import infra_expected_access as access
from support import infra_expected_captures as captures
from support import infra_expected_monitoring as monitoring
from support import infra_expected_registry as registry
from support import infra_expected_services as services
from support.hcl_text import depends_on, module_calls, resources
from support.infra_differences import unequal
from support.terraform import Plan

_SEES = {"bigquery.tables.get", "bigquery.tables.list", "bigquery.routines.get", "bigquery.routines.list"}
PERMISSIONS: Mapping[str, set[str]] = {
    "launch": {"dataproc.batches.create", "dataproc.batches.get", "dataproc.batches.list"},
    "source": {*_SEES, "bigquery.tables.getData"},
    "views": {*_SEES, "bigquery.tables.getData", "bigquery.tables.create", "bigquery.tables.update"},
    "sink": {"bigquery.tables.get", "bigquery.tables.updateData"},
    "capture": {*_SEES, "bigquery.tables.getData", "bigquery.tables.create"},
    "batch": {
        "bigquery.datasets.get",
        *_SEES,
        "bigquery.tables.getData",
        "bigquery.tables.create",
        "bigquery.tables.update",
        "bigquery.tables.updateData",
    },
    "staging": {"bigquery.tables.delete"},
    "capture_objects": {"storage.objects.create", "storage.objects.delete", "storage.objects.get"},
    "capture_names": {"storage.objects.list"},
    "registry[0]": {"storage.objects.delete"},
}

_TABLE = 'resource.type == "bigquery.googleapis.com/Table"'


def _starts(name: str) -> str:
    return f'resource.name.startsWith("projects/{name}")'


def _dataset(name: str, prefix: str) -> str:
    return _starts(f"my-project/datasets/{name}/tables/{prefix}")


STAGING_BUCKET = "_/buckets/my-project-onefold-staging"
SOURCES_BUCKET = "_/buckets/gcf-v2-sources-123456789012-europe-west1"
CAPTURE_BUCKET = "_/buckets/my-project-onefold-capture"
SOURCES = ("shop-db", "crm-db", "old-db")
DAILY = 'module.folder_rights["folder"].google_storage_bucket_iam_member.folder["gs://exports/shop/daily"]'
CONDITIONS: Mapping[str, str] = {
    **{
        f'google_bigquery_dataset_iam_member.staging["{name}"]': (
            f"{_TABLE} && ({_dataset(name, 'onefold_tmp_')} || {_dataset(name, 'onefold_leaf_')})"
        )
        for name in ("shop", "crm")
    },
    **{
        f'google_bigquery_dataset_iam_member.leaves["{name}"]': f"{_TABLE} && {_dataset(name, 'onefold_leaf_')}"
        for name in ("shop", "crm")
    },
    "google_project_iam_member.worker": (
        'resource.service != "storage.googleapis.com"'
        f' || resource.name == "projects/{STAGING_BUCKET}" || {_starts(f"{STAGING_BUCKET}/")}'
    ),
    'google_project_iam_member.build["source"]': (
        f'resource.name == "projects/{SOURCES_BUCKET}" || {_starts(f"{SOURCES_BUCKET}/")}'
    ),
    "google_storage_bucket_iam_member.batch_code": _starts("_/buckets/my-project-onefold-artifacts/objects/spark/"),
    "google_storage_bucket_iam_member.sink_records": _starts("_/buckets/my-project-onefold-capture/objects/records/"),
    **{
        f'google_storage_bucket_iam_member.capture["{name}"]': (
            f"{_starts(f'{CAPTURE_BUCKET}/objects/{name}/')} || {_starts(f'{CAPTURE_BUCKET}/objects/records/{name}/')}"
        )
        for name in SOURCES
    },
    "google_storage_bucket_iam_member.registry_index[0]": (
        'resource.name == "projects/_/buckets/my-project-onefold-registry/objects/schemas/index.json"'
    ),
    DAILY: " || ".join(
        (
            _starts("_/buckets/exports/objects/shop/daily/"),
            'resource.name == "projects/_/buckets/exports/objects/shop"',
            'resource.name == "projects/_/buckets/exports/objects/shop/daily"',
        )
    ),
}


_API, _KEY = "google_project_service.api", "google_kms_crypto_key_iam_member.agent"
_GRANTS = ("refresh_view", "batch", "staging", "leaves", "sink_records", "capture", "writers", "access", "events")
# What has to be there first although nothing refers to it.
ORDER: Mapping[str, set[str]] = {
    "google_service_account.account": {_API},
    "google_monitoring_notification_channel.email": {_API},
    "google_monitoring_alert_policy.log": {_API},
    "google_monitoring_alert_policy.waiting": {_API},
    "google_monitoring_dashboard.onefold": {_API},
    "google_compute_network.batches": {_API},
    "module.buckets": {_API, _KEY},
    "module.pull_staging": {_API, _KEY},
    "google_artifact_registry_repository.images": {_API, _KEY},
    "google_artifact_registry_repository.capture": {_API, _KEY},
    "google_service_account.capture": {_API},
    "google_monitoring_alert_policy.silent_capture": {_API},
    "google_cloud_run_v2_worker_pool.capture": {
        _API,
        _KEY,
        "google_project_iam_member.capture",
        "google_pubsub_topic_iam_member.capture",
        "google_storage_bucket_iam_member.capture_names",
        "google_artifact_registry_repository_iam_member.capture",
        "terraform_data.capture_rights",
    },
    "google_pubsub_topic.topic": {_API, _KEY},
    **{
        name: {_API}
        for name in (
            "google_bigquery_dataset.full",
            "google_monitoring_alert_policy.late_pulls",
            "google_service_account.pull",
        )
    },
    "google_bigquery_dataset_access.full": {
        "google_bigquery_dataset_access.views",
        "google_bigquery_dataset_iam_member.pull",
        "google_bigquery_dataset_iam_member.pull_staging",
    },
    "google_bigquery_dataset_access.clean": {
        "google_bigquery_dataset_access.views",
        "google_bigquery_dataset_access.full",
        *(f"google_bigquery_dataset_iam_member.{name}" for name in ("batch_views", "full", "full_leaves", "full_check")),
    },
    # A first run may begin as soon as its schedule is there, and asks for a job that the functions have to know.
    "module.schedules": {_API, "module.folder_rights", "google_cloudfunctions2_function.function"},
    "module.folder_rights": {"module.buckets"},
    "google_storage_bucket_iam_member.names": {"module.buckets"},
    # Cloud Storage asks at once whether it may publish.
    "google_storage_notification.events": {"google_pubsub_topic_iam_member.events"},
    "google_bigquery_dataset_access.views": {f"google_bigquery_dataset_iam_member.{name}" for name in _GRANTS},
    "google_cloudfunctions2_function.function": {
        _API,
        _KEY,
        "google_artifact_registry_repository_iam_member.build",
        "google_project_iam_member.build",
        "google_secret_manager_secret_iam_member.registry",
        "module.buckets",
        "google_storage_bucket_iam_member.build",
        "terraform_data.build_rights",
    },
    # Pub/Sub's agent is there with the first subscription.
    "google_service_account_iam_member.push": {"google_pubsub_subscription.push"},
    "google_pubsub_topic_iam_member.dead_letter": {"google_pubsub_subscription.push"},
}


def differences(plan: Plan, folder: Path) -> set[str]:
    """The places where the plan, and the text of infra/ in the folder, differ from what is expected."""
    blocks = resources(folder)
    found = [
        *unequal("role", {**PERMISSIONS, **access.PERMISSIONS}, permissions(plan)),
        *unequal("condition", {**CONDITIONS, **access.CONDITIONS}, conditions(plan)),
        *unequal("order", {**ORDER, **access.ORDER}, order({**blocks, **module_calls(folder)})),
        *unequal("region", REGIONS, regions(plan)),
        *access.differences(plan),
        *captures.differences(plan, blocks),
        *monitoring.differences(plan),
        *services.differences(plan, blocks),
        *registry.differences(plan, blocks),
    ]
    return set(found)


def order(blocks: Mapping[str, str]) -> dict[str, frozenset[str]]:
    return {name: after for name, body in blocks.items() if (after := depends_on(body))}


def permissions(plan: Plan) -> dict[str, set[str]]:
    return {name: set(role["permissions"]) for name, role in plan.of("google_project_iam_custom_role").items()}


def conditions(plan: Plan) -> dict[str, str]:
    """The expression of every grant that has a condition, by its address."""
    grants = (one for one in plan.changes if one["type"].endswith("_iam_member"))
    found = ((one["address"], one["change"]["after"].get("condition")) for one in grants)
    return {address: condition[0]["expression"] for address, condition in found if condition}


# Topics with rows keep them in the region of the deployment.
REGIONS: Mapping[str, list[str]] = {"change-records": ["europe-west1"], "dead-letter": ["europe-west1"]}


def regions(plan: Plan) -> dict[str, list[str]]:
    return {
        topic["name"]: policy["allowed_persistence_regions"]
        for topic in plan.of("google_pubsub_topic").values()
        for policy in topic["message_storage_policy"]
    }
