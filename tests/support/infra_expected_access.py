"""What infra/ has to say for `exact.tftest.hcl` of direct writers, and of the build that applies access.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from support.infra_differences import unequal
from support.terraform import Plan

_ACCESS = "serviceAccount:onefold-access@my-project.iam.gserviceaccount.com"
_ROLE = "projects/my-project/roles/onefold_access"
_WRITER = "roles/bigquery.dataEditor"
_STATE = "my-project-onefold-terraform"

PERMISSIONS: Mapping[str, set[str]] = {
    "access[0]": {
        *(f"bigquery.datasets.{name}" for name in ("get", "update", "getIamPolicy", "setIamPolicy")),
        "bigquery.tables.getIamPolicy",
        "bigquery.tables.list",
    },
    "access_bypasses[0]": {"iam.roles.get", "resourcemanager.projects.getIamPolicy"},
}
CONDITIONS: Mapping[str, str] = {
    "google_storage_bucket_iam_member.access[0]": f'resource.name.startsWith("projects/_/buckets/{_STATE}/objects/onefold/")'
}
ORDER: Mapping[str, set[str]] = {
    "google_service_account.access": {"google_project_service.api"},
    "google_cloudbuild_trigger.access": {
        "google_bigquery_dataset_iam_member.access",
        "google_storage_bucket_iam_member.access",
    },
}

# Place, role and member, by address.
GRANTS: Mapping[str, tuple[str, str, str]] = {
    'google_bigquery_dataset_iam_member.writers["shop events@my-project.iam.gserviceaccount.com"]': (
        "shop",
        _WRITER,
        "serviceAccount:events@my-project.iam.gserviceaccount.com",
    ),
    'google_bigquery_dataset_iam_member.writers["crm mails@other-project.iam.gserviceaccount.com"]': (
        "crm",
        _WRITER,
        "serviceAccount:mails@other-project.iam.gserviceaccount.com",
    ),
    **{f'google_bigquery_dataset_iam_member.access["{name}"]': (name, _ROLE, _ACCESS) for name in ("shop", "crm")},
    "google_project_iam_member.access_bypasses[0]": ("my-project", f"{_ROLE}_bypasses", _ACCESS),
    "google_project_iam_member.access[0]": ("my-project", "roles/logging.logWriter", _ACCESS),
    "google_storage_bucket_iam_member.access[0]": (_STATE, "roles/storage.objectViewer", _ACCESS),
}
TRIGGER: Mapping[str, Any] = {
    "filename": "cloudbuild.access.yaml",
    "included_files": ["permissions/access.yaml"],
    "service_account": "projects/my-project/serviceAccounts/onefold-access@my-project.iam.gserviceaccount.com",
    "branch": "^release$",
    "substitutions": {"_STATE": _STATE, "_PREFIX": "", "_FILE": "permissions/access.yaml", "_MAIN": "release"},
}


def differences(plan: Plan) -> Iterator[str]:
    """Yield the places where the plan differs from what is expected."""
    yield from unequal("grant", GRANTS, grants(plan))
    yield from unequal("trigger", TRIGGER, trigger(plan))


def grants(plan: Plan) -> dict[str, tuple[str, str, str]]:
    places = ("dataset_id", "bucket", "project")
    return {
        f"{type_}.{name}": (next(grant[place] for place in places if grant.get(place)), grant["role"], grant["member"])
        for type_ in plan.types
        if type_.endswith("_iam_member")
        for name, grant in plan.of(type_).items()
        if name.startswith(("access", "writers"))
    }


def trigger(plan: Plan) -> dict[str, Any]:
    (found,) = plan.of("google_cloudbuild_trigger").values()
    branch = found["repository_event_config"][0]["push"][0]["branch"]
    return {name: found[name] for name in TRIGGER if name != "branch"} | {"branch": branch}
