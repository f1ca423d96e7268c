"""The text of an access.yaml that declares the present state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import yaml

from onefold.access.deployment import DeploymentGrants
from onefold.access.plan import AccessState
from onefold.access.policy import SCHEMA, principal_problems
from onefold.ports.access import Grant, Group
from onefold.settings.schema_check import modeline


def draft_policy(state: AccessState, own: Sequence[DeploymentGrants]) -> str:
    """Return an access.yaml with which a plan has no changes, from the content of `drafted`."""
    text: str = yaml.safe_dump(drafted(state, own), sort_keys=True, allow_unicode=True, width=120)
    return f"{modeline(SCHEMA)}\n{text}"


def drafted(state: AccessState, own: Sequence[DeploymentGrants]) -> dict[str, Any]:
    """Return the content of an access.yaml with which a plan has no changes. It leaves out what is always kept.

    Args:
        state: the datasets and groups to declare.
        own: the grants of the deployments.
    """
    datasets = {
        name: _roles(grant for grant in access.grants if not any(grants.has(name, grant) for grants in own))
        for name, access in state.datasets.items()
    }
    groups = {name: _members(group) for name, group in state.groups.items()}
    return {key: value for key, value in (("datasets", datasets), ("groups", groups)) if value}


def left_out(state: AccessState) -> list[str]:
    """Return a sentence for each grant that a draft leaves out: nobody can declare its principal, so a plan removes it."""
    return [
        f"{name}: {grant.principal} has {grant.role}, and cannot be declared: a plan removes the grant"
        for name, access in sorted(state.datasets.items())
        for grant in sorted(access.grants, key=lambda grant: grant.sort_key)
        if any(principal_problems(grant.principal))
    ]


def _roles(grants: Iterable[Grant]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for grant in sorted(grants, key=lambda grant: grant.sort_key):
        if any(principal_problems(grant.principal)):
            continue  # an account that was deleted cannot be declared, and a plan removes it
        found.setdefault(grant.principal, []).append(_role(grant))
    return {name: roles[0] if len(roles) == 1 else roles for name, roles in found.items()}


def _role(grant: Grant) -> Any:
    if grant.condition is None:
        return grant.role
    return {"role": grant.role, **{key: text for key, text in asdict(grant.condition).items() if text}}


def _members(group: Group) -> list[str]:
    return sorted(member.email for member in group.members if not member.is_kept)
