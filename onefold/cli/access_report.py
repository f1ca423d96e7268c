"""A plan of permissions, as people and programs read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from onefold.core.text import counted

if TYPE_CHECKING:
    from onefold.access.plan import AccessPlan, DatasetChange, GroupChange
    from onefold.ports.access import Grant

Row = tuple[str, str, str]
"""The sign, the principal, and its role."""


def show(plan: AccessPlan) -> None:
    """Print the changes as Terraform prints its own, and how many there are."""
    for title, rows in _blocks(plan):
        click.echo(f"{title} will be changed")
        width = max(len(name) for _, name, _ in rows)
        for sign, name, role in rows:
            line = f"  {sign} {name:{width}}  {role}"
            click.echo(click.style(line, fg="green" if sign == "+" else "red"))
        click.echo()
    click.echo(_summary(plan))


def changes_as_dicts(plan: AccessPlan) -> list[dict[str, Any]]:
    """Return an entry for a program for each grant and each member that is added or removed."""
    return [*_dataset_changes(plan), *_group_changes(plan)]


def _summary(plan: AccessPlan) -> str:
    if plan.is_empty:
        return "No changes. Datasets and groups are as declared."
    places = [(len(plan.datasets), "dataset"), (len(plan.groups), "group")]
    where = " and ".join(counted(number, noun) for number, noun in places if number)
    return f"Plan: {plan.count_added} to add, {plan.count_removed} to remove, in {where}."


def _blocks(plan: AccessPlan) -> Iterator[tuple[str, list[Row]]]:
    for dataset in plan.datasets:
        yield f"dataset {dataset.dataset}", [(sign, grant.principal, _role(grant)) for sign, grant in _grants(dataset)]
    for group in plan.groups:
        yield f"group {group.group.email}", list(_members(group))


def _grants(change: DatasetChange) -> list[tuple[str, Grant]]:
    found = [*(("-", grant) for grant in change.removed), *(("+", grant) for grant in change.added)]
    # Both lines of a principal whose role changes follow each other.
    return sorted(found, key=lambda signed: (signed[1].principal, signed[0] == "+", signed[1].sort_key))


def _members(change: GroupChange) -> Iterator[Row]:
    yield from (("-", member.email, ", ".join(member.roles)) for member in sorted(change.removed))
    yield from (("+", email, "MEMBER") for email in sorted(change.added))


def _role(grant: Grant) -> str:
    if grant.condition is None:
        return grant.role
    title = f" ({grant.condition.title})" if grant.condition.title else ""
    return f"{grant.role} if {grant.condition.expression}{title}"


def _dataset_changes(plan: AccessPlan) -> Iterator[dict[str, Any]]:
    for change in plan.datasets:
        for sign, grant in _grants(change):
            condition = grant.condition
            yield {
                "dataset": change.dataset,
                "action": "add" if sign == "+" else "remove",
                "principal": grant.principal,
                "role": grant.role,
                "condition": condition.expression if condition else None,
            }


def _group_changes(plan: AccessPlan) -> Iterator[dict[str, Any]]:
    for change in plan.groups:
        for sign, email, _ in _members(change):
            yield {"group": change.group.email, "action": "add" if sign == "+" else "remove", "member": email}
