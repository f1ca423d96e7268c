"""What infra/ has to say of the sources of `exact.tftest.hcl`, written from docs/how-to/deploy.md: rights, worker
pools, alerts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from support.infra_differences import unequal
from support.terraform import Plan

_IMAGE = "europe-west1-docker.pkg.dev/my-project/onefold-capture/capture@sha256:" + "0123456789abcdef" * 4
_TOPICS = ("change-records", "table-created", "schema-changes")
_ROLES = "projects/my-project/roles/onefold"


@dataclass(frozen=True)
class Captured:
    account: str
    dataset: str
    secrets: tuple[str, ...]


SOURCES: Mapping[str, Captured] = {
    "shop-db": Captured("capture-shop-db", "shop", ("shop-db-password",)),
    "crm-db": Captured("capture-crm-db", "crm", ("crm-password", "crm-ca", "crm-cert", "crm-key")),
    "old-db": Captured("given", "crm", ("old",)),
}

Grant = tuple[str, str, str]
"""What it is on, the role, and who has it."""


def _grants(name: str, one: Captured) -> dict[str, Grant]:
    """Every right of a source's account, by the address of its resource."""
    member = f"serviceAccount:{one.account}@my-project.iam.gserviceaccount.com"
    bucket, repository = "google_storage_bucket_iam_member", "google_artifact_registry_repository_iam_member"
    found = {
        f'google_project_iam_member.capture["{name} {role}"]': ("my-project", f"roles/{role}")
        for role in ("bigquery.jobUser", "logging.logWriter")
    }
    found |= {
        f'google_pubsub_topic_iam_member.capture["{name} {topic}"]': (
            f"projects/my-project/topics/{topic}",
            "roles/pubsub.publisher",
        )
        for topic in _TOPICS
    }
    found |= {
        f'google_secret_manager_secret_iam_member.capture["{name} {secret}"]': (secret, "roles/secretmanager.secretAccessor")
        for secret in one.secrets
    }
    found |= {
        f'google_bigquery_dataset_iam_member.capture["{name}"]': (one.dataset, f"{_ROLES}_capture"),
        f'{bucket}.capture["{name}"]': ("my-project-onefold-capture", f"{_ROLES}_capture_objects"),
        f'{bucket}.capture_names["{name}"]': ("my-project-onefold-capture", f"{_ROLES}_capture_names"),
        f'{repository}.capture["{name}"]': ("onefold-capture", "roles/artifactregistry.reader"),
    }
    return {address: (place, role, member) for address, (place, role) in found.items()}


GRANTS: Mapping[str, Grant] = {
    **{address: grant for name, one in SOURCES.items() for address, grant in _grants(name, one).items()},
    "google_artifact_registry_repository_iam_member.build_capture": (
        "onefold-capture",
        "roles/artifactregistry.writer",
        "serviceAccount:onefold-build@my-project.iam.gserviceaccount.com",
    ),
}


def _query(name: str) -> dict[str, Any]:
    labels = f'monitored_resource="cloud_run_worker_pool",worker_pool_name="{name}"'
    lines = f"logging_googleapis_com:user_onefold_captured{{{labels}}}"
    return {
        "query": f"(sum(increase({lines}[5m])) or vector(0)) < 1",
        "duration": "600s",
        "evaluation_interval": "60s",
        "disable_metric_validation": True,
    }


QUERIES: Mapping[str, dict[str, Any]] = {
    f'silent_capture["{name}"]': _query(f"capture-{name}") for name in ("shop-db", "crm-db")
}


def _environment(name: str, secret: str, version: str) -> list[dict[str, Any]]:
    """As the plan orders it, by name."""
    values = {
        "ONEFOLD_LARGE_RECORDS": f"gs://my-project-onefold-capture/records/{name}",
        "ONEFOLD_PROJECT": "my-project",
        "ONEFOLD_TOPIC_CHANGE_RECORDS": "change-records",
        "ONEFOLD_TOPIC_SCHEMA_CHANGES": "schema-changes",
        "ONEFOLD_TOPIC_TABLE_CREATED": "table-created",
    }
    reference = {"secret_key_ref": [{"secret": secret, "version": version}]}
    variables: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in values.items()]
    return sorted(
        [*variables, {"name": "ONEFOLD_SOURCE_PASSWORD", "value_source": [reference]}], key=lambda one: str(one["name"])
    )


def _pool(name: str, source: str, template: dict[str, Any], container: dict[str, Any]) -> dict[str, Any]:
    account = f"capture-{name}@my-project.iam.gserviceaccount.com"
    return {
        "name": f"capture-{name}",
        "location": "europe-west1",
        "description": f"Onefold: follows the log of {source}.",
        "deletion_protection": False,
        "scaling": [{"scaling_mode": "MANUAL", "manual_instance_count": 1}],
        "template": [{"service_account": account, "containers": [{"image": _IMAGE, **container}], **template}],
    }


_FILE = [{"path": "file", "version": "latest"}]
_CHECKPOINTS = "--checkpoint=gs://my-project-onefold-capture"
POOLS: Mapping[str, dict[str, Any]] = {
    'capture["shop-db"]': _pool(
        "shop-db",
        "shop-db",
        {},
        {
            "args": [
                "--source=shop-db", "--host=10.0.0.3", "--port=3306", "--user=onefold", "--dataset=shop",
                f"{_CHECKPOINTS}/shop-db", "--include=shop_*", "--snapshot",
            ],
            "env": _environment("shop-db", "shop-db-password", "latest"),
            "resources": [{"limits": {"cpu": "1", "memory": "1Gi"}}],
        },
    ),
    'capture["crm-db"]': _pool(
        "crm-db",
        "CRM",
        {
            "vpc_access": [
                {
                    "egress": "PRIVATE_RANGES_ONLY",
                    "network_interfaces": [
                        {
                            "network": "projects/host/global/networks/n",
                            "subnetwork": "projects/host/regions/europe-west1/subnetworks/s",
                        }
                    ],
                }
            ],
            "volumes": [
                {"name": f"tls-{part}", "secret": [{"secret": f"crm-{part}", "items": _FILE}]}
                for part in ("ca", "cert", "key")
            ],
        },
        {
            "args": [
                "--source=CRM", "--host=crm.internal", "--port=3307", "--user=reader", "--dataset=crm",
                f"{_CHECKPOINTS}/crm-db", "--include=crm.*", "--exclude=*._*_gho", "--exclude=crm.tmp",
                "--server-id=4000", "--epoch=2", "--start=mysql-bin.000123:4", "--copy-rate=2000",
                "--copy-window=22:00-05:00 Europe/Berlin", "--metrics-port=9464", "--gtid-failover", "--tls-any-name",
                "--tls-ca=/tls/ca/file", "--tls-cert=/tls/cert/file", "--tls-key=/tls/key/file",
            ],
            "env": _environment("crm-db", "crm-password", "3"),
            "resources": [{"limits": {"cpu": "2", "memory": "2Gi"}}],
            "liveness_probe": [
                {
                    "initial_delay_seconds": 120, "period_seconds": 60, "timeout_seconds": 10, "failure_threshold": 3,
                    "http_get": [{"path": "/healthz", "port": 9464}],
                }
            ],
            "volume_mounts": [{"name": f"tls-{part}", "mount_path": f"/tls/{part}"} for part in ("ca", "cert", "key")],
        },
    ),
}  # fmt: skip

# The wait for new rights begins anew with each of these, and with a new account.
AWAITED = {
    "google_secret_manager_secret_iam_member.capture",
    "google_storage_bucket_iam_member.capture",
    "google_bigquery_dataset_iam_member.capture",
}


def differences(plan: Plan, blocks: Mapping[str, str]) -> Iterator[str]:
    """Yield the places where the plan, and the text of its resources, differ from what is expected of the sources."""
    yield from unequal("grant", GRANTS, grants(plan))
    yield from unequal("pool", _parts(POOLS), _parts(pools(plan)))
    yield from unequal("query", _parts(QUERIES), _parts(queries(plan)))
    body = blocks["terraform_data.capture_rights"]
    if set(re.findall(r"google_\w+\.\w+", body)) != AWAITED or "each.value.account" not in body:
        yield "awaited rights"
    if "sleep ${var.build_wait_seconds}" not in body:
        yield "wait for rights"


def grants(plan: Plan) -> dict[str, Grant]:
    """The grants of sources, and the one on their images, by address."""
    places = ("dataset_id", "topic", "bucket", "secret_id", "repository", "project")
    return {
        f"{type_}.{name}": (next(grant[place] for place in places if grant.get(place)), grant["role"], grant["member"])
        for type_ in plan.types
        if type_.endswith("_iam_member")
        for name, grant in plan.of(type_).items()
        if name.startswith(("capture", "build_capture"))
    }


def pools(plan: Plan) -> dict[str, dict[str, Any]]:
    return {name: bare(pool) for name, pool in plan.of("google_cloud_run_v2_worker_pool").items()}


def bare(value: Any) -> Any:
    """A planned value without what is not set."""
    if isinstance(value, dict):
        return {name: found for name, one in value.items() if (found := bare(one)) not in (None, [], {})}
    return [bare(one) for one in value] if isinstance(value, list) else value


def _parts(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What is said of each, by name and attribute; a template and its container count by their own attributes."""
    parts: dict[str, Any] = {}
    for name, values in found.items():
        for attribute, value in values.items():
            if attribute in ("template", "containers"):
                (inner,) = value
                parts |= _parts({name: inner})
            else:
                parts[f"{name} {attribute}"] = value
    return parts


def queries(plan: Plan) -> dict[str, dict[str, Any]]:
    return {
        name: bare(one)
        for name, policy in plan.of("google_monitoring_alert_policy").items()
        for condition in policy["conditions"]
        for one in condition["condition_prometheus_query_language"]
    }
