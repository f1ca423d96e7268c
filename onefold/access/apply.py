"""Apply a plan: each dataset by one write of its access list, each group member by member.

A write changes what the plan shows, on top of what the dataset has at that moment: changes by others are kept. Applied again
after a crash, a plan does only what is still missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onefold.access.plan import AccessPlan, DatasetChange, GroupChange
from onefold.core.errors import AccessChanged, OnefoldError, Rejected, TryAgain
from onefold.core.retry import CONFLICT_BACKOFF
from onefold.ports.access import DatasetLists, Grant, Group, Groups, Member

TRIES = 100
"""Writes of one dataset while others change it; each attempt follows a read of the newest state."""


@dataclass(frozen=True)
class GrantFailure:
    """A dataset or group that is not as planned, and the error."""

    subject: str
    error: str


def apply_plan(
    plan: AccessPlan, lists: DatasetLists, groups: Groups, sleep: Callable[[float], None] = time.sleep
) -> tuple[GrantFailure, ...]:
    """Write all changes of a plan. A dataset or group that fails does not stop the others.

    Args:
        plan: the changes.
        lists: writes the access of datasets.
        groups: writes the members of groups.
        sleep: waits for some seconds after a conflict.

    Returns:
        What failed.
    """
    return (
        *_tried((f"dataset {change.dataset}", _dataset_work(change, lists, sleep)) for change in plan.datasets),
        *_tried(work for change in plan.groups for work in _group_work(change, groups)),
    )


def changed_grants(present: frozenset[Grant], change: DatasetChange) -> frozenset[Grant]:
    """Return the grants of a dataset after a change.

    Examples:
        >>> ada, grace = Grant("user:ada@example.com", "OWNER"), Grant("user:grace@example.com", "OWNER")
        >>> change = DatasetChange("shop", added=frozenset({grace}), removed=frozenset({ada}))
        >>> changed_grants(frozenset({ada}), change) == {grace}
        True

    Args:
        present: the grants that the dataset has now, which may be others than those that were planned with.
        change: what is added and removed.

    Raises:
        Rejected: nobody would be owner.
    """
    grants = (present - change.removed) | change.added
    if grants != present and not any(grant.is_owner for grant in grants):
        raise Rejected(f"dataset {change.dataset}: nobody would be its owner; others have removed one since, so plan again")
    return grants


def _dataset_work(change: DatasetChange, lists: DatasetLists, sleep: Callable[[float], None]) -> Callable[[], None]:
    return lambda: _apply_dataset(change, lists, sleep)


def _apply_dataset(change: DatasetChange, lists: DatasetLists, sleep: Callable[[float], None]) -> None:
    for _, pause in zip(range(TRIES), CONFLICT_BACKOFF.pauses(), strict=False):
        access = lists.read(change.dataset)
        grants = changed_grants(access.grants, change)
        if grants == access.grants:
            return
        try:
            lists.write(access, grants)
        except AccessChanged:
            sleep(pause)
        else:
            return
    raise TryAgain(f"dataset {change.dataset}: others changed it during each of {TRIES} tries; apply again")


def _group_work(change: GroupChange, groups: Groups) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield a piece of work for each member, so that one that fails does not stop the others."""
    for email in sorted(change.added):
        yield f"group {change.group.email}: {email}", lambda email=email: groups.add(change.group, email)  # type: ignore[misc]
    for member in sorted(change.removed):
        yield f"group {change.group.email}: {member.email}", lambda member=member: _remove(change.group, member, groups)  # type: ignore[misc]


def _remove(group: Group, member: Member, groups: Groups) -> None:
    """Remove a member, unless others have made it an owner since the plan.

    Raises:
        Rejected: they have.
    """
    now = next((one for one in groups.read(group.email).members if one.email == member.email), None)
    if now and now.is_kept:
        raise Rejected("it has become an owner of the group since the plan, and owners are kept: take that role away first")
    if now:
        groups.remove(now)


def _tried(works: Iterator[tuple[str, Callable[[], None]]]) -> Iterator[GrantFailure]:
    for subject, work in works:
        try:
            work()
        except OnefoldError as error:
            yield GrantFailure(subject, str(error))
