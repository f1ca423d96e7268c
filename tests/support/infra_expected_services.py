"""What infra/ has to say for `exact.tftest.hcl` of functions, builds, folders, buckets and what is switched on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from support.hcl_text import expression
from support.infra_differences import unequal
from support.infra_expected_captures import bare
from support.terraform import Plan

FUNCTIONS = ("refresh_view", "launch_batch", "sink_records")
_BATCH = "serviceAccount:onefold-batch@my-project.iam.gserviceaccount.com"

RUNS_AS: Mapping[str, str] = {
    address: f"onefold-{name.replace('_', '-')}@my-project.iam.gserviceaccount.com"
    for address, name in ((f'function["{name}"]', name) for name in (*FUNCTIONS, "schema_registry"))
}

_FOLDER = 'module.folder_rights["folder"].folder'
# Bucket, role and member of a right on a folder.
FOLDERS: Mapping[str, tuple[str, str, str]] = {
    f'{_FOLDER}["gs://exports/shop/daily"]': ("exports", "roles/storage.objectUser", _BATCH),
    f'{_FOLDER}["gs://archive"]': ("archive", "roles/storage.objectUser", _BATCH),
}

ARTIFACTS, STAGING = (f'module.buckets.temporary["{name}"]' for name in ("artifacts", "staging"))
CAPTURE, REGISTRY = (f'module.buckets.kept["{name}"]' for name in ("capture", "registry"))
_ABORT = ("AbortIncompleteMultipartUpload", {"age": 1})
# What is deleted by itself: old versions of what is deployed, never itself; what is staged; large rows, never a checkpoint.
RULES: Mapping[str, list[tuple[str, dict[str, Any]]]] = {
    ARTIFACTS: [("Delete", {"days_since_noncurrent_time": 30})],
    STAGING: [("Delete", {"age": 7}), _ABORT],
    CAPTURE: [("Delete", {"age": 30, "matches_prefix": ["records/"]}), _ABORT],
    REGISTRY: [("Delete", {"days_since_noncurrent_time": 90})],
}

# Which buckets go with their objects.
EMPTIED: Mapping[str, bool] = {ARTIFACTS: True, STAGING: True, CAPTURE: False, REGISTRY: False}

_DEAD = "projects/my-project/topics/dead-letter"
# Where messages go that cannot be handled, and where a person finds them.
DEAD_LETTERS: Mapping[str, str] = {"dead_letter": _DEAD, **{f'push["{name}"]': _DEAD for name in FUNCTIONS}}

# Images of functions are those of the last builds; an image of capture has to be there for as long as it runs.
CLEANUPS: Mapping[str, list[str]] = {"images": ["delete-old-ones", "keep-the-last"], "capture": []}

_ALERTS = ("waiting", "log", "silent_capture")
# A wait begins anew with each of these, and with another build account.
BUILD_RIGHTS = {
    "google_project_iam_member.build",
    "google_storage_bucket_iam_member.build",
    "google_artifact_registry_repository_iam_member.build",
}


def differences(plan: Plan, blocks: Mapping[str, str]) -> Iterator[str]:
    """Yield the places where the plan, and the text of its resources, differ from what is expected."""
    yield from unequal("runs as", RUNS_AS, runs_as(plan))
    yield from unequal("folder", FOLDERS, folders(plan))
    yield from unequal("deleted", RULES, rules(plan))
    yield from unequal("emptied", EMPTIED, emptied(plan))
    yield from unequal("dead letters", DEAD_LETTERS, dead_letters(plan))
    yield from (f"code {name}" for name in code_of_batches(plan))
    yield from unequal("cleanup", CLEANUPS, cleanups(plan))
    yield from unequal("retention", {"schema-changes": "604800s"}, retentions(plan))
    yield from _build(blocks)
    yield from _push(plan, blocks["google_pubsub_subscription.push"])
    yield from (f"told {name}" for name in _ALERTS if not _tells(blocks[f"google_monitoring_alert_policy.{name}"]))
    yield from (f"off {address}" for address in switched_off(plan))


def runs_as(plan: Plan) -> dict[str, str]:
    return {
        name: function["service_config"][0]["service_account_email"]
        for name, function in plan.of("google_cloudfunctions2_function").items()
    }


def folders(plan: Plan) -> dict[str, tuple[str, str, str]]:
    grants = plan.of("google_storage_bucket_iam_member")
    return {
        name: (grant["bucket"], grant["role"], grant["member"]) for name, grant in grants.items() if name.startswith(_FOLDER)
    }


def rules(plan: Plan) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """The action and the conditions that are set of each lifecycle rule, by bucket."""
    return {
        name: [(rule["action"][0]["type"], _set(rule["condition"][0])) for rule in bucket["lifecycle_rule"]]
        for name, bucket in plan.of("google_storage_bucket").items()
    }


def _set(condition: Mapping[str, Any]) -> dict[str, Any]:
    # Google fills in `with_state`, and a mock any text.
    return {name: value for name, value in bare(condition).items() if value is not False and name != "with_state"}


def emptied(plan: Plan) -> dict[str, bool]:
    return {name: bucket["force_destroy"] for name, bucket in plan.of("google_storage_bucket").items()}


def dead_letters(plan: Plan) -> dict[str, str]:
    return {
        name: one["dead_letter_policy"][0]["dead_letter_topic"] if one["dead_letter_policy"] else one["topic"]
        for name, one in plan.of("google_pubsub_subscription").items()
    }


def code_of_batches(plan: Plan) -> Iterator[str]:
    """Yield the code of batches that goes with the next version, which a batch that waits would no longer find."""
    for name, code in plan.of("google_storage_bucket_object").items():
        if name.startswith("spark") and code.get("deletion_policy") != "ABANDON":
            yield name.partition("[")[0]


def cleanups(plan: Plan) -> dict[str, list[str]]:
    repositories = plan.of("google_artifact_registry_repository")
    return {name: sorted(rule["id"] for rule in one["cleanup_policies"]) for name, one in repositories.items()}


def retentions(plan: Plan) -> dict[str, str]:
    topics = plan.of("google_pubsub_topic").values()
    return {topic["name"]: kept for topic in topics if (kept := topic["message_retention_duration"])}


def _build(blocks: Mapping[str, str]) -> Iterator[str]:
    """A build runs by the account that is made for it, into the repository that it may write, once its rights are known."""
    function, wait = blocks["google_cloudfunctions2_function.function"], blocks["terraform_data.build_rights"]
    account = '"projects/${var.project}/serviceAccounts/${local.accounts["build"]}"'
    if expression(function, "service_account") != account:
        yield "build account"
    if expression(function, "docker_repository") != "google_artifact_registry_repository.images.id":
        yield "build repository"
    if set(re.findall(r"google_\w+\.\w+", wait)) != BUILD_RIGHTS or 'local.accounts["build"]' not in wait:
        yield "awaited rights of the build"
    if expression(wait, "command") != '"sleep ${var.build_wait_seconds}"':
        yield "wait for rights of the build"


def _push(plan: Plan, body: str) -> Iterator[str]:
    """Each function's pushes are signed by its own account, for its own address."""
    for name, subscription in plan.of("google_pubsub_subscription").items():
        for push in subscription["push_config"]:
            purpose = name.partition('"')[2].rstrip('"]')
            account = f"onefold-push-{purpose.replace('_', '-')}@my-project.iam.gserviceaccount.com"
            if [token["service_account_email"] for token in push["oidc_token"]] != [account]:
                yield "signed push"
    # A plan does not know the address of a function yet.
    if {expression(body, "audience"), expression(body, "push_endpoint")} != {"local.endpoints[each.key]"}:
        yield "audience"


def _tells(body: str) -> bool:
    return expression(body, "notification_channels") == "local.channels"


def switched_off(plan: Plan) -> Iterator[str]:
    """Yield what is there and does nothing, or less than it says."""
    for change in plan.changes:
        after = change["change"].get("after") or {}
        off = after.get("enabled") is False or after.get("disabled") or after.get("paused") or after.get("exclusions")
        if off and change["mode"] == "managed":
            yield change["address"]
