"""What infra/ has to say of the schema registry of `exact.tftest.hcl`, written from docs/how-to/run-a-schema-registry.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from support.hcl_text import expression
from support.infra_differences import unequal
from support.terraform import Plan

BUCKET = "my-project-onefold-registry"
_MEMBER = "serviceAccount:onefold-schema-registry@my-project.iam.gserviceaccount.com"
_BUCKETS = "google_storage_bucket_iam_member"

# Every right of the function, and who may call it: what it is on, the role, and who has it.
GRANTS: Mapping[str, tuple[str, str, str]] = {
    f'{_BUCKETS}.registry["roles/storage.objectViewer"]': (BUCKET, "roles/storage.objectViewer", _MEMBER),
    f'{_BUCKETS}.registry["roles/storage.objectCreator"]': (BUCKET, "roles/storage.objectCreator", _MEMBER),
    f"{_BUCKETS}.registry_index[0]": (BUCKET, "projects/my-project/roles/onefold_registry", _MEMBER),
    'google_secret_manager_secret_iam_member.registry["registry-keys"]': (
        "registry-keys",
        "roles/secretmanager.secretAccessor",
        _MEMBER,
    ),
    'google_cloud_run_service_iam_member.registry["allUsers"]': ("schema-registry", "roles/run.invoker", "allUsers"),
}

ENVIRONMENT: Mapping[str, str] = {
    "ONEFOLD_REGISTRY": f"gs://{BUCKET}",
    "ONEFOLD_REGISTRY_KEYS": "/registry-keys/keys.json",
    "ONEFOLD_REGISTRY_ORDER": "by-addition",
    "ONEFOLD_REGISTRY_PUBLIC": "org.open,com.acme.public",
}
SERVICE: Mapping[str, Any] = {
    "ingress_settings": "ALLOW_INTERNAL_ONLY",
    "service_account_email": "onefold-schema-registry@my-project.iam.gserviceaccount.com",
    "environment_variables": ENVIRONMENT,
    "secret_volumes": [("/registry-keys", "registry-keys", [("latest", "keys.json")])],
}
# Schemas outlive a deployment, and an index that somebody overwrote can be had back.
STORED: Mapping[str, Any] = {"force_destroy": False, "public_access_prevention": "enforced", "versioning": [True]}


def differences(plan: Plan, blocks: Mapping[str, str]) -> Iterator[str]:
    """Yield the places where the plan, and the text of its resources, differ from what is expected."""
    yield from unequal("grant", GRANTS, grants(plan))
    yield from unequal("registry", SERVICE, service(plan))
    yield from unequal("stored", STORED, stored(plan))
    if "prevent_destroy = true" not in blocks["google_storage_bucket.kept"]:
        yield "kept registry"
    if expression(blocks["google_cloudfunctions2_function.function"], "entry_point") != "each.key":
        yield "entry point"


def grants(plan: Plan) -> dict[str, tuple[str, str, str]]:
    place = {_BUCKETS: "bucket", "google_secret_manager_secret_iam_member": "secret_id"}
    place["google_cloud_run_service_iam_member"] = "service"
    return {
        f"{type_}.{name}": (grant[attribute], grant["role"], grant["member"])
        for type_, attribute in place.items()
        for name, grant in plan.of(type_).items()
        if name.startswith("registry")
    }


def service(plan: Plan) -> dict[str, Any]:
    (config,) = plan.of("google_cloudfunctions2_function")['function["schema_registry"]']["service_config"]
    volumes = [
        (one["mount_path"], one["secret"], [(version["version"], version["path"]) for version in one["versions"]])
        for one in config["secret_volumes"]
    ]
    return {**{name: config[name] for name in SERVICE}, "secret_volumes": volumes}


def stored(plan: Plan) -> dict[str, Any]:
    bucket = plan.of("google_storage_bucket")['module.buckets.kept["registry"]']
    return {**{name: bucket[name] for name in STORED}, "versioning": [one["enabled"] for one in bucket["versioning"]]}
