"""What a plan of infra/ says of rights, conditions, filters and worker pools, by address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from support.terraform import Plan

_PLACES = ("dataset_id", "topic", "bucket", "secret_id", "repository", "service_account_id", "subscription", "service")


def grants(plan: Plan) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each grant of a role with its address."""
    for change in plan.changes:
        if change["type"].endswith("_iam_member") and change["mode"] == "managed":
            yield change["address"], change["change"]["after"]


def rights(plan: Plan, member: str) -> set[tuple[str, str]]:
    """Return every right of a member: the last part of the names of the place and of the role."""
    found = [grant for _, grant in grants(plan) if grant["member"] == member]
    places = [next((one[name] for name in _PLACES if one.get(name)), one.get("project", "")) for one in found]
    return {(PurePosixPath(place).name, PurePosixPath(one["role"]).name) for place, one in zip(places, found, strict=True)}


def permissions(plan: Plan) -> dict[str, set[str]]:
    return {name: set(role["permissions"]) for name, role in plan.of("google_project_iam_custom_role").items()}


def conditions(plan: Plan) -> dict[str, str]:
    """Return the expression of every grant that has a condition."""
    found = ((address, grant.get("condition")) for address, grant in grants(plan))
    return {address: condition[0]["expression"] for address, condition in found if condition}


def filters(plan: Plan) -> dict[str, str]:
    """Return the filter over log entries of every sink, metric and alert that has one."""
    logs = {
        f"{type_}.{name}": found["filter"]
        for type_ in ("google_logging_project_sink", "google_logging_metric")
        for name, found in plan.of(type_).items()
    }
    alerts = {
        f"google_monitoring_alert_policy.{name}": matched["filter"]
        for name, policy in plan.of("google_monitoring_alert_policy").items()
        for condition in policy["conditions"]
        for matched in condition["condition_matched_log"]
    }
    return {**logs, **alerts}


def containers(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return the container of each source's worker pool."""
    pools = plan.of("google_cloud_run_v2_worker_pool")
    return {name.split('"')[1]: pool["template"][0]["containers"][0] for name, pool in pools.items()}


def environment(plan: Plan, function: str) -> dict[str, str]:
    (service,) = plan.of("google_cloudfunctions2_function")[f'function["{function}"]']["service_config"]
    return dict(service["environment_variables"])
